# SPDX-License-Identifier: Apache-2.0
"""Hot Python code of many kinds for argv[1] seconds: two families that only call their own kind, callbacks out of C, generators, instances,
and functions that are made and dropped all the time: fresh_N of file fresh_N.py, whose code stands at the lines N to N+4."""
import gc
import sys
import time

SIZE = 30


def make(family):
    names = {}
    for i in range(SIZE):
        source = "\n" * i + "def %s%d(n):\n    return %s%d(n - 1) + 1 if n else 0\n" % (family, i, family, (i + 1) % SIZE)
        exec(compile(source, family + ".py", "exec"), names)
    return names[family + "0"]


def make_fresh(n):
    names = {}
    source = "\n" * (n - 1) + "def fresh_%d():\n    x = 0\n    for i in range(3000):\n        x += i\n    return x\n" % n
    exec(compile(source, "fresh_%d.py" % n, "exec"), names)
    return names["fresh_%d" % n]


class Built:
    def __init__(self, n):
        self.n = sum(i for i in range(n))


def by_key():
    return sorted(range(40), key=lambda x: Built(x % 7).n)


def main():
    first, second = make("a"), make("b")
    end = time.monotonic() + float(sys.argv[1])
    n = 0
    while time.monotonic() < end:
        n += 1
        for _ in range(10):
            first(25)
            second(26)
        by_key()
        make_fresh(n % 997 + 1)()
        if n % 50 == 0:
            gc.collect()


sys.stdout.write("READY\n")
sys.stdout.flush()
main()
