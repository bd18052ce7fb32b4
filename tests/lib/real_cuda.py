# SPDX-License-Identifier: Apache-2.0
"""What tests on a real GPU need; without it they are skipped with the reason."""
import functools
import glob
import os
import shutil
import subprocess

import xp


def need_gpu():
    if not glob.glob("/dev/nvidia[0-9]*"):
        raise xp.Skip("no NVIDIA GPU here")


@functools.lru_cache(maxsize=None)
def _torch_python():
    python = os.environ.get("XP_TORCH_PYTHON", "python3")
    if subprocess.run([python, "-c", "import torch; assert torch.cuda.is_available()"], stderr=subprocess.DEVNULL).returncode:
        raise xp.Skip(f"{python} has no torch with CUDA")
    return python


def torch_command(script, *args):
    """That script by a Python that can import torch with CUDA: XP_TORCH_PYTHON, else python3."""
    need_gpu()
    return [_torch_python(), script, *args]


def nvcc():
    need_gpu()
    path = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(path):
        raise xp.Skip("no nvcc here")
    return path
