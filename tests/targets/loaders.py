# SPDX-License-Identifier: Apache-2.0
"""A trainer and its data-loader workers: loaders.py N SLOW. Each worker sends a batch through its pipe when it is asked; SLOW makes its
batches so late that the trainer waits for it. "ready" and the pids of the workers, in their order, when all are there.

Lines on stdin: `birth` makes one process more, `death` lets the last worker end.
"""
import os
import select
import signal
import sys
import time

READY_S, SLOW_S = 0.002, 0.15


def work(requests, batches, seconds):
    while os.read(requests, 1):
        time.sleep(seconds)
        os.write(batches, b"x")


def start(seconds):
    request_end, requests = os.pipe()
    batches, batch_end = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(requests)
        os.close(batches)
        work(request_end, batch_end, seconds)
        os._exit(0)
    os.close(request_end)
    os.close(batch_end)
    return pid, requests, batches


def main(n, slow):
    workers = [start(SLOW_S if i == slow else READY_S) for i in range(n)]
    print("ready", *(pid for pid, _, _ in workers), flush=True)
    while True:
        for _, requests, batches in workers:
            os.write(requests, b"x")
            os.read(batches, 1)
        if select.select([sys.stdin], [], [], 0)[0]:
            word = os.read(0, 64).decode().strip()
            if word == "birth":
                print("born", start(READY_S)[0], flush=True)
            elif word == "death":
                pid, requests, _ = workers.pop()
                os.close(requests)
                os.kill(pid, 9)
                os.waitpid(pid, 0)
                print("dead", flush=True)
            elif not word:
                return


signal.signal(signal.SIGPIPE, signal.SIG_DFL)
main(int(sys.argv[1]), int(sys.argv[2]))
