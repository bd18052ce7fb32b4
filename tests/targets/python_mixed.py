# SPDX-License-Identifier: Apache-2.0
"""Python, an extension (argv[1], by ctypes), Python, a builtin, Python: one stack that stands still. Says READY when it does."""
import ctypes
import sys
import threading
import time

CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
LIBRARY = ctypes.CDLL(sys.argv[1])


def inner(n):
    time.sleep(10000)
    return n


class Through:
    def __init__(self, n):
        self.n = inner(n) if n == 97 else n


def called_back(n):
    return len([Through(i).n for i in range(101)])


def outer():
    return LIBRARY.xp_through(CALLBACK(called_back), 7)


def by_key():
    return max([1], key=lambda x: outer())


def ready():
    time.sleep(0.3)
    sys.stdout.write("READY\n")
    sys.stdout.flush()


threading.Thread(target=ready, daemon=True).start()
by_key()
