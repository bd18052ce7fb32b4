# SPDX-License-Identifier: Apache-2.0
"""`measure --syscall-aggregate` from the command line: exact counts, bounds, filters, ends of the window, specs."""
import os
import pathlib
import signal
import sys
import time

import xp

BOUNDS = ("--max-cost", 0, "--json")


def links(pid):
    """BPF links that this xprobe holds now."""
    found = 0
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            found += "bpf_link" in os.readlink(fd) or "bpf-link" in os.readlink(fd)
        except OSError:
            pass
    return found


def begin(pid, *args, window=2500):
    """A run whose window is open: its links stay, those of the floor measurement went before."""
    run = xp.start("measure", "--pid", pid, "--syscall-aggregate", "--duration-ms", window, *BOUNDS, *args)
    steady, give_up = 0, time.monotonic() + 20
    while steady < 8:
        assert run.poll() is None and time.monotonic() < give_up, xp.finish(run)
        steady = steady + 1 if links(run.pid) >= 3 else 0
        time.sleep(0.03)
    return run


def group(doc, name):
    found = [entry for entry in doc["inventory"]["groups"] if entry["syscall_name"] == name]
    return found[0] if found else None


def check_books(doc):
    c = doc["collection"]
    assert c["observed_entries"] == c["matched_exits"] + c["inflight_at_end"] - c["open_at_start_still_open"] + c["no_return_calls"] + \
        c["dropped_aggregates"], c
    if c["groups"] == c["groups_listed"]:
        assert sum(entry["count"] for entry in doc["inventory"]["groups"]) == c["matched_exits"], doc


def run_calls(mode, n, *args, **options):
    with xp.Target("calls", mode, n) as target:
        run = begin(target.pid, *args, **options)
        target.tell("go")
        assert target.read_line() == "done"
        result = xp.finish(run)
    assert result.exit == 0, result
    check_books(result.doc)
    return result.doc


def test_exact_counts():
    doc = run_calls("getppid", 1009, "--name", "primes")
    calls = group(doc, "getppid")
    assert calls["count"] == 1009 and calls["threads"] == 1 and calls["errors"] == 0, calls
    assert sum(n for _, n in calls["histogram_log2_ns"]) == 1009, calls
    assert calls["entry_selector_hint"] == "syscall:getppid:entry", calls
    assert doc["inventory"]["name"] == "primes" and doc["status"] == "completed", doc
    assert doc["collection"]["completeness"] == "complete" and doc["warnings"] == [], doc
    assert [entry["syscall_name"] for entry in doc["open_at_end"]] == ["read"], doc["open_at_end"]
    assert doc["cost"]["probe_floor_ns"] > 0 and doc["cost"]["probe_events"] >= 2 * 1009, doc["cost"]


def test_restarts_are_one_call():
    """Stopped and signalled naps keep their own name; restart_syscall and rt_sigreturn have no time of their own."""
    doc = run_calls("restart", 3, window=3500)
    naps = group(doc, "nanosleep")
    assert naps["count"] == 6 and naps["errors"] == 0 and naps["interrupted"] >= 6, naps
    assert group(doc, "restart_syscall") is None, doc


def test_threads_of_the_window():
    doc = run_calls("threads", 1)
    assert doc["collection"]["no_return_calls"] == 7, doc["collection"]
    assert doc["collection"]["unmatched_exits"] == 0, doc["collection"]


def test_calls_made_for_probes():
    """Return probes enter the kernel by a call of their own: counted apart, in no group. Older kernels trap instead."""
    with xp.Target("calls", "plain", 211) as target:
        site = f"uprobe:{xp.TARGETS}/calls:work"
        probe = xp.start("measure", "--pid", target.pid, "--from", f"{site}:entry", "--to", f"{site}:return", "--match", "stack-nested",
                         "--duration-ms", 6000, "--max-cost", 0, "--json")
        run = begin(target.pid)
        target.tell("go")
        assert target.read_line() == "done"
        doc = xp.finish(run).doc
        probe.send_signal(signal.SIGINT)
        measured = xp.finish(probe).doc
    check_books(doc)
    assert measured["measurement"]["samples"]["matched"] == 211, measured
    assert doc["collection"]["own_probe_calls"] in (0, 211), doc["collection"]
    assert all(entry["syscall_number"] not in (335, 336) for entry in doc["inventory"]["groups"]), doc["inventory"]
    if not doc["collection"]["own_probe_calls"]:
        raise xp.Skip("this kernel makes no calls for probes")


def test_groups_that_find_no_room():
    """A full table is no failure: exit 0, incomplete, warned and accounted."""
    doc = run_calls("threads", 1, "--max-groups", 1)
    assert doc["collection"]["completeness"] == "incomplete" and doc["collection"]["groups"] == 1, doc["collection"]
    assert doc["collection"]["dropped_aggregates"] > 0, doc["collection"]
    assert {"SYSCALL_AGGREGATES_DROPPED", "SYSCALL_LIFECYCLES_UNMATCHED"} == {warning["code"] for warning in doc["warnings"]}, doc["warnings"]
    assert doc["quality"]["verdict"] == "caution", doc["quality"]


def test_thread_filter():
    with xp.Target("calls", "idle", 1) as target:
        details = xp.fails("INVALID_EVENT_SELECTOR", "measure", "--pid", target.pid, "--syscall-aggregate", "--duration-ms", 100, "--threads",
                           "name~^nobody", *BOUNDS)
        assert details["candidates"] == ["calls"], details
        doc = xp.ok("measure", "--pid", target.pid, "--syscall-aggregate", "--duration-ms", 100, "--threads", "name~^cal", *BOUNDS)
        assert [issue["code"] for issue in doc["quality"]["issues"]] == ["threads_filtered"], doc["quality"]


def test_idle_target():
    """Nothing happens: no group, the open call is listed with the window as its age, and no file is left."""
    with xp.sleeper() as target:
        time.sleep(0.3)
        doc = xp.ok("measure", "--pid", target.pid, "--syscall-aggregate", "--duration-ms", 300, *BOUNDS)
    check_books(doc)
    assert doc["inventory"]["groups"] == [] and doc["evidence"]["artifact"] is None, doc
    assert len(doc["open_at_end"]) == 1 and doc["open_at_end"][0]["started_before_window"], doc
    assert doc["open_at_end"][0]["age_ns"] == doc["collection"]["window_ns"], doc
    assert doc["collection"]["open_at_start"] == doc["collection"]["open_at_start_still_open"] == 1, doc


def test_signal_gives_the_shorter_window():
    with xp.Target("calls", "getppid", 17) as target:
        run = begin(target.pid, window=25000)
        target.tell("go")
        assert target.read_line() == "done"
        run.send_signal(signal.SIGINT)
        result = xp.finish(run)
    assert result.exit == 0 and result.doc["status"] == "cancelled", result
    assert group(result.doc, "getppid")["count"] == 17, result
    assert result.doc["collection"]["window_ns"] < 25_000_000_000, result
    assert "cancelled" in [issue["code"] for issue in result.doc["quality"]["issues"]], result


def test_target_that_ends():
    """What was counted until then is in the error."""
    with xp.Target("calls", "getppid", 19) as target:
        run = begin(target.pid, window=25000)
        target.tell("go")
        assert target.read_line() == "done"
        target.process.stdin.close()
        assert target.wait() == 0
        result = xp.finish(run)
    assert result.code == "TARGET_EXITED", result
    partial = result.details["partial"]
    assert partial["status"] == "failed", partial
    check_books(partial)
    assert group(partial, "getppid")["count"] == 19, partial
    assert partial["collection"]["no_return_calls"] == 1, partial["collection"]


def test_specs():
    with xp.sleeper() as target:
        spec = {"schema_version": "2.0", "name": "by_spec", "target": target.identity(), "duration_ms": 200, "timeout_ms": 20000,
                "max_groups": 16, "max_inflight": 16}
        doc = xp.ok("measure", "--spec", xp.spec_file(spec), "--json")
        assert doc["inventory"]["name"] == "by_spec" and doc["collection"]["group_capacity"] == 16, doc
        validation = xp.ok("validate", "--spec", xp.spec_file(spec), "--json")
        assert validation["valid"] is True and validation["ebpf"]["status"] == "available", validation
        full = xp.ok("measure", "--spec", xp.spec_file(spec), "--evidence", "full", "--json")
        assert full["evidence"]["mode"] == "full", "a flag on the command line was forgotten"
        reused = {**spec, "target": {**spec["target"], "process_start_time": spec["target"]["process_start_time"] + 1}}
        xp.fails("TARGET_REUSED", "measure", "--spec", xp.spec_file(reused), "--json")
        xp.fails("INVALID_EVENT_SELECTOR", "measure", "--spec", xp.spec_file({**spec, "extra": 1}), "--json")
        xp.fails("INVALID_EVENT_SELECTOR", "measure", "--spec", xp.spec_file({**spec, "threads": "worker"}), "--json")
        xp.fails("SESSION_LIMIT_EXCEEDED", "measure", "--spec", xp.spec_file({**spec, "max_groups": 0}), "--json")
        xp.fails("SESSION_LIMIT_EXCEEDED", "measure", "--spec", xp.spec_file({**spec, "max_inflight": 65537}), "--json")
        xp.fails("SESSION_LIMIT_EXCEEDED", "measure", "--spec", xp.spec_file({**spec, "duration_ms": 20001}), "--json")


if __name__ == "__main__":
    try:
        xp.need_bpf()
    except xp.Skip as reason:
        print(f"SKIP {reason}")
        sys.exit(xp.SKIPPED)
    xp.main()
