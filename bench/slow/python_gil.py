# SPDX-License-Identifier: Apache-2.0
"""Slow because four threads of a Python program compute, and only one can at a time."""
import threading


def simulate(seed):
    while True:
        for _ in range(1000):
            seed = (seed * 1103515245 + 12345) % 2147483648


for index in range(4):
    threading.Thread(target=simulate, args=(index,), daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
