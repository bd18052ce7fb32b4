# SPDX-License-Identifier: Apache-2.0
"""Slow because one of four worker processes computes three times as long as the others and all wait for it at a barrier."""
import multiprocessing


def step(index, barrier):
    while True:
        for _ in range(3 if index == 2 else 1):
            sum(i * i for i in range(40000))
        barrier.wait()


if __name__ == "__main__":
    meeting = multiprocessing.Barrier(4)
    workers = [multiprocessing.Process(target=step, args=(index, meeting), daemon=True) for index in range(4)]
    for worker in workers:
        worker.start()
    print("ready " + " ".join(str(worker.pid) for worker in workers), flush=True)
    workers[0].join()
