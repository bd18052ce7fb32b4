# SPDX-License-Identifier: Apache-2.0
"""Python functions with known shares of CPU time: 60, 30 and 10 %, by the thread's own clock. "json": half of the time in the C encoder."""
import json
import sys
import time


def spin(end):
    while time.thread_time() < end:
        for _ in range(60):
            pass


def sixty(end):
    spin(end + 0.0042)
    return end + 0.0042


def thirty(end):
    spin(end + 0.0021)
    return end + 0.0021


def ten(end):
    spin(end + 0.0007)
    return end + 0.0007


def encode():
    json.dumps(DATA)


def cycle(end):
    return ten(thirty(sixty(end)))


DATA = [{"number": i, "text": str(i)} for i in range(2000)]
if __name__ == "__main__":
    print("ready", flush=True)
    now = time.thread_time()
    while True:
        if len(sys.argv) > 1:
            encode()
        else:
            now = cycle(now)
