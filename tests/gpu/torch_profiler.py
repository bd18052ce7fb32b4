#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside torch.profiler in the same process: every order of docs/torch-profiler.md, and a training loop measured by both.

Needs an NVIDIA GPU and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked, pair
from real_cuda import torch_command

WORKER = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_profiled.py"
PROFILED = 53
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
    steps = 300
    with Torch() as torch:
        bare = min(torch.tell(f"train {steps}") for _ in range(3))
        run, answers = torch.measure("--aggregate", lines=[f"train {steps}"] * 2, seconds=5.0)
        assert run.exit == 0, run
        groups = run.doc["inventory"]["groups"]
        kernels, total = sum(group["count"] for group in groups), sum(group["duration_ns"]["total"] for group in groups)
        ours = min(answers) / bare - 1
        profiles = [torch.tell(f"profiled {steps}") for _ in range(2)]
        theirs = min(profile[0] for profile in profiles) / bare - 1
        print(f"steps {bare / 1e6:.1f} ms bare; kernels {kernels / 2} by us, {profiles[1][1]} by torch; time {total / 2 / 1e6:.2f} / {profiles[1][2] / 1e6:.2f} ms; "
              f"slow-down {100 * ours:.1f} % / {100 * theirs:.1f} %; answer {len(run.out)} / {profiles[1][3]} bytes, {(run.seconds - 5) * 1e3:.0f} / "
              f"{profiles[1][4] / 1e6:.0f} ms")
        assert kernels == 2 * profiles[1][1], (kernels, profiles)
        assert abs(total / 2 - profiles[1][2]) <= 0.01 * total / 2, (total, profiles)
        assert len(run.out) * 10 <= profiles[1][3]


if __name__ == "__main__":
    xp.main()
