#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact and aggregate GPU measurements on an unprepared CUDA program, with a real GPU, driver and CUPTI (13.0 U1 or newer).

Needs an NVIDIA GPU and nvcc; skipped with the reason elsewhere. Counts are primes and compared for equality; durations with CUDA events;
costs side by side in one run, printed for the note and checked only as ratios.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked, pair
from real_cuda import nvcc

SOURCE = pathlib.Path(__file__).with_name("launches.cu")
FOLDER = tempfile.TemporaryDirectory()


def program(*flags):
    path = os.path.join(FOLDER.name, "launches" + "".join(flags).replace(" ", ""))
    if not os.path.exists(path):
        subprocess.run([nvcc(), "-O2", *flags, "-o", path, SOURCE, "-lpthread", "-lcuda"], check=True)
    return path


class App(Asked):
    start_s = 1.5  # injection and first arm included

    def __init__(self, *flags):
        super().__init__([program(*flags)], end_s=30)

    def begin(self):
        self.tell("launch 1 1")


def ok(run):
    assert run.exit == 0, run
    return run.doc


def samples(document):
    return document["measurement"]["samples"]


def test_every_launch_has_its_kernel():
    with App() as app:
        for i in range(3):
            run, _ = app.measure(*pair("cuda:runtime_api:cudaLaunchKernel:entry", "cuda:kernel_start:name~empty_kernel"), lines=["launch 8 1009"])
            document = ok(run)
            assert samples(document)["matched"] == 8 * 1009, samples(document)
            assert samples(document)["unmatched_start"] == samples(document)["unmatched_end"] == samples(document)["ambiguous"] == 0
            cuda = document["collection"]["cuda"]
            assert cuda["activities_seen"] == cuda["api_launches_seen"] == 8 * 1009, cuda
            assert cuda["invalid_time_records"] == cuda["in_flight_at_stop"] == cuda["launch_unknown"] == 0, cuda
            print("arm", i, "stall_ms", document["cost"]["stall_ms"], "attach_ms", document["cost"]["attach_ms"], "p50", document["measurement"]["latency_ns"])


WAYS = ["runtime", "driver", "cooperative", "driver-cooperative", "extended", "driver-extended"]


def every_way(*flags):
    """Every way of launching from 8 threads, each on its stream: `@launch` of the driver sees all of them, each with its kernel."""
    with App(*flags) as app:
        run, _ = app.measure(*pair("cuda:driver_api:@launch:entry", "cuda:kernel_start:name~empty_kernel"), lines=[f"way {way} 8 211" for way in WAYS])
        document = ok(run)
        cuda = document["collection"]["cuda"]
        assert samples(document)["matched"] == len(WAYS) * 8 * 211, (samples(document), cuda)
        assert samples(document)["unmatched_start"] == samples(document)["unmatched_end"] == samples(document)["ambiguous"] == 0, samples(document)
        assert cuda["activities_seen"] == cuda["api_launches_seen"] == len(WAYS) * 8 * 211, cuda
        assert cuda["launch_unknown"] == cuda["in_flight_at_stop"] == cuda["invalid_time_records"] == 0, cuda
        run, _ = app.measure(*pair("cuda:runtime_api:@launch:entry", "cuda:runtime_api:@launch:exit"), lines=[f"way {way} 3 101" for way in WAYS])
        assert samples(ok(run))["matched"] == 3 * 3 * 101, samples(run.doc)
        for way, api in {"driver": "cuLaunchKernel", "driver-cooperative": "cuLaunchCooperativeKernel", "driver-extended": "cuLaunchKernelEx"}.items():
            run, _ = app.measure(*pair(f"cuda:driver_api:{api}:entry", "cuda:kernel_start"), lines=[f"way {way} 2 53"], seconds=2.5)
            assert samples(ok(run))["matched"] == 2 * 53, (api, samples(run.doc))


def test_every_way_to_launch():
    every_way()


def test_every_way_to_launch_on_per_thread_streams():
    every_way("-default-stream", "per-thread")


def test_graphs_with_copies_before_and_after_attach():
    with App() as app:
        for line in ["mixed 1000", "newmixed 1000"]:
            run, _ = app.measure(*pair("cuda:driver_api:cuGraphLaunch:entry", "cuda:kernel_start:name~node_kernel"), lines=[line])
            document = ok(run)
            cuda = document["collection"]["cuda"]
            assert samples(document)["matched"] == 24 * 1000, (line, samples(document), cuda)
            assert cuda["activities_seen"] == 31 * 1000 and cuda["graph_launches_seen"] == 1000, (line, cuda)
            assert cuda["predates_attach"] == (31000 if line == "mixed 1000" else 0), (line, cuda)
        groups = groups_of(app, "memcpy", ["newmixed 211"])
        assert [(group["count"], group["in_graph"]) for group in groups] == [(7 * 211, 7 * 211)], groups
        # Copies on the device, in a graph that was built before, are what they are made of: kernels.
        groups = groups_of(app, "kernel", ["mixed 101"])
        assert sum(group["count"] for group in groups) == 31 * 101, groups


def test_twenty_arms_with_idle_gaps():
    """No record lost, none misplaced: also behind seconds without any work, where the first records of a capture went wrong elsewhere."""
    with App() as app:
        for i in range(20):
            if i == 10:
                time.sleep(8)
            run, _ = app.measure(*pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:kernel_start"), lines=["launch 1 53"],
                                 seconds=App.start_s + 0.6 if i == 0 else 1.0 + 0.05 * (i % 3), start_s=App.start_s if i == 0 else 0.6)
            document = ok(run)
            assert samples(document)["matched"] == 53 and samples(document)["unmatched_start"] == samples(document)["unmatched_end"] == 0, (i, samples(document))
            cuda = document["collection"]["cuda"]
            assert cuda["activities_seen"] == cuda["api_launches_seen"] == 53 and cuda["within_clock_error"] == 0, (i, cuda)
            assert document["measurement"]["latency_ns"]["min"] > 0, document["measurement"]


def test_durations_equal_cuda_events():
    with App() as app:
        run, answers = app.measure(*pair("cuda:kernel_start:name~spin_kernel", "cuda:kernel_end:name~spin_kernel"), lines=["spin 101 2000000"])
        latency = ok(run)["measurement"]["latency_ns"]
        by_events = answers[0] / 101
        assert samples(run.doc)["matched"] == 101
        assert abs(by_events - latency["mean"]) <= max(0.02 * by_events, 1000), (by_events, latency)
        print("mean by events", by_events, "by xprobe", latency["mean"])


def test_graphs():
    with App() as app:
        run, _ = app.measure(*pair("cuda:driver_api:cuGraphLaunch:entry", "cuda:kernel_start:name~node_kernel"), lines=["new 31 53", "old 17"])
        document = ok(run)
        assert samples(document)["matched"] == 31 * 53 + 5 * 17, samples(document)
        assert document["correlation"]["one_to_many"] == 53 + 17
        assert document["collection"]["cuda"]["predates_attach"] == 5 * 17, document["collection"]["cuda"]


def groups_of(app, what, lines):
    run, _ = app.measure(*pair(f"cuda:{what}_start", f"cuda:{what}_end"), "--aggregate", lines=lines)
    return ok(run)["inventory"]["groups"]


def test_aggregates():
    with App() as app:
        groups = groups_of(app, "kernel", ["launch 4 997", "new 3 101"])
        counts = {group["name"]: (group["count"], group["in_graph"]) for group in groups}
        assert sorted(counts.values()) == sorted([(4 * 997, 0), (303, 303)]), counts
        copies = groups_of(app, "memcpy", ["copies 4194304 37"])
        kinds = {(group["memcpy_kind"], group["src_memory"], group["dst_memory"]): group["count"] for group in copies}
        assert kinds == {("HtoD", "pageable", "device"): 37, ("DtoH", "device", "pageable"): 37, ("HtoD", "pinned", "device"): 37, ("DtoH", "device", "pinned"): 37}, kinds
        assert all(group["total_bytes"] == 37 * 4194304 for group in copies)
        sets = groups_of(app, "memset", ["sets 211"])
        assert [group["count"] for group in sets] == [211], sets


def test_twenty_captures_under_load():
    with App() as app:
        app.tell("loop 8 5")
        for i in range(int(os.environ.get("XP_GPU_CAPTURES", "20"))):
            run, _ = app.measure(*pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:kernel_start"), "--max-events", "20000000", seconds=0.1)
            document = ok(run)
            cuda = document["collection"]["cuda"]
            assert cuda["invalid_time_records"] == 0 and document["measurement"]["samples"]["ambiguous"] == 0, cuda
            assert document["collection"]["dropped_events"] == 0
            assert not [issue for issue in document["quality"]["issues"] if issue["code"] == "correlation_unreliable"], document["quality"]
            time.sleep(0.2 * (i % 3))
        assert app.tell("end") > 0


def test_what_it_costs():
    """Launches a second: bare, armed in each way, after. Printed; the bounds are ratios."""
    with App() as app:
        app.tell("rate 2")
        bare = app.tell("rate 2")
        rows = {"bare": bare}
        for name, flags in {
            "api": pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:driver_api:cuLaunchKernel:exit"),
            "kernel": pair("cuda:kernel_start:name~^nothing$", "cuda:kernel_end:name~^nothing$"),
            "aggregate": [*pair("cuda:kernel_start", "cuda:kernel_end"), "--aggregate"],
        }.items():
            big = [] if "--aggregate" in flags else ["--max-events", "20000000"]
            _, answers = app.measure(*flags, *big, lines=["rate 2"], seconds=4.5)
            rows[name] = answers[0]
            rows[name + ", then idle"] = app.tell("rate 2")
        for name, launches in rows.items():
            print(f"{name:20} {launches:9} launches/s  {1e9 / launches:7.0f} ns  {1e9 / launches - 1e9 / bare:+7.0f} ns")
        # CUPTI's own price of kernel activity and one driver callback is 2.0 us on an H200 (1.8 + 0.4, less when warm).
        assert 1e9 / rows["kernel"] - 1e9 / bare < 1.15 * 2140, rows
        assert 1e9 / rows["api"] - 1e9 / bare < 1.15 * 500, rows


def test_a_killed_tool_leaves_an_idle_agent():
    with App() as app:
        app.measure(*pair("cuda:kernel_start", "cuda:kernel_end"), lines=["launch 1 3"], seconds=2.5)
        app.tell("loop 4 50")
        tool = subprocess.Popen([xp.XPROBE, "measure", "--pid", str(app.pid), *pair("cuda:kernel_start", "cuda:kernel_end"),
                                 "--duration-ms", "20000", "--max-events", "20000000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        tool.kill()
        tool.wait()
        time.sleep(3.5)
        run, _ = app.measure(*pair("cuda:kernel_start", "cuda:kernel_end"), "--max-events", "20000000", seconds=0.3)
        assert samples(ok(run))["matched"] > 0
        app.tell("end")


if __name__ == "__main__":
    xp.main()
