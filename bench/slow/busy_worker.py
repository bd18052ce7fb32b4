# SPDX-License-Identifier: Apache-2.0
"""Slow because the parent waits for batches that a busy worker process prepares."""
import os


def augment(image):
    total = 0
    for value in range(60000):
        total += value * image % 7
    return total


out, into = os.pipe()
if os.fork() == 0:
    os.close(out)
    number = 0
    while True:
        number += 1
        augment(number)
        try:
            os.write(into, b"b")
        except BrokenPipeError:
            os._exit(0)
os.close(into)
print("ready", flush=True)
while True:
    os.read(out, 1)
