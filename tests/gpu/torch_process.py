#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measurements on an unprepared PyTorch process: kernels against torch's own events, copies by memory kind, graph replays, many arms.

Needs an NVIDIA GPU and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked, pair
from real_cuda import torch_command

WORKER = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_worker.py"


class Torch(Asked):
    script, start_s = WORKER, 1.5

    def __init__(self):
        super().__init__(torch_command(self.script), greets=True)

    def measure(self, *flags, **options):
        """-> (document, answers)"""
        run, answers = super().measure(*flags, exit=0, **options)
        return run.doc, answers


def test_kernels_equal_torch_events():
    with Torch() as torch:
        document, answers = torch.measure(*pair("cuda:kernel_start:name~gemm", "cuda:kernel_end:name~gemm"), lines=["matmul 101"])
        latency = document["measurement"]["latency_ns"]
        assert document["measurement"]["samples"]["matched"] == 101, document["measurement"]
        # Events include the launch gap of an idle stream, so they are an upper bound; the kernel is most of it.
        assert 0.8 * answers[0] - 10_000 <= latency["mean"] <= answers[0] + 1000, (answers, latency)
        print("mean by torch events", answers[0], "by xprobe", latency["mean"], "stall_ms", document["cost"]["stall_ms"])


def test_copies_by_memory_kind():
    with Torch() as torch:
        document, _ = torch.measure(*pair("cuda:memcpy_start", "cuda:memcpy_end"), "--aggregate", lines=["pinned 53", "pageable 31"])
        counts = {(g["memcpy_kind"], g["src_memory"], g["dst_memory"]): (g["count"], g["total_bytes"]) for g in document["inventory"]["groups"]}
        assert counts[("HtoD", "pinned", "device")] == (53, 53 << 22), counts
        assert counts[("DtoH", "device", "pinned")] == (53, 53 << 22), counts
        assert counts[("HtoD", "pageable", "device")] == (31, 31 << 22), counts
        assert counts[("DtoH", "device", "pageable")] == (31, 31 << 22), counts


def test_graph_replays():
    with Torch() as torch:
        document, _ = torch.measure(*pair("cuda:driver_api:@launch:entry", "cuda:kernel_start:name~elementwise"), lines=["graph 41"])
        samples = document["measurement"]["samples"]
        assert samples["matched"] == 7 * 41, (samples, document["collection"]["cuda"])
        assert document["correlation"]["one_to_many"] == 41, document["correlation"]


def test_offline_gives_the_same_numbers():
    with Torch() as torch:
        document, _ = torch.measure(*pair("cuda:kernel_start:name~gemm", "cuda:kernel_end:name~gemm"), lines=["matmul 53"])
        again = xp.run("measure", "--input", document["evidence"]["artifact"]["path"],
                       *pair("cuda:kernel_start:name~gemm", "cuda:kernel_end:name~gemm"), "--duration-ms", "60000")
        assert again.exit == 0 and again.doc["measurement"]["latency_ns"] == document["measurement"]["latency_ns"], again


def memory_kib(pid):
    return int(next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")).split()[1])


def test_many_arms_leave_the_memory_flat():
    arms = int(os.environ.get("XP_GPU_ARMS", "50"))
    with Torch() as torch:
        sizes, stalls = [], []
        with torch.busy("matmul 20", "graph 3"):
            for _ in range(arms):
                run = xp.run("measure", "--pid", torch.pid, *pair("cuda:kernel_start", "cuda:kernel_end"), "--samples", "53", "--max-cost", "0", exit=0)
                assert run.doc["measurement"]["samples"]["dropped"] == 0 and run.doc["collection"]["cuda"]["invalid_time_records"] == 0, run.doc["collection"]
                assert not [i for i in run.doc["quality"]["issues"] if i["code"] == "correlation_unreliable"], run.doc["quality"]
                sizes.append(memory_kib(torch.pid))
                stalls.append(run.doc["cost"]["attach_ms"])
        print("arms", arms, "RSS KiB first, 10th, last:", sizes[0], sizes[min(9, arms - 1)], sizes[-1], "attach_ms first, median later:", stalls[0],
              sorted(stalls[1:])[len(stalls) // 2])
        assert sizes[-1] <= 1.02 * sizes[min(9, arms - 1)], sizes


def gpu_memory_mib(pid):
    one, = xp.ok("discover", "--pid", pid)["candidates"]
    return one["gpu_memory_bytes"] >> 20


def decode_window(torch):
    """One window over the decode loop; its error where there is one."""
    run = xp.run("measure", "--pid", torch.pid, *pair("cuda:kernel_start", "cuda:kernel_end"), "--aggregate", "--duration-ms", "3000", "--max-cost", "0")
    if run.exit:
        return {"error": run.doc["error"]}
    collection, short = run.doc["collection"], max(run.doc["inventory"]["groups"], key=lambda group: group["count"])
    cuda = collection["cuda"]
    return {"error": None, "kernels": short["count"], "replays": cuda["graph_launches_seen"], "times": short["duration_ns"], "least": short["duration_ns"]["min"],
            "lost": collection["dropped_activities"], "invalid": cuda["invalid_time_records"], "host": memory_kib(torch.pid) >> 10, "gpu": gpu_memory_mib(torch.pid)}


def column(windows, name):
    return [window[name] for window in windows]


def tell_of(windows):
    print(f"{len(windows)} windows: {sum(column(windows, 'kernels'))} kernels of {sum(column(windows, 'replays'))} replays; lost {sum(column(windows, 'lost'))}, without times "
          f"{[(i, window['invalid']) for i, window in enumerate(windows) if window['invalid']]}; ns of a kernel first {windows[0]['times']}, last {windows[-1]['times']}; RSS MiB "
          f"{column(windows[::20], 'host')}, {windows[-1]['host']}; GPU MiB {column(windows[::20], 'gpu')}, {windows[-1]['gpu']}", flush=True)


def test_repeated_windows_over_a_decode_loop():
    """
    Elsewhere such windows took a gibibyte of the GPU and broke the times after millions of records. XP_GPU_DECODE_S: how long (full: 480).
    XP_GPU_DECODE_KIB: what a kernel works on; the default takes about 4 us, 4 KiB takes 1 us, which CUPTI before 13.4 U1 does not bear for minutes.
    """
    end = time.monotonic() + int(os.environ.get("XP_GPU_DECODE_S", "20"))
    with Torch() as torch:
        assert torch.tell(f"decode {os.environ.get('XP_GPU_DECODE_KIB', '8192')}") == 0
        windows, refused = [], []
        while time.monotonic() < end:
            window = decode_window(torch)
            (refused if window["error"] else windows).append(window)
        replayed = torch.tell("decode 0")
        tell_of(windows)
        document, answers = torch.measure(*pair("cuda:kernel_start:name~gemm", "cuda:kernel_end:name~gemm"), lines=["matmul 101"])
        mean = document["measurement"]["latency_ns"]["mean"]
        print(f"mean product at the end {mean} ns, by events {answers[0]}; refused: {refused}")
        assert document["measurement"]["samples"]["matched"] == 101 and 0.8 * answers[0] - 10_000 <= mean <= answers[0] + 1000, (answers, mean)
        assert not refused and replayed >= sum(column(windows, "replays")) and sum(column(windows, "lost")) == 0, (replayed, refused)
        # Replays at the edges of a window have some of their kernels outside.
        assert all(abs(window["kernels"] - 61 * window["replays"]) <= 61 * 16 for window in windows), windows
        # A stop may cut a record off; it is left out and told (1 of 60 million was seen).
        assert sum(column(windows, "invalid")) <= 1 + sum(column(windows, "kernels")) // 10**7, windows
        # The mean is longer where another process takes its turns on the GPU.
        assert 0.9 * max(column(windows, "least")) <= min(column(windows, "least")), windows
        host, gpu = column(windows, "host"), column(windows, "gpu")
        assert host[-1] <= 1.02 * host[len(host) // 2] and gpu[-1] <= gpu[0] + 64, (host, gpu)


if __name__ == "__main__":
    xp.main()
