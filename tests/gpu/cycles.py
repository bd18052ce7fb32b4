#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hundreds of captures in one process under 8 launching threads and graph replays, faster than the tool would make them: the agent is
driven by its shared memory (wire/agent.h), as the tool drives it. No drop, no id on two launches, no zero time, no hang, memory flat.

Needs an NVIDIA GPU and nvcc; skipped with the reason elsewhere.
"""
import ctypes
import glob
import mmap
import os
import statistics
import struct
import time

import agent  # brings tests/lib, too
import xp
from asked import pair

ARM, STOP, AGGREGATE, KERNEL_START = 1, 2, 2, 3
WORD, LEASE, REQUEST = 128, 256, 384
COUNTERS = REQUEST + 1696 + 512
NAMES = ("callbacks api_launches graph_launches first_launch_ns callback_records callback_dropped activities_seen activity_records activity_dropped "
         "activities_grouped activities_ungrouped filtered outside invalid_times in_flight cupti_dropped buffers_refused names_dropped "
         "unknown_records late_exits graph_predates launch_unknown stray duplicate_ids worst_violation_ns bracket_ns clock_steps stall_ns contexts "
         "stop_ns memory_bytes armed_ns gate_ns left_on residual_ns residual_launches").split()
LIBC = ctypes.CDLL(None, use_errno=True)
CYCLES = int(os.environ.get("XP_GPU_CYCLES", "500"))


class Link:
    """The tool's side of contract 10.17, as much of it as a capture needs."""

    def __init__(self, pid):
        path = next(path for path in glob.glob(f"/proc/{pid}/fd/*") if "xprobe-agent-5" in os.readlink(path))
        self.memory = mmap.mmap(os.open(path, os.O_RDWR), os.stat(path).st_size)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.sequence = self.get("<I", WORD)

    def get(self, form, offset):
        return struct.unpack_from(form, self.memory, offset)[0]

    def put(self, form, offset, *values):
        struct.pack_into(form, self.memory, offset, *values)

    def send(self, command):
        self.put("<I", WORD + 4, command)
        self.sequence += 1
        self.put("<I", WORD, self.sequence)
        LIBC.syscall(202, ctypes.c_void_p(self.address + WORD), 1, 1 << 30, None, None, 0)
        deadline = time.monotonic() + 20
        while self.get("<I", WORD + 12) != self.sequence:
            assert time.monotonic() < deadline, "the agent hangs"
            self.renew()
            time.sleep(0.0005)
        assert self.get("<I", WORD + 16) == 0, (command, self.get("<I", WORD + 16))

    def renew(self):
        self.put("<Q", LEASE, 1)
        self.put("<Q", LEASE + 8, self.get("<Q", LEASE + 8) + 1)
        self.put("<Q", LEASE + 16, time.monotonic_ns())

    def arm(self, kinds, groups=4096):
        self.renew()
        self.put("<QQ", LEASE + 24, 0, 0)
        self.put("<IIIIQII", REQUEST, AGGREGATE, 0, len(kinds), groups, 60_000_000_000, 3000, 0)
        for i, kind in enumerate(kinds):
            self.put("<IIII128s", REQUEST + 32 + 144 * i, kind, 0, 0, 0, b"")
        self.send(ARM)
        self.put("<Q", LEASE + 24, time.monotonic_ns())

    def stop(self):
        self.put("<Q", LEASE + 32, time.monotonic_ns())
        self.send(STOP)
        return dict(zip(NAMES, struct.unpack_from("<36Q", self.memory, COUNTERS)))


def rss_kib(pid):
    return {line.split(":")[0]: int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith(("VmRSS", "RssAnon", "RssShmem"))}


def test_cycles_under_load():
    with agent.App() as app:
        # The tool brings the agent.
        app.measure(*pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:driver_api:cuLaunchKernel:exit"), lines=["launch 1 3"], seconds=2)
        link = Link(app.pid)
        app.tell("loop 8 5")
        app.tell("replays 50")
        series, residuals, arms, stops, launches = [], [], [], [], 0
        begin = time.monotonic()
        for i in range(CYCLES):
            from_s = time.monotonic()
            link.arm([KERNEL_START])
            arms.append((time.monotonic() - from_s) * 1e3)
            time.sleep(0.012)
            counters = link.stop()
            stops.append(counters["stop_ns"] / 1e6)
            launches += counters["api_launches"]
            if counters["residual_launches"]:
                residuals.append(counters["residual_ns"])
            for name in ("cupti_dropped", "buffers_refused", "activity_dropped", "callback_dropped", "activities_ungrouped", "invalid_times",
                         "duplicate_ids", "names_dropped", "unknown_records", "in_flight", "stray"):
                assert counters[name] == 0, (i, name, counters)
            assert counters["activities_seen"] >= counters["api_launches"], (i, counters)
            if i % max(1, CYCLES // 10) == 0 or i == CYCLES - 1:
                series.append(rss_kib(app.pid))
        looped = app.tell("end")
        print(f"{CYCLES} cycles in {time.monotonic() - begin:.1f} s, launches inside {launches}, of the loop {looped}")
        print("arm ms: first", round(arms[0], 2), "median", round(statistics.median(arms[1:]), 2), "max", round(max(arms[1:]), 2))
        print("stop ms: median", round(statistics.median(stops), 2), "max", round(max(stops), 2))
        print("residual ns by the agent: median", statistics.median(residuals) if residuals else None, "of", len(residuals))
        print("RSS KiB:", [row["VmRSS"] for row in series], "anon", [row["RssAnon"] for row in series], "shmem", [row["RssShmem"] for row in series])
        assert launches > CYCLES, launches
        # Activity buffers of the pool are touched one by one until load has its most; then nothing grows.
        middle = series[len(series) // 2]["VmRSS"]
        assert series[-1]["VmRSS"] - middle <= 1024 and series[-1]["VmRSS"] - middle < max(1, middle - series[0]["VmRSS"]), series


if __name__ == "__main__":
    xp.main()
