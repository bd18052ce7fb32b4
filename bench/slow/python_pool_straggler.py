# SPDX-License-Identifier: Apache-2.0
"""Slow because a pool of four processes waits for the one worker that got the large part."""
import multiprocessing


def count_part(size):
    return sum(i * i % 7 for i in range(size))


if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool:
        print("ready", flush=True)
        while True:
            pool.map(count_part, [2000000, 1000, 1000, 1000], chunksize=1)
