#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch process that Nsight Systems started, collecting or not: it keeps CUPTI and its NVTX copies, xprobe says so, neither harms it.

Needs nsys (XP_NSYS, the PATH, or where NVIDIA's packages put it), an NVIDIA GPU and a Python that can import torch with CUDA
(XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked, pair
from real_cuda import torch_command

TARGETS = pathlib.Path(__file__).resolve().parents[1] / "targets"
FOLDER = tempfile.TemporaryDirectory()
TRACE = ["--trace=cuda,nvtx"]
QUIET = ["--force-overwrite=true", "--sample=none", "--cpuctxsw=none"]
KERNELS = pair("cuda:kernel_start", "cuda:kernel_end")
CALLS = pair("cuda:driver_api:@launch:entry", "cuda:driver_api:@launch:exit")
RANGES = pair("cuda:nvtx_range_start:name~^step$", "cuda:nvtx_range_end:name~^step$")


def nsys():
    places = glob.glob("/opt/nvidia/nsight-systems/*/bin/nsys") + glob.glob("/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys")
    path = os.environ.get("XP_NSYS") or shutil.which("nsys") or next(iter(sorted(places)), None)
    if not path:
        raise xp.Skip("no nsys here")
    return path


class Profiled(Asked):
    """nsys is no parent of what it starts: a mark in the environment finds it."""

    def __init__(self, script, *command):
        self.mark = uuid.uuid4().hex
        super().__init__(torch_command(TARGETS / script), prefix=[nsys(), *command], greets=True, environment={"XP_MARK": self.mark}, stderr=subprocess.DEVNULL)

    def _find(self, pid):
        for folder in glob.glob("/proc/[0-9]*"):
            try:
                environment, exe = pathlib.Path(folder, "environ").read_bytes(), os.readlink(f"{folder}/exe")
            except OSError:
                continue
            if self.mark.encode() in environment and os.path.basename(exe).startswith("python"):
                return int(os.path.basename(folder))
        raise AssertionError("nsys did not start the program")

    def is_busy(self, *flags):
        before = self.tell("launch 53")
        details = xp.fails("CUPTI_BUSY", "measure", "--pid", self.pid, *flags, "--duration-ms", "500", "--max-cost", "0")
        assert before == self.tell("launch 53") == 53
        return details.get("holder")


def report(name):
    """A report, or what is made into one where the importer is installed."""
    return sum(os.path.getsize(path) for path in glob.glob(os.path.join(FOLDER.name, name + ".*")))


def profiled(script, name):
    return Profiled(script, "profile", *TRACE, *QUIET, "--output", os.path.join(FOLDER.name, name))


def test_started_by_it():
    with profiled("torch_profiled.py", "first") as torch:
        print("holder", torch.is_busy(*KERNELS), torch.is_busy(*CALLS), torch.is_busy(*KERNELS, "--records-only"))
        document = xp.ok("measure", "--pid", torch.pid, "--triage", "--duration-ms", "1000")
        reasons = {source["name"]: source["reason"] for source in document["sources"] if source["name"].startswith("cuda")}
        assert reasons == {"cuda_kernels": "cupti_busy", "cuda_copies": "cupti_busy"}, reasons
    assert report("first") > 0


def test_its_ranges_are_left_to_it():
    with profiled("torch_nvtx.py", "ranges") as torch:
        torch.tell("push 3")
        run, _ = torch.measure(*RANGES, lines=["push 101"])
        partial = run.details["partial"]
        print(run.code, partial["quality"]["issues"])
        assert run.code == "NO_MATCHED_SAMPLES" and "nvtx_partial" in [issue["code"] for issue in partial["quality"]["issues"]], run
    assert report("ranges") > 0


def test_started_by_it_and_collecting_later():
    session, tool = f"xp{uuid.uuid4().hex[:8]}", nsys()
    with Profiled("torch_profiled.py", "launch", *TRACE, f"--session-new={session}") as torch:
        torch.is_busy(*KERNELS)
        subprocess.run([tool, "start", f"--session={session}", *QUIET, "--output", os.path.join(FOLDER.name, "later")], check=True)
        torch.is_busy(*KERNELS)
        subprocess.run([tool, "stop", f"--session={session}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        torch.is_busy(*KERNELS)
    assert report("later") > 0


if __name__ == "__main__":
    xp.main()
