# SPDX-License-Identifier: Apache-2.0
"""Two families of 30 tiny functions that only call their own kind, in turns: a stack with members of both is a mixture of two moments.
Prints the version, the runtime's address and each function's code address; runs for argv[1] seconds. argv[2]: depth of the recursion.
"""
import ctypes
import sys
import time

SIZE = 30


def make(family):
    names = {}
    for i in range(SIZE):
        exec(f"def {family}{i}(n):\n    return {family}{(i + 1) % SIZE}(n - 1) + 1 if n else 0\n", names)
    return [names[f"{family}{i}"] for i in range(SIZE)]


def main():
    if sys.version_info < (3, 8):
        sys.exit("no layout of this version is known")
    seconds, depth = float(sys.argv[1]), int(sys.argv[2])
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    families = {"a": make("a"), "b": make("b")}
    print(f"{sys.version_info.major << 8 | sys.version_info.minor:x} {runtime:x}")
    for name, functions in families.items():
        for function in functions:
            print(f"{name} {id(function.__code__):x}")
    print("ready", flush=True)
    first, second = families["a"][0], families["b"][0]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(200):
            first(depth)
            second(depth + 1)


main()
