#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside torch.profiler in the same process: every order of docs/torch-profiler.md, and a training loop measured by both.

Needs an NVIDIA GPU and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked, pair
from real_cuda import torch_command

WORKER = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_profiled.py"
PROFILED = 53
STEPS = "train 300"
KERNELS = pair("cuda:kernel_start", "cuda:kernel_end")


class Torch(Asked):
    start_s, window_s = 1.5, 3.0

    def __init__(self):
        super().__init__(torch_command(WORKER), greets=True, stderr=subprocess.DEVNULL)

    def profile(self):
        """Kernels on the GPU that one profile of 53 has."""
        self.tell("start")
        self.tell(f"launch {PROFILED}")
        return self.tell("stop")

    def measure(self, *flags, lines=("launch 101",), **options):
        return super().measure(*KERNELS, *flags, lines=lines, **options)

    def measured(self, *flags):
        run, _ = self.measure(*flags)
        assert run.exit == 0 and run.doc["measurement"]["samples"]["matched"] == 101, run
        return run

    def busy(self):
        details = xp.fails("CUPTI_BUSY", "measure", "--pid", str(self.pid), *KERNELS, "--duration-ms", "300")
        print("holder", details.get("holder"))


def test_we_first_and_the_profiler_after():
    with Torch() as torch:
        validation = xp.ok("validate", "--pid", str(torch.pid), *KERNELS)
        assert "TORCH_PROFILER_PRESENT" in [warning["code"] for warning in validation["warnings"]], validation
        assert b"torch.profiler" in torch.measured().err
        assert torch.profile() == torch.profile() == PROFILED


def test_the_profiler_first():
    with Torch() as torch:
        assert torch.profile() == PROFILED
        torch.busy()
        torch.tell("start")
        torch.busy()
        torch.tell(f"launch {PROFILED}")
        assert torch.tell("stop") == PROFILED
        run = torch.measured("--records-only")
        assert "records_only" in [issue["code"] for issue in run.doc["quality"]["issues"]]
        assert torch.profile() == torch.profile() == PROFILED
        torch.tell("start")
        torch.measured("--records-only")
        assert torch.tell("stop") == 0, "a records-only capture takes the records of a running profile"
        assert torch.profile() == PROFILED


def test_the_first_profile_while_we_are_armed():
    with Torch() as torch:
        run, answers = torch.measure(lines=["start", f"launch {PROFILED}", "stop"])
        assert run.exit == 0 and answers[-1] == 0, (answers, run)
        assert torch.profile() == 0, "what TORCH_PROFILER_PRESENT warns of"
        torch.measured()


def test_a_training_loop_by_both():
    """Turns, each compared with the bare ones around it, since the process's speed drifts. Ours come first: the profiler keeps CUPTI."""
    turns = int(os.environ.get("XP_GPU_TURNS", "7"))
    with Torch() as torch:
        torch.tell(STEPS)
        bare, slow, runs, profiles = [torch.tell(STEPS)], {"xprobe": [], "torch.profiler": []}, [], []

        def turn(name, took):
            bare.append(torch.tell(STEPS))
            slow[name].append(2 * took / (bare[-2] + bare[-1]) - 1)

        for _ in range(turns):
            run, answers = torch.measure("--aggregate", lines=[STEPS])
            assert run.exit == 0, run
            runs.append(run)
            turn("xprobe", answers[0])
        torch.tell("profiled 3")
        for _ in range(turns):
            profiles.append(torch.tell(f"profiled {STEPS.split()[1]}"))
            turn("torch.profiler", profiles[-1][0])
        groups = runs[-1].doc["inventory"]["groups"]
        kernels, total = sum(group["count"] for group in groups), sum(group["duration_ns"]["total"] for group in groups)
        _, their_kernels, their_total, their_bytes, their_ns = profiles[-1]
        beside = statistics.median(run.seconds for run in runs) - torch.window_s
        print(f"steps, bare, ms: {[round(ns / 1e6) for ns in bare]}; kernels {kernels} by us, {their_kernels} by torch; time {total / 1e6:.2f} / {their_total / 1e6:.2f} ms; "
              f"answer {len(runs[-1].out)} / {their_bytes} bytes, {beside * 1e3:.0f} / {their_ns / 1e6:.0f} ms")
        for name, shares in slow.items():
            print(f"  slow-down by {name}, %: {[round(100 * share, 1) for share in shares]}, median {100 * statistics.median(shares):.1f}")
        assert kernels == their_kernels, (kernels, profiles)
        assert abs(total - their_total) <= 0.01 * total, (total, profiles)
        assert len(runs[-1].out) * 10 <= their_bytes


if __name__ == "__main__":
    xp.main()
