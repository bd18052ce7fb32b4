# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program that knows nothing of xprobe; obeys lines of standard input and answers each. Needs torch with CUDA (tests/gpu/needs.txt).

matmul N    N products of 2048 x 2048; answers their mean time by torch's own events, ns
pinned N / pageable N    N copies of 4 MiB to the device and back
graph N     a graph of 7 additions that was captured at the start, replayed N times
decode N    another thread replays a graph of 61 short kernels over N KiB without end, as a decoder of text does; 0: it ends. Answers its replays
"""
import sys
import threading

import torch

device = torch.device("cuda")
a = torch.randn(2048, 2048, device=device)
host = torch.randn(1 << 20)
fixed = host.pin_memory()
side = torch.zeros(1024, device=device)


def matmul(n):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    total = 0.0
    for _ in range(n):
        begin.record()
        a @ a
        end.record()
        end.synchronize()
        total += begin.elapsed_time(end)
    return int(total / n * 1e6)


def copies(source, n):
    for _ in range(n):
        there = source.to(device, non_blocking=True)
        if source is fixed:
            fixed.copy_(there)
        else:
            there.cpu()
    torch.cuda.synchronize()
    return n


captured = torch.cuda.CUDAGraph()


def record():
    with torch.cuda.graph(captured):
        for _ in range(7):
            side.add_(1)


def graph(n):
    for _ in range(n):
        captured.replay()
    torch.cuda.synchronize()
    return n


decoding, replays = threading.Event(), 0
token = torch.cuda.CUDAGraph()


def decoder(state):
    """state: what its graph works on lives as long."""
    global replays
    with torch.cuda.stream(torch.cuda.Stream()):
        while decoding.is_set():
            for _ in range(8):
                token.replay()
            torch.cuda.current_stream().synchronize()
            replays += 8


def decode(kib):
    global worker
    if kib:
        state = torch.zeros(kib * 256, device=device)
        with torch.cuda.graph(token):
            for _ in range(61):
                state.mul_(1)
        decoding.set()
        worker = threading.Thread(target=decoder, args=(state,), daemon=True)
        worker.start()
    else:
        decoding.clear()
        worker.join()
    return replays


matmul(3), copies(host, 1), copies(fixed, 1), record(), graph(1)
print(0, flush=True)
for line in sys.stdin:
    word, n = line.split()
    done = {"matmul": matmul, "pinned": lambda n: copies(fixed, n), "pageable": lambda n: copies(host, n), "graph": graph, "decode": decode}[word](int(n))
    print(done, flush=True)
