#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges measured by `measure`, single and in a graph beside host probes, and what `validate` says where they cannot be.

No GPU and no CUDA: the copies of the header are hooked by themselves. Needs root and NVTX headers at build time; else skipped.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked

NVTX = xp.TARGETS / "nvtx"
STEP = ("cuda:nvtx_range_start:name~^step$", "cuda:nvtx_range_end:name~^step$")


class App(Asked):
    window_s = 2.0

    def __init__(self, **preset):
        if not (NVTX / "app").exists():
            raise xp.Skip("built without NVTX headers (make setup fetches them)")
        super().__init__([NVTX / "app"], environment=preset, end_s=30)


def ok(run):
    assert run.exit == 0, run
    return run.doc


def issues(document):
    return [issue["code"] for issue in document["quality"]["issues"]]


def test_ranges_hooked_late():
    with App() as app:
        app.tell("push app 3 step")
        before = app.tell("hash app")
        for lines, matched in ((["push app 1009 step", "push app 5 other", "threads 4 211 step"], 1009 + 844), (["push app 31 step"], 31)):
            document = ok(app.between(*STEP, lines=lines)[0])
            samples = document["measurement"]["samples"]
            assert samples["matched"] == matched and samples["unmatched_start"] == samples["unmatched_end"] == 0, samples
            assert document["correlation"]["method"] == "exact_nvtx_range_id"
            assert document["collection"]["sources"][0]["source"] == "cupti_callback"
            assert document["collection"]["sources"][0]["delivered"] == 2 * matched
            assert "nvtx_partial" not in issues(document)
            assert app.tell("hash app") == before, "a slot is not as it was"


def test_latencies_are_the_programs_own():
    with App() as app:
        app.tell("push app 3 step")
        run, answers = app.between(*STEP, lines=["timed 211 step"])
        document = ok(run)
        assert document["measurement"]["samples"]["matched"] == 211
        median = document["measurement"]["latency_ns"]["p50"]
        print("medians, ns: by xprobe", median, "by the program", answers[0])
        assert answers[0] <= median <= 1.5 * answers[0], (median, answers[0])


def test_process_ranges():
    with App() as app:
        app.tell("push app 1 p")
        document = ok(app.between("cuda:nvtx_range_start:name~^p$", "cuda:nvtx_range_end:name~^p$", "--evidence", "full", lines=["process 997 p"])[0])
        assert document["measurement"]["samples"]["matched"] == 997
        nvtx = document["evidence"]["pairs"][0]["end"]["nvtx"]
        assert nvtx["range_kind"] == "process" and nvtx["start_tid"] == app.pid, nvtx


def test_samples_end_the_capture():
    with App() as app:
        app.tell("push app 1 step")
        app.tell("loop 1 step 200")
        run, _ = app.between(*STEP, "--samples", "101", seconds=20)
        assert ok(run)["measurement"]["samples"]["matched"] >= 101
        assert run.doc["status"] == "completed"
        app.tell("end")


def test_domains_and_unknown_strings():
    with App() as app:
        app.tell("domain early")
        app.tell("register 0 a_string")
        folder = tempfile.mkdtemp()
        events = os.path.join(folder, "events.jsonl")
        document = ok(app.between("cuda:nvtx_range_start:name~^a_", "cuda:nvtx_range_end:name~^a_", "--events-out", events,
                                  lines=["by 0 5", "domain late", "register 1 a_late", "by 1 13"])[0])
        assert document["measurement"]["samples"]["matched"] == 13
        assert "nvtx_partial" in issues(document), issues(document)
        lines = [json.loads(line) for line in open(events, encoding="utf-8")]
        assert len(lines) == 26 and all(line["attributes"]["nvtx_domain"] == "late" for line in lines), lines[0]
        shutil.rmtree(folder)


def test_started_with_the_agent():
    agent = xp.BUILD / "libxprobe-agent.so"
    with App(NVTX_INJECTION64_PATH=str(agent)) as app:
        app.tell("domain early")
        app.tell("register 0 a_string")
        document = ok(app.between("cuda:nvtx_range_start:name~^a_string$", "cuda:nvtx_range_end:name~^a_string$", lines=["by 0 101"])[0])
        assert document["measurement"]["samples"]["matched"] == 101
        assert issues(document) == [], issues(document)
        assert document["warnings"] == [], "nothing had to be injected"


def graph_of(app):
    names = {"in": STEP[0], "out": STEP[1], "call": f"uprobe:{NVTX}/app:traced:entry", "back": f"uprobe:{NVTX}/app:traced:return"}
    edges = [("range", "in", "out", "exact"), ("to_call", "in", "call", "first_after"), ("call", "call", "back", "stack_nested")]
    return {"schema_version": "3.0", "name": "mixed", "target": {"pid": app.pid, "process_start_time": xp.start_time(app.pid)}, "endpoints": names,
            "edges": [dict(zip(("name", "start", "end", "match_policy"), edge)) for edge in edges],
            "samples": None, "duration_ms": 2000, "timeout_ms": 30000, "max_events": 20000, "max_cost": 0}


def test_a_graph_with_host_probes():
    xp.need_bpf()
    with App() as app:
        app.tell("call 3 step")
        spec = xp.spec_file(graph_of(app))
        checked = xp.ok("validate", "--spec", spec)
        assert checked["valid"], checked
        document = ok(app.during(lambda: xp.run("measure", "--spec", spec), ["call 101 step"])[0])
        for edge in document["edges"]:
            assert edge["samples"]["matched"] == 101, edge
            assert edge["samples"]["unmatched_start"] == edge["samples"]["unmatched_end"] == 0, edge
        means = {edge["name"]: edge["latency_ns"]["p50"] for edge in document["edges"]}
        assert means["range"] > means["call"], means


def check(pid, start, end):
    return xp.run("validate", "--pid", str(pid), "--from", start, "--to", end, "--match", "exact")


def test_validate():
    with App() as app:
        document = ok(check(app.pid, *STEP))
        assert document["valid"] and document["requirements"]["needs_nvtx"] and not document["requirements"]["needs_cupti"], document
        assert document["requirements"]["agent_activation"] == "injection_required" and document["requirements"]["target_mutation"]
        ok(app.between(*STEP, lines=["push app 3 step"])[0])
        assert ok(check(app.pid, *STEP))["requirements"]["agent_activation"] == "already_loaded"
        app.tell("take app")
    with App() as app:
        app.tell("take app")
        document = check(app.pid, *STEP).doc
        assert not document["valid"] and document["issues"][0]["code"] == "CUPTI_AGENT_NOT_LOADED", document
        assert document["requirements"]["agent_activation"] == "startup_required" and not document["requirements"]["target_mutation"]
        run, _ = app.between(*STEP)
        assert run.doc["error"]["code"] == "CUPTI_AGENT_NOT_LOADED", run
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        document = check(sleeper.pid, *STEP).doc
        assert document["issues"][0]["code"] == "CUPTI_AGENT_NOT_LOADED", document
    finally:
        sleeper.kill()
        sleeper.wait()


if __name__ == "__main__":
    xp.main()
