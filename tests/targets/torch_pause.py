# SPDX-License-Identifier: Apache-2.0
"""A PyTorch launch loop that knows nothing of xprobe: `N` on standard input runs it until the next line, then it answers with the longest
pause between two of its launches, ns, and their number. Launches wait for the GPU every 16, so that a full queue is no pause.
"""
import select
import sys
import time

import torch

x = torch.ones(1 << 10, device="cuda")


def loop():
    longest, launches, last = 0, 0, time.monotonic_ns()
    while True:
        for _ in range(16):
            x.add_(1)
            now = time.monotonic_ns()
            longest, last = max(longest, now - last), now
        torch.cuda.synchronize()
        launches += 16
        if launches % 512 == 0 and select.select([sys.stdin], [], [], 0)[0]:
            return longest, launches
        last = time.monotonic_ns()


for _ in range(100):
    x.add_(1)
torch.cuda.synchronize()
print("ready", flush=True)
while sys.stdin.readline():
    print(*loop(), flush=True)
    sys.stdin.readline()
