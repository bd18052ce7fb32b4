# SPDX-License-Identifier: Apache-2.0
"""PyTorch loops that know nothing of xprobe, each slow in one way: `torch_cases.py CASE STEPS_FILE [LIBRARY]`. Needs torch with CUDA.

It loads, prints "ready", and runs while standard input says "go" until it says "stop". At the end it writes the time of every step
(CLOCK_MONOTONIC, ns, 8 bytes each) to STEPS_FILE, so that the cost of a window can be told from the steps inside it.
"""
import array
import ctypes
import sys
import threading
import time

import torch

case, steps_file = sys.argv[1], sys.argv[2]
device = torch.device("cuda")
torch.manual_seed(7)


def train():
    """A training step of a few milliseconds whose kernels take 10 us and more; the loss is looked at each time."""
    net = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(2048, 2048), torch.nn.GELU())]).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x, y = torch.randn(4096, 2048, device=device), torch.randn(4096, 2048, device=device)

    def step():
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def infer():
    """Replays of a captured graph, the answer copied back each time."""
    net = torch.nn.Sequential(*[layer for _ in range(12) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]).to(device).eval()
    x = torch.randn(1024, 2048, device=device)
    out = torch.empty(16, pin_memory=True)
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            net(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = net(x)

    def step():
        graph.replay()
        out.copy_(answer[0, :16], non_blocking=True)
        torch.cuda.synchronize()

    return step


def tiny():
    """Launch-bound: hundreds of kernels that each take less time than their launch."""
    x = torch.zeros(256, device=device)

    def step():
        for _ in range(200):
            x.add_(1)
        torch.cuda.synchronize()

    return step


def pageable():
    """Batches go to the device from ordinary memory."""
    host, x = torch.randn(4 << 20), torch.zeros(1024, device=device)

    def step():
        x.add_(host.to(device)[0])

    return step


def slow():
    """One kernel takes all the time."""
    a = torch.randn(8192, 8192, device=device)

    def step():
        a @ a
        torch.cuda.synchronize()

    return step


def gaps():
    """The device waits for a host that does something else."""
    a = torch.randn(4096, 4096, device=device)

    def step():
        a @ a
        torch.cuda.synchronize()
        time.sleep(0.02)

    return step


def items():
    """The value of every small result is asked for at once: a copy back and a wait for each."""
    x = torch.zeros(1 << 16, device=device)

    def step():
        for _ in range(100):
            x.add_(1)
            x[0].item()

    return step


def serial():
    """Two streams that wait for each other after every kernel, so that nothing overlaps; each kernel fills a small part of the device."""
    streams, x = [torch.cuda.Stream(), torch.cuda.Stream()], [torch.zeros(1, 3000, 1, device=device) for _ in range(2)]

    def step():
        for i in range(16):
            with torch.cuda.stream(streams[i % 2]):
                torch.sort(x[i % 2], dim=1)
            streams[1 - i % 2].wait_stream(streams[i % 2])
        torch.cuda.synchronize()

    return step


def loader():
    """Python prepares each batch while the device waits."""
    net, out = torch.nn.Linear(1024, 1024).to(device), torch.empty(1024, pin_memory=True)

    def augment_batch(seed):
        total = 0
        for value in range(200000):
            total += value * seed % 7
        return total

    def step():
        out[0] = augment_batch(3)
        with torch.no_grad():
            net(out.to(device, non_blocking=True))
        torch.cuda.synchronize()

    return step


def request():
    """One request, one launch, one kernel."""
    begin = ctypes.CDLL(sys.argv[3]).request_begin
    x = torch.zeros(1 << 22, device=device)

    def step():
        begin()
        x.add_(1)
        torch.cuda.synchronize()

    return step


step = {"train": train, "infer": infer, "tiny": tiny, "pageable": pageable, "slow": slow, "gaps": gaps, "items": items, "serial": serial,
        "loader": loader, "request": request}[case]()
for _ in range(5):
    step()
torch.cuda.synchronize()
print("ready", flush=True)
times = array.array("q")
going, done = threading.Event(), threading.Event()


def listen():
    for line in sys.stdin:
        (going.set if line.strip() == "go" else going.clear)()
    done.set()
    going.set()


threading.Thread(target=listen, daemon=True).start()
while True:
    going.wait()
    if done.is_set():
        break
    step()
    times.append(time.monotonic_ns())
torch.cuda.synchronize()
with open(steps_file, "wb") as out:
    times.tofile(out)
