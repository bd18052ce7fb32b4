#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long an injection stops the launch loop of an unprepared PyTorch process, beside bare ptrace stops of the same loop.

Needs an NVIDIA GPU and a Python with torch (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere. A capture of NVTX ranges
brings the agent in and calls nothing of CUPTI, whose own first subscription is another pause.
"""
import ctypes
import os
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from real_cuda import torch_command

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_pause.py"
PROCESSES = int(os.environ.get("XP_GPU_INJECTIONS", "5"))
STOPS, MOST_BEYOND_MS = 7, 5.0
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long


def ptrace(request, pid):
    assert LIBC.ptrace(request, pid, None, None) == 0, os.strerror(ctypes.get_errno())


def bare_stop(pid):
    ptrace(SEIZE, pid)
    ptrace(INTERRUPT, pid)
    os.waitpid(pid, WALL)
    ptrace(DETACH, pid)


class Loop:
    def __init__(self):
        self.process = subprocess.Popen(torch_command(PROGRAM), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ready(self):
        assert self.process.stdout.readline() == "ready\n", "the program did not load"

    def say(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def longest_ms(self, act):
        """Of the loop while `act` runs, and half a second around it."""
        self.say()
        time.sleep(0.3)
        act()
        time.sleep(0.2)
        self.say()
        longest, launches = map(int, self.process.stdout.readline().split())
        assert launches > 0
        return longest / 1e6

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(30) == 0, "the program was harmed"


def stops(pid):
    for _ in range(STOPS):
        bare_stop(pid)
        time.sleep(0.05)


def has_agent(pid):
    folder = f"/proc/{pid}/fd"
    return any(os.readlink(f"{folder}/{fd}").startswith("/memfd:xprobe-agent") for fd in os.listdir(folder))


def capture(loop, answers, start, end):
    answers.append(xp.run("measure", "--pid", loop.process.pid, "--from", start, "--to", end, "--match", "exact", "--duration-ms", "300", "--max-cost", "0"))


def test_longest_pause_at_injection():
    loops, rows, runs = [Loop() for _ in range(PROCESSES)], [], []
    for loop in loops:
        loop.ready()
    for loop in loops:
        pid = loop.process.pid
        nothing = loop.longest_ms(lambda: time.sleep(0.4))
        bare = loop.longest_ms(lambda: stops(pid))
        assert not has_agent(pid)
        injected = loop.longest_ms(lambda: capture(loop, runs, "cuda:nvtx_range_start:name~^no$", "cuda:nvtx_range_end:name~^no$"))
        assert has_agent(pid), runs
        again = loop.longest_ms(lambda: capture(loop, runs, "cuda:nvtx_range_start:name~^no$", "cuda:nvtx_range_end:name~^no$"))
        armed = loop.longest_ms(lambda: capture(loop, runs, "cuda:driver_api:cuLaunchKernel:entry", "cuda:driver_api:cuLaunchKernel:exit"))
        rows.append((nothing, bare, injected, again, armed))
        print(f"longest pause, ms: undisturbed {nothing:.2f}, {STOPS} bare stops {bare:.2f}, injection {injected:.2f}, second capture {again:.2f}, "
              f"first subscription {armed:.2f}")
        loop.end()
    bare, injected = (statistics.median(row[i] for row in rows) for i in (1, 2))
    print(f"medians: bare {bare:.2f} ms, injection {injected:.2f} ms, beyond it {injected - bare:.2f} ms (at most {MOST_BEYOND_MS})")
    assert injected - bare <= MOST_BEYOND_MS, rows


if __name__ == "__main__":
    xp.main()
