# SPDX-License-Identifier: Apache-2.0
"""Threads that run code objects of their own, some of them born later, one in a sub-interpreter where this Python has them. Prints version
and runtime, then a line "TID CODE LASTING" for every thread before it runs; ends after argv[1] seconds.
"""
import ctypes
import os
import sys
import threading
import time

SOURCE = r"""
def own(n):
    return own(n - 1) + 1 if n else 0

def steps():
    while True:
        for _ in range(200):
            yield own(20)
        time.sleep(0)  # up to 3.11 a sub-interpreter is not asked to let others run

def run(seconds, tid):
    os.write(1, f"{tid} {id(own.__code__):x} {seconds > 1:d}\n".encode())
    end = time.thread_time() + seconds
    for _ in steps():
        if time.thread_time() > end:
            break
"""
INSIDE = "import os, time\n" + SOURCE + "run(SECONDS, TID)"
kept = []  # no code object's address is used twice


def live(seconds):
    names = {"os": os, "time": time}
    code = compile(SOURCE, "own", "exec")
    kept.append((code, names))
    exec(code, names)
    names["run"](seconds, threading.get_native_id())


def live_inside(interpreters, interpreter, seconds):
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    run(interpreter, INSIDE.replace("SECONDS", str(seconds)).replace("TID", str(threading.get_native_id())))


def sub_interpreters():
    for name in ("_interpreters", "_xxsubinterpreters"):
        try:
            return __import__(name)
        except ImportError:
            pass
    return None


def main():
    if sys.version_info < (3, 8):
        sys.exit("no layout of this version is known")
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    print(f"{sys.version_info.major << 8 | sys.version_info.minor:x} {runtime:x}", flush=True)
    interpreters = sub_interpreters()
    threads = [threading.Thread(target=live, args=(60,), daemon=True) for _ in range(2)]
    if interpreters:
        threads.append(threading.Thread(target=live_inside, args=(interpreters, interpreters.create(), 60), daemon=True))
    for thread in threads:
        thread.start()
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        thread = threading.Thread(target=live, args=(0.01,))
        thread.start()
        thread.join()
    os._exit(0)


main()
