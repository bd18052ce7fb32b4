# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program on two GPUs that knows nothing of xprobe; obeys lines of standard input and answers each. Needs torch and two devices.

add A B     A additions on the first device and B on the second, B of them over two streams
copy N      N copies of 4 MiB from the first device to the second
busy D      1: additions on device D without end, in another thread; answers 0. `idle` ends them and answers how many there were
"""
import sys
import threading

import torch

devices = [torch.device("cuda", i) for i in (0, 1)]
small = [torch.zeros(1024, device=device) for device in devices]
block = torch.ones(1 << 20, device=devices[0])
there = torch.empty(1 << 20, device=devices[1])
second = torch.cuda.Stream(devices[1])
busy, added, worker = threading.Event(), 0, None


def wait():
    for device in devices:
        torch.cuda.synchronize(device)
    return 0


def add(a, b):
    for _ in range(a):
        small[0].add_(1)
    for i in range(b):
        if i % 2:
            small[1].add_(1)
        else:
            with torch.cuda.stream(second):
                small[1].add_(1)
    return wait()


def copy(n):
    for _ in range(n):
        there.copy_(block)
    return wait()


def keep_busy(device):
    global added
    large = torch.zeros(1 << 24, device=devices[device])
    while busy.is_set():
        for _ in range(16):
            large.add_(1)
        torch.cuda.synchronize(devices[device])
        added += 16


def start(device):
    global worker
    busy.set()
    worker = threading.Thread(target=keep_busy, args=(device,), daemon=True)
    worker.start()
    return 0


def stop():
    busy.clear()
    worker.join()
    return added


add(2, 2), copy(1)
print(0, flush=True)
for line in sys.stdin:
    word, *numbers = line.split()
    print({"add": add, "copy": copy, "busy": start, "idle": stop}[word](*map(int, numbers)), flush=True)
