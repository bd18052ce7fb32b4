#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stops under load on CUPTI before 13.0 U1, where a careless stop hangs or kills the program: many each, no hang, no crash, no id lost or doubled.
CUPTI 12.9 and 13.0 lost the program's context here (errors 719, Xid 13), so GPU activities are refused there; calls alone are not.

Needs an NVIDIA GPU and nvcc, and libcupti files of those versions: XP_CUPTI_LIBS, files with a colon between them, as
`packaging/cupti_old.sh FOLDER` fetches them. XP_GPU_STOPS: how many with GPU activity each (full: 300); XP_GPU_CALL_STOPS: with calls alone,
more threads than CPUs (full: 2000). All versions and loads run side by side.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from agent_wire import API_ENTRY, EXACT, KERNEL_START, MATCH_ANY, MATCH_LAUNCH, Agent
from asked import Asked, pair
from real_cuda import nvcc

SOURCE = pathlib.Path(__file__).with_name("stops.cu")
FOLDER = tempfile.TemporaryDirectory()
STOPS = int(os.environ.get("XP_GPU_STOPS", "5"))
CALL_STOPS = int(os.environ.get("XP_GPU_CALL_STOPS", "100"))
LOADS = {"single": 1, "eight": 9, "loads": 10}  # and their threads
FIRST_SAFE, FIRST_REFUSED, UNSUPPORTED = 130001, 27, 4
# 12.4 and 12.5 give a record without times now and then; it is left out and counted.
TIMELESS = (22, 23)
NODES = 32


def libraries():
    nvcc()
    paths = [path for path in os.environ.get("XP_CUPTI_LIBS", "").split(":") if path]
    if not paths:
        raise xp.Skip("no older libcupti; see XP_CUPTI_LIBS")
    return paths


def program():
    path = os.path.join(FOLDER.name, "stops")
    if not os.path.exists(path):
        subprocess.run([nvcc(), "-O2", "-o", path, SOURCE, "-lpthread", "-ldl", "-lcuda", "-L/usr/local/cuda/lib64/stubs"], check=True)
    return path


class Worker(threading.Thread):
    """One program under one load with one libcupti: injected by a first command, then armed and stopped through the agent's memory."""

    def __init__(self, library, load):
        super().__init__()
        self.library, self.load, self.error, self.stops, self.left, self.held = library, load, None, 0, 0, []
        self.launches = self.records = self.unknown = self.stray = self.timeless = self.version = 0
        self.app = Asked([program(), library], end_s=30)

    def check(self, counters):
        kernels = counters["api_launches"] + NODES * counters["graph_launches"]
        self.timeless += counters["invalid_times"]
        assert counters["invalid_times"] == 0 or self.version in TIMELESS, counters
        for name in ("in_flight", "duplicate_ids", "cupti_dropped", "activity_dropped", "activities_ungrouped"):
            assert counters[name] == 0, (name, counters)
        # Kernels of launches that were under way when the callbacks went on; a round has at most 32 of them.
        assert counters["launch_unknown"] <= NODES * LOADS[self.load], counters
        self.launches += kernels
        self.records += counters["activities_seen"]
        self.unknown += counters["launch_unknown"]
        self.stray += counters["stray"]
        self.left += counters["left_on"] != 0
        self.held.append(counters["gate_ns"] / 1e6)

    def stop_often(self, agent):
        for self.stops in range(1, STOPS + 1):
            assert agent.arm([(KERNEL_START, MATCH_ANY)]) == 0
            for _ in range(200 if self.stops % 2 else 4):  # long ones, and short ones whose stop waits for the gate's age
                time.sleep(0.005)
                agent.renew()
            self.check(agent.stop())

    def stop_calls_often(self, agent):
        for self.stops in range(1, CALL_STOPS + 1):
            assert agent.arm([(API_ENTRY, MATCH_LAUNCH)], EXACT) == 0
            time.sleep(0.001)
            counters = agent.stop()
            assert counters["gate_ns"] == 0 and counters["left_on"] == 0, counters
            self.launches += counters["callbacks"]

    def stop_under_load(self, app):
        assert app.tell("single" if self.load == "calls" else self.load) == 0
        first = xp.run("measure", "--pid", app.pid, *pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:driver_api:cuLaunchKernel:exit"), "--samples", "3",
                       "--max-cost", "0", exit=0)
        agent = Agent(app.pid)
        self.version = first.doc["collection"]["cuda"]["cupti_version"]
        assert self.version < FIRST_SAFE, self.version
        if self.load == "calls":
            app.tell("eight")
            self.stop_calls_often(agent)
        elif self.version >= FIRST_REFUSED:
            assert agent.arm([(KERNEL_START, MATCH_ANY)]) == UNSUPPORTED
        else:
            self.stop_often(agent)
        assert app.tell("end") > 0

    def run(self):
        try:
            with self.app as app:
                self.stop_under_load(app)
        except BaseException as problem:  # told by the main thread
            self.error = problem

    def report(self):
        held = sorted(self.held) or [0]
        return (f"CUPTI {self.version:6} {self.load:7} stops {self.stops:5} launches {self.launches:9} records {self.records:9} unknown {self.unknown:4} stray {self.stray:2} timeless {self.timeless:2} "
                f"left on {self.left:3} held ms {held[len(held) // 2]:.2f} / {held[int(len(held) * 0.99)]:.2f} / {held[-1]:.2f}"
                f"{'' if self.error is None else f'  {type(self.error).__name__}: {self.error}'}")


def run_all(loads):
    workers = [Worker(library, load) for library in libraries() for load in loads]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        print(worker.report(), flush=True)
    assert not [worker for worker in workers if worker.error], "see above"
    return workers


def test_stops_with_gpu_activity():
    workers = run_all(LOADS)
    assert sum(worker.timeless for worker in workers) <= 1 + len(workers) * STOPS // 20
    # Not one of these loads makes or destroys contexts, and all leave their calls: nothing may have stayed on.
    assert sum(worker.left for worker in workers) <= len(workers) * STOPS // 100, "kinds stayed on more often than once in a hundred stops"


def test_stops_with_calls_alone_oversubscribed():
    run_all(["calls"] * 2)


if __name__ == "__main__":
    xp.main()
