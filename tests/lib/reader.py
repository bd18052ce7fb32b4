#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A program whose main thread waits in read for a slow writer, its own second thread."""
import os
import threading
import time


def write(fd):
    while True:
        time.sleep(0.02)
        os.write(fd, b"x")


out, into = os.pipe()
threading.Thread(target=write, args=(into,), daemon=True).start()
print("ready", flush=True)
while True:
    os.read(out, 1)
