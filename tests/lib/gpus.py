# SPDX-License-Identifier: Apache-2.0
"""NVML without a GPU for tests: the state file of tests/fake/nvml.c, device nodes that nobody drives, and processes that hold them."""
import os
import pathlib
import shutil
import stat
import sys

import xp

FAKES = xp.BUILD / "tests/fake"
HOLDER = xp.SOURCE / "tests/targets/gpu_holder.py"
UUIDS = [f"GPU-00000000-0000-0000-0000-00000000000{i}" for i in range(8)]
HEALTHY = {"name": "Fake GPU", "utilization": 83, "used": 3 << 30, "total": 96 << 30, "power": 311000, "limit": 700000, "temperature": 61,
           "clock": 1755, "clock_max": 1980, "reasons": 0, "ecc": 0, "remap": 0, "gen": 5, "gen_max": 5, "width": 16, "width_max": 16,
           "rate.74": 0, "rate.75": 0, "rate.76": 0, "rate.269": 0, "rate.270": 0, "rate.271": 0}


class Nvml:
    """A state that can be changed while xprobe runs."""

    def __init__(self, devices=1, edition=3):
        self.path = pathlib.Path(xp.scratch()) / "nvml-state"
        self.edition, self.lines = edition, {"devices": devices}
        for i in range(devices):
            self.lines |= {f"{i}.uuid": UUIDS[i], f"{i}.minor": i}
        self.write()

    def write(self):
        fresh = self.path.with_suffix(".new")
        fresh.write_text("".join(f"{key}={value}\n" for key, value in self.lines.items()))
        fresh.rename(self.path)

    def set(self, **lines):
        """Keys with "_of_N" behind belong to device N; two underlines stand for a dot: fail__CALL_of_0."""
        for key, value in lines.items():
            name, of, device = key.rpartition("_of_")
            name = (f"{device}.{name}" if of else key).replace("__", ".")
            self.lines[name] = value
            if value is None:
                del self.lines[name]
        self.write()
        return self

    def healthy(self, device=0, **changes):
        self.lines |= {f"{device}.{key}": value for key, value in {**HEALTHY, **changes}.items() if value is not None}
        self.write()
        return self

    def env(self):
        return {"FAKE_NVML": str(self.path), "LD_LIBRARY_PATH": str(FAKES / f"nvml{self.edition}")}


def node(minor):
    """A character device of NVIDIA's number without a driver; a process can hold it by O_PATH."""
    path = pathlib.Path(xp.scratch()) / f"nvidia{minor}"
    if not path.exists():
        try:
            os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(195, minor))
        except PermissionError:
            raise xp.Skip("may not make device nodes here") from None
    return str(path)


def holder(*minors, libcuda=True, prefix=(), **options):
    """A process that maps the fake libcuda and holds those GPUs. prefix: a command that starts it."""
    command = [*prefix, shutil.which("python3") or sys.executable, HOLDER, FAKES / "libcuda.so.1" if libcuda else "", *map(node, minors)]
    return xp.Target(shutil.which(str(command[0])), *command[1:], **options)
