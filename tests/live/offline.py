# SPDX-License-Identifier: Apache-2.0
"""The same capture gives the same numbers live and offline (contract 6.4), for every way of pairing; `dev uprobe` captures read back."""
import json
import pathlib
import time

import xp

PROGRAM = str(xp.TARGETS / "calls")
SAME = ("samples", "latency_ns", "match_policy", "start_selector", "end_selector")
NANOSLEEP = ("syscall:nanosleep:entry", "syscall:nanosleep:exit", "exact")


def function(name):
    return f"uprobe:{PROGRAM}:{name}:entry", f"uprobe:{PROGRAM}:{name}:return", "stack-nested"


# Mode of the target, its count, the pair, bounds, and how many pairs there must be.
CASES = [
    ("plain", 997, function("work"), [], 997),
    ("plain", 997, function("work"), ["--samples", 101], 101),
    ("recurse", 13, function("recurse"), [], 13 * 64),  # deeper returns are not reported by the kernel
    ("two", 211, function("work"), [], 422),
    ("longjmp", 103, function("leaves"), [], None),
    ("shapes", 107, function("two_exits"), [], 107),
    ("getppid", 509, ("syscall:getppid:entry", "syscall:getppid:exit", "exact"), [], 509),
    ("getppid", 509, ("syscall:getppid:exit", "syscall:getppid:entry", "first-after"), [], 508),
    ("getppid", 509, ("syscall:getppid:entry", "syscall:getppid:entry", "nearest"), [], None),
    ("restart", 3, NANOSLEEP, [], 6),
    ("rename", 11, ("tracepoint:task:task_rename", "tracepoint:task:task_rename", "first-after"), [], 10),
]


def window(mode, count, selectors, bounds, *more):
    """One live result of `calls MODE COUNT` that runs inside the window."""
    start, end, policy = selectors
    with xp.Target("calls", mode, count) as target:
        process = xp.start("measure", "--pid", target.pid, "--from", start, "--to", end, "--match", policy, "--duration-ms", 1600,
                           "--max-cost", 0, "--evidence", "full", *bounds, *more)
        time.sleep(0.6)
        target.tell("")
        return xp.finish(process).doc


def again(path, selectors, bounds, *more):
    start, end, policy = selectors
    return xp.run("measure", "--input", path, "--from", start, "--to", end, "--match", policy, "--duration-ms", 600000, "--evidence", "full",
                  *bounds, *more).doc


def test_live_and_offline_agree():
    xp.need_bpf()
    for mode, count, selectors, bounds, pairs in CASES:
        live = window(mode, count, selectors, bounds)
        assert live["ok"], (mode, live)
        off = again(xp.artifact_of(live), selectors, bounds)
        assert off["ok"], (mode, off)
        if pairs is not None:
            assert live["measurement"]["samples"]["matched"] == pairs, (mode, selectors, live["measurement"])
        for key in SAME:
            assert live["measurement"][key] == off["measurement"][key], (mode, key, live["measurement"], off["measurement"])
        assert live["correlation"] == off["correlation"] and live["clock"] == off["clock"], (mode, live["correlation"], off["correlation"])
        assert live["evidence"]["pairs"] == off["evidence"]["pairs"], mode
        assert live["evidence"]["exemplars"] == off["evidence"]["exemplars"], mode
        for key in ("host_events", "cuda_events", "dropped_events"):
            assert live["collection"][key] == off["collection"][key], (mode, key)
        assert [one["source"] for one in off["collection"]["sources"]] == [one["source"] for one in live["collection"]["sources"]], mode
        assert off["cost"] is None and off["evidence"]["artifact"] is None
        assert {"pid": off["target"]["pid"], "process_start_time": off["target"]["process_start_time"]}.items() <= live["target"].items()


def test_an_exported_copy_gives_the_same():
    xp.need_bpf()
    selectors = function("work")
    live = window("plain", 499, selectors, [])
    copy = pathlib.Path(xp.scratch()) / "copy.jsonl"
    xp.ok("export", "--input", xp.artifact_of(live), "--format", "jsonl", "--output", copy)
    second = again(copy, selectors, [], "--events-out", pathlib.Path(xp.scratch()) / "third.jsonl")
    assert second["measurement"]["latency_ns"] == live["measurement"]["latency_ns"]
    assert second["evidence"]["artifact"]["event_count"] == 998
    third = again(second["evidence"]["artifact"]["path"], selectors, [])
    assert third["evidence"]["pairs"] == live["evidence"]["pairs"]


def dev_uprobe(target, *more):
    return xp.start("dev", "uprobe", "--pid", target.pid, "--binary", PROGRAM, "--symbol", "work", *more)


def test_dev_uprobe_captures_read_back():
    xp.need_bpf()
    with xp.Target("calls", "plain", 101) as target:
        process = dev_uprobe(target, "--samples", 101, "--probe-id", 7, "--timeout-ms", 20000)
        time.sleep(1.0)
        target.tell("")
        doc = xp.finish(process).doc
    assert doc["ok"] and (doc["captured"], doc["dropped"], doc["probe_id"], doc["timed_out"]) == (101, 0, 7, False), doc
    assert len(doc["events"]) == 101 and {one["event_type"] for one in doc["events"]} == {"host_function_entry"}
    path = pathlib.Path(xp.scratch()) / "host.json"
    path.write_text(json.dumps(doc, indent=2), "utf-8")
    entry = function("work")[0]
    off = again(path, (entry, entry, "first-after"), [])
    assert off["measurement"]["samples"] == {"matched": 100, "unmatched_start": 1, "unmatched_end": 1, "ambiguous": 0, "dropped": 0}, off
    assert "source_loss_unknown" not in [issue["code"] for issue in off["quality"]["issues"]]


def test_dev_uprobe_bounds():
    xp.need_bpf()
    with xp.Target("calls", "plain", 53) as target:
        process = dev_uprobe(target, "--return", "--samples", 59, "--timeout-ms", 2500)
        time.sleep(1.0)
        target.tell("")
        doc = xp.finish(process).doc
        assert doc["ok"] and doc["timed_out"] and doc["captured"] == 53, doc
        assert {one["event_type"] for one in doc["events"]} == {"host_function_exit"}
        xp.run("dev", "uprobe", "--pid", target.pid, "--binary", PROGRAM, "--symbol", "work", "--json", "--jsonl", exit=2)
        xp.run("dev", "uprobe", "--pid", target.pid, "--binary", PROGRAM, "--symbol", "no_such", code="SYMBOL_NOT_FOUND", exit=1)
    with xp.Target("calls", "forever", 1) as target:
        process = dev_uprobe(target, "--samples", 13, "--jsonl")
        time.sleep(0.8)
        target.tell("")
        result = xp.finish(process, text=True)
        assert result.exit == 0 and len(result.out.splitlines()) == 13, result
        for line in result.out.splitlines():
            xp.check_schema(xp.parse(line), "event")
        assert target.alive()


if __name__ == "__main__":
    xp.main()
