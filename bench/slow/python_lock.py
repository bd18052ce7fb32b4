# SPDX-License-Identifier: Apache-2.0
"""Slow because its threads take turns at one lock that is held during a slow call."""
import threading
import time

cache = threading.Lock()


def refresh_entry():
    with cache:
        time.sleep(0.01)
    return sum(range(2000))


def serve():
    while True:
        refresh_entry()


threads = [threading.Thread(target=serve, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
threads[0].join()
