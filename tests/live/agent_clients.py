#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside other clients of CUPTI, row by row of what an H200 showed with torch.profiler; and on CUPTI before 13.0 U1.

The program is the fake CUDA's, and so is its profiler (tests/fake/client.c); the agent comes by real injection.
"""
import json
import pathlib
import shutil
import time

import xp
from asked import pair
from fake_cuda import FAKE, KERNELS, LAUNCHES, App, issues, warnings

PROFILED = 53
CALLS = pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:driver_api:cuLaunchKernel:exit")


def profile(app):
    """One profile of that many kernels; -> its records."""
    status = app.tell("profile start")
    app.tell(f"launch 1 {PROFILED} profiled 100")
    time.sleep(0.01)
    return status, app.tell("profile stop")


def matched(result):
    assert result.exit == 0, result
    return result.doc["measurement"]["samples"]["matched"]


def measured(app, *flags, n=101):
    result, _ = app.measure(*(flags or KERNELS), lines=[f"launch 1 {n} k 300"])
    assert matched(result) == n, result
    return result.doc


def busy(app, *flags):
    details = xp.fails("CUPTI_BUSY", "measure", "--pid", app.pid, *(flags or KERNELS), "--duration-ms", "300")
    assert details["holder"] == "CUPTI for fake holder", details


def test_a_profiler_after_us():
    with App() as app:
        measured(app)
        assert profile(app) == profile(app) == (0, PROFILED)


def test_a_profiler_that_ran_before():
    with App() as app:
        assert profile(app) == (0, PROFILED)
        busy(app)
        assert profile(app) == (0, PROFILED)
        busy(app)


def test_the_first_profile_while_we_are_armed():
    """What TORCH_PROFILER_PRESENT warns of: that profiler never gets the GPU again, and we can go on."""
    with App() as app:
        result, answers = app.measure(*KERNELS, lines=["profile start", "launch 1 101 k 300"])
        assert matched(result) == 101 and answers[0] == 39, (result, answers)
        assert profile(app) == (39, 0)
        measured(app)


def test_inside_a_running_profile():
    with App() as app:
        app.tell("profile start")
        app.tell("launch 1 31 k 100")
        busy(app)
        app.tell("launch 1 37 k 100")
        time.sleep(0.01)
        assert app.tell("profile stop") == 31 + 37


def test_records_only_beside_a_dormant_profiler():
    with App() as app:
        assert profile(app) == (0, PROFILED)
        doc = measured(app, *KERNELS, "--records-only")
        assert "records_only" in issues(doc) and doc["collection"]["cuda"]["api_launches_seen"] == 0, doc
        assert profile(app) == profile(app) == (0, PROFILED)
        result, _ = app.measure(*KERNELS, "--records-only", "--aggregate", lines=["launch 1 59 k 300"])
        assert result.exit == 0 and result.doc["inventory"]["groups"][0]["count"] == 59 and "records_only" in issues(result.doc), result


def test_records_only_takes_a_running_profiles_records():
    with App() as app:
        profile(app)
        app.tell("profile start")
        measured(app, *KERNELS, "--records-only")
        assert app.tell("profile stop") == 0
        assert profile(app) == (0, PROFILED)


def test_records_only_where_the_buffers_are_taken_too():
    with App() as app:
        profile(app)
        app.tell("set owned 1")
        xp.fails("CUPTI_BUSY", "measure", "--pid", app.pid, *KERNELS, "--records-only", "--duration-ms", "300")
        app.tell("set owned 0")
        measured(app, *KERNELS, "--records-only")


def test_cupti_that_cannot_keep_up():
    """A flush of seconds in which records are lost: the capture ends, the answer says why, and a capture after it is whole."""
    with App() as app:
        app.tell("set flush_ms 2000")
        result, _ = app.measure(*KERNELS, "--aggregate", lines=["launch 8 40009 k 1"] * 4, seconds=15)
        assert result.code == "EVENTS_DROPPED" and result.details["capture_state"] == "failed" and result.details["dropped_activities"] > 0, result
        app.tell("set flush_ms 0")
        status = json.loads(xp.run("dev", "agent", "--pid", app.pid, "status", text=True, exit=0).out)
        assert (status["state"], status["ended"]) == ("idle", "behind"), status
        assert measured(app)


def test_records_only_sees_no_calls():
    with App() as app:
        doc = xp.ok("validate", "--pid", app.pid, *LAUNCHES, "--records-only")
        assert not doc["valid"] and doc["issues"][0]["code"] == "INVALID_EVENT_SELECTOR", doc["issues"]
        xp.fails("INVALID_EVENT_SELECTOR", "measure", "--pid", app.pid, *LAUNCHES, "--records-only", "--duration-ms", "100")
        assert app.tell("get sessions") == 0


def test_records_only_of_a_spec():
    with App() as app:
        profile(app)
        spec = {"schema_version": "2.0", "name": None, "target": xp.ok("inspect", "--pid", app.pid)["target"], "start_selector": "cuda:kernel_start",
                "end_selector": "cuda:kernel_end", "match_policy": "exact", "samples": 5, "duration_ms": 1500, "timeout_ms": 20000, "max_events": 1000,
                "records_only": True}
        app.tell("loop 1 1000")
        doc = xp.ok("measure", "--spec", xp.spec_file(spec), "--max-cost", "0")
        assert doc["measurement"]["samples"]["matched"] == 5 and "records_only" in issues(doc), doc
        app.tell("end")


def test_a_torch_process_is_warned_about_before():
    library = f"{xp.scratch()}/libtorch_cpu.so"
    shutil.copy(FAKE / "13" / "libcudart.so.13", library)
    with App(library=library) as app:
        doc = xp.ok("validate", "--pid", app.pid, *KERNELS)
        assert doc["valid"] and "TORCH_PROFILER_PRESENT" in warnings(doc), doc["warnings"]
        result, _ = app.measure(*KERNELS, lines=["launch 1 3 k 10"])
        assert "TORCH_PROFILER_PRESENT" in warnings(result.doc), result.doc["warnings"]
        assert b"torch.profiler" in result.err, result.err


def test_an_older_cupti_is_measured_behind_its_gate():
    with App(12) as app:
        doc = xp.ok("validate", "--pid", app.pid, *KERNELS)
        assert doc["valid"] and "STOP_HOLDS_LAUNCHES" in warnings(doc), doc
        assert "STOP_HOLDS_LAUNCHES" not in warnings(xp.ok("validate", "--pid", app.pid, *CALLS))
        app.tell("set disable_ms 130")
        result, _ = app.measure(*LAUNCHES, lines=["launch 4 101 k 300", "old 3"])
        assert matched(result) == 404, result
        told = warnings(result.doc)
        assert told["STOP_HOLDS_LAUNCHES"]["cupti_version"] == 26 and told["STOP_HOLDS_LAUNCHES"]["ms"] >= 130, told
        assert result.doc["cost"]["stall_ms"] >= told["STOP_HOLDS_LAUNCHES"]["ms"] and "long_stall" in issues(result.doc), result.doc["cost"]
        assert told["RESIDUAL_COST"]["ns"] == result.doc["cost"]["residual_ns_per_launch"] > 0
        assert "CUPTI_CAVEAT" not in told
        result, _ = app.measure(*KERNELS, lines=["old 3"])
        assert matched(result) == 15 and warnings(result.doc)["CUPTI_CAVEAT"]["version"] == 26, result
        assert "cupti_caveat" in issues(result.doc) and app.tell("get kernel_on") == 0
        xp.fails("UNSUPPORTED_CUDA_VERSION", "measure", "--pid", app.pid, *KERNELS, "--records-only", "--duration-ms", "100")


def test_kinds_that_stay_on_are_told():
    with App(12) as app:
        result, _ = app.measure(*KERNELS, lines=["launch 1 101 k 300", "context 1"])
        assert matched(result) == 101 and "kinds_left_on" in issues(result.doc), result
        told = warnings(result.doc)
        assert told["RESIDUAL_COST"]["ns"] == result.doc["cost"]["residual_ns_per_launch"] > 2000 and "STOP_HOLDS_LAUNCHES" not in told, told
        assert app.tell("get kernel_on") == 1
        result, _ = app.measure(*KERNELS, "--aggregate", lines=["launch 1 59 k 300"])
        assert result.exit == 0 and result.doc["inventory"]["groups"][0]["count"] == 59 and "kinds_left_on" in issues(result.doc), result


def check_calls_only(major, version, wheel, place):
    """By the wheel's name before anything is brought, by its own word where the name does not tell."""
    folder = pathlib.Path(xp.scratch()) / wheel
    library = folder / place / f"libcupti.so.{major}"
    library.parent.mkdir(parents=True)
    (folder / f"{wheel}.dist-info").mkdir()
    shutil.copy(FAKE / str(major) / library.name, library)
    with App(major, version=version, cupti=library) as app:
        doc = xp.ok("validate", "--pid", app.pid, *KERNELS)
        assert not doc["valid"] and doc["issues"][0]["code"] == "UNSUPPORTED_CUDA_VERSION", doc
        result = xp.run("measure", "--pid", app.pid, *KERNELS, "--duration-ms", "100", code="UNSUPPORTED_CUDA_VERSION")
        assert b"activating" not in result.err and "13.0.85" in result.error["hints"][0], result
        triage = xp.ok("measure", "--pid", app.pid, "--triage", "--duration-ms", "200")
        reasons = {entry["name"]: entry["reason"] for entry in triage["sources"]}
        assert reasons["cuda_kernels"] == reasons["cuda_copies"] == "unsupported", reasons
        assert not [warning for warning in triage["warnings"] if warning["code"] == "CUPTI_AGENT_INJECTED"], triage["warnings"]
        result, _ = app.measure(*CALLS, lines=["driver 53"])
        assert matched(result) == 53
    with App(major, version=version) as app:
        assert xp.ok("validate", "--pid", app.pid, *KERNELS)["valid"]
        xp.fails("UNSUPPORTED_CUDA_VERSION", "measure", "--pid", app.pid, *KERNELS, "--duration-ms", "100")
        assert app.tell("get sessions") == 0


def test_13_0_without_its_update_gives_calls_only():
    check_calls_only(13, 130000, "nvidia_cuda_cupti-13.0.48", "nvidia/cu13/lib")


def test_12_9_gives_calls_only():
    check_calls_only(12, 28, "nvidia_cuda_cupti_cu12-12.9.79", "nvidia/cuda_cupti/lib")


def test_graph_launches_of_the_oldest_versions_are_refused():
    with App(12, version=19) as app:
        graph = pair("cuda:driver_api:cuGraphLaunch:entry", "cuda:kernel_start")
        xp.fails("UNSUPPORTED_CUDA_VERSION", "measure", "--pid", app.pid, *graph, "--duration-ms", "100")
        assert "CUPTI_CAVEAT" in warnings(measured(app))


if __name__ == "__main__":
    xp.main()
