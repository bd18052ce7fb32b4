# SPDX-License-Identifier: Apache-2.0
"""A PyTorch program with its own profiler; knows nothing of xprobe, obeys lines of standard input and answers each. Needs torch with CUDA.

start / launch N / stop   a profile; N additions; stop answers its GPU kernels      train N   N steps; answers how long they took, ns
profiled N                the same in a profile; answers: ns of the steps, kernels, ns of kernels, bytes of its trace, ns until it lay on disk
"""
import json
import os
import sys
import tempfile
import time

import torch
from torch.profiler import ProfilerActivity, profile

device = torch.device("cuda")
cell = torch.zeros(1024, device=device)
model = torch.nn.Sequential(*[layer for _ in range(8) for layer in (torch.nn.Linear(512, 512), torch.nn.ReLU())]).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
batch = torch.randn(64, 512, device=device)
running = None


def launch(n):
    for _ in range(n):
        cell.add_(1)
    torch.cuda.synchronize()
    return n


def train(n):
    begin = time.monotonic_ns()
    for _ in range(n):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()
    return time.monotonic_ns() - begin


def trace_of(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path) as file:
            events = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "kernel"]
        return events, os.path.getsize(path)


def start():
    global running
    running = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    running.__enter__()
    return 0


def stop():
    running.__exit__(None, None, None)
    return len(trace_of(running)[0])


def profiled(n):
    start()
    took = train(n)
    begin = time.monotonic_ns()
    running.__exit__(None, None, None)
    events, size = trace_of(running)
    return took, len(events), int(sum(event["dur"] for event in events) * 1000), size, time.monotonic_ns() - begin


launch(3), train(3)
print(0, flush=True)
for line in sys.stdin:
    verb, *n = line.split()
    answer = {"start": start, "stop": stop, "launch": launch, "train": train, "profiled": profiled}[verb](*map(int, n))
    print(*(answer if isinstance(answer, tuple) else (answer,)), flush=True)
