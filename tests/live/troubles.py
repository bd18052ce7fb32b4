# SPDX-License-Identifier: Apache-2.0
"""Contract 6.10 row by row, as far as it needs a live target: what goes wrong around a capture, and how each mode ends."""
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import xp

CALLER = xp.BUILD / "bench/bench_caller"
CALLS = str(xp.TARGETS / "calls")
PAIR = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:exit", "--match", "exact"]
FREE = ["--max-cost", 0]
COUNT = 997


def work(boundary):
    return f"uprobe:{CALLS}:work:{boundary}"


def modes(pid, ms):
    yield "exact", ["measure", "--pid", pid, *PAIR, "--duration-ms", ms, *FREE]
    yield "syscalls", ["measure", "--pid", pid, "--syscall-aggregate", "--duration-ms", ms, *FREE]
    yield "triage", ["measure", "--pid", pid, "--triage", "--duration-ms", ms, *FREE]


def codes(entries):
    return [entry["code"] for entry in entries]


def ready_for_signals(process):
    """Until main() asked for them: what comes before is the kernel's business."""
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        caught = next((line for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines() if line.startswith("SigCgt")), "SigCgt: 0")
        if int(caught.split()[1], 16) & 1 << signal.SIGHUP - 1 or process.poll() is not None:
            return
    raise AssertionError("xprobe never asked for signals")


def test_a_signal_ends_doctor_and_validate_at_once():
    with xp.sleeper() as target:
        for args in (["doctor"], ["validate", "--pid", target.pid, *PAIR], ["validate", "--pid", target.pid, "--triage"]):
            cancelled = 0
            for i in range(12):
                process = xp.start(*args)
                ready_for_signals(process)
                time.sleep(0.0005 * i)
                process.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[i % 3])
                result = xp.finish(process, 10)
                assert result.code in (None, "CANCELLED"), result
                cancelled += result.code == "CANCELLED"
            print(f"  {args[0]}: {cancelled} of 12 cancelled")


def test_people_are_told_that_a_signal_ended_it():
    process = xp.start("doctor", "--human")
    ready_for_signals(process)
    process.send_signal(signal.SIGTERM)
    result = xp.finish(process, 10, text=True)
    assert result.exit == 0 or (result.exit == 1 and not result.out and b"CANCELLED" in result.err), result


def test_a_signal_before_the_window_is_cancelled_or_a_short_window():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for name, args in modes(target.pid, 20_000):
            for _ in range(5):
                process = xp.start(*args)
                time.sleep(random.uniform(0.02, 0.15))
                process.send_signal(signal.SIGTERM)
                result = xp.finish(process, 10)
                if result.error:
                    assert result.code == "CANCELLED" and result.exit == 1, (name, result)
                else:
                    assert result.doc["status"] == "cancelled", (name, result)
            assert target.alive()


def test_an_artifact_that_cannot_be_written_at_the_end():
    """The folder goes, or a directory takes the place, while the window is open: an error that keeps the statistics."""
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for name, args in modes(target.pid, 20_000):
            folder = tempfile.mkdtemp(dir=xp.scratch())
            process = xp.start(*args, env={"TMPDIR": folder})
            xp.wait_armed(process)
            os.rmdir(folder)
            process.send_signal(signal.SIGINT)
            result = xp.finish(process, 15)
            assert result.code == "TRACE_EXPORT_FAILED" and result.exit == 1, (name, result)
            assert result.details["partial"]["status"] == "failed" and "artifact_path" not in result.details, (name, result)
        folder = tempfile.mkdtemp(dir=xp.scratch())
        process = xp.start("measure", "--pid", target.pid, *PAIR, "--duration-ms", 20_000, *FREE, "--events-out", f"{folder}/events.jsonl")
        xp.wait_armed(process)
        os.mkdir(f"{folder}/events.jsonl")
        process.send_signal(signal.SIGINT)
        result = xp.finish(process, 15)
        assert result.code == "TRACE_EXPORT_FAILED" and result.details["partial"]["measurement"]["samples"]["matched"] > 0, result
        assert os.listdir(folder) == ["events.jsonl"] and os.listdir(f"{folder}/events.jsonl") == [], os.listdir(folder)
        # Another failure came first and is told beside it.
        folder = tempfile.mkdtemp(dir=xp.scratch())
        process = xp.start("measure", "--pid", target.pid, *PAIR[:2], "--to", "syscall:sched_setscheduler:exit", "--match", "first-after",
                           "--duration-ms", 1500, *FREE, env={"TMPDIR": folder})
        xp.wait_armed(process)
        os.rmdir(folder)
        result = xp.finish(process, 15)
        assert result.code == "TRACE_EXPORT_FAILED" and result.details["original_error_code"] == "NO_MATCHED_SAMPLES", result


def test_a_stopped_target_is_measured_as_it_stands():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        os.kill(target.pid, signal.SIGSTOP)
        while xp.state_of(target.pid) != "T":
            time.sleep(0.01)
        for name, args in modes(target.pid, 400):
            result = xp.run(*args)
            assert result.code == ("NO_MATCHED_SAMPLES" if name == "exact" else None), (name, result)
            if name == "syscalls":
                assert result.doc["inventory"]["groups"] == [] and result.doc["collection"]["completeness"] == "complete", result
            if name == "triage":
                assert "fully_blocked" in codes(result.doc["findings"]), codes(result.doc["findings"])
            assert xp.state_of(target.pid) == "T", f"{name} let it go on"
        doc = xp.ok("validate", "--pid", target.pid, *PAIR)
        assert doc["valid"], doc["issues"]


def test_two_sessions_on_one_target_count_the_same():
    xp.need_bpf()
    with xp.Target("calls", "plain", COUNT) as target:
        args = ["measure", "--pid", target.pid, "--from", work("entry"), "--to", work("return"), "--match", "stack-nested", "--duration-ms", 30_000, *FREE]
        runs = [xp.start(*args), xp.start(*args), xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", 20_000, *FREE)]
        for run in runs:
            xp.wait_armed(run)
        target.tell("")
        assert target.read_line() == "done"
        for run in runs:
            run.send_signal(signal.SIGINT)
        results = [xp.finish(run) for run in runs]
        for result in results[:2]:
            assert result.doc["measurement"]["samples"]["matched"] == COUNT, result
        assert results[2].exit == 0, results[2]
        target.tell("")


def test_the_timeout_ends_what_the_samples_did_not():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        doc = xp.ok("measure", "--pid", target.pid, *PAIR, "--samples", 10_000_000, "--max-events", 50_000_000, "--timeout-ms", 1500, *FREE)
        assert doc["status"] == "timed_out" and doc["quality"]["verdict"] == "caution" and "timed_out" in codes(doc["quality"]["issues"]), doc["quality"]
        details = xp.fails("NO_MATCHED_SAMPLES", "measure", "--pid", target.pid, "--from", "syscall:sched_setscheduler:entry", "--to",
                           "syscall:sched_setscheduler:exit", "--match", "exact", "--samples", 7, "--timeout-ms", 700, *FREE)
        assert details["timed_out"] is True and details["host_events"] == 0, details


def test_too_many_unpaired_events_are_an_error_only_when_asked():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        pair = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:entry", "--match", "nearest", "--duration-ms", 400, *FREE]
        with_ends = ["--from", f"uprobe:{CALLER}:tick:entry", "--to", "syscall:clock_nanosleep:entry", "--match", "stack-nested"]
        xp.run("measure", "--pid", target.pid, *with_ends, "--duration-ms", 200, code="INVALID_CORRELATION_POLICY", exit=1)
        doc = xp.ok("measure", "--pid", target.pid, *pair, "--max-unmatched", "1")
        assert doc["measurement"]["samples"]["matched"] > 0
    with xp.Target("calls", "longjmp", 3001) as target:
        run = xp.start("measure", "--pid", target.pid, "--from", f"uprobe:{CALLS}:leaves:entry", "--to", f"uprobe:{CALLS}:leaves:return", "--match",
                       "stack-nested", "--duration-ms", 3000, "--max-unmatched", "0.1", *FREE)
        xp.wait_armed(run)
        target.tell("")
        result = xp.finish(run)
        assert result.code == "HIGH_UNMATCHED_RATE", result
        samples = result.details["partial"]["measurement"]["samples"]
        assert (samples["matched"], samples["unmatched_start"], samples["unmatched_end"]) == (2000, 1001, 0), samples
        target.tell("")


def test_exec_and_children_are_told():
    xp.need_bpf()
    entry = work("entry")
    for mode, warning, issue in (("exec", "TARGET_EXEC", "target_exec"), ("fork", "TARGET_FORKED", "target_forked")):
        with xp.Target("calls", mode, COUNT) as target:
            run = xp.start("measure", "--pid", target.pid, "--from", entry, "--to", entry, "--match", "first-after", "--duration-ms", 2500, *FREE)
            xp.wait_armed(run)
            target.tell("")
            assert target.read_line() == "done"
            result = xp.finish(run)
            doc = result.doc
            assert doc["ok"] and doc["collection"]["host_events"] == COUNT, result
            assert warning in codes(doc["warnings"]), doc["warnings"]
            found, = [one for one in doc["quality"]["issues"] if one["code"] == issue]
            assert found["severity"] == ("caution" if mode == "exec" else "info"), found
            if mode == "fork":
                children, = [one["details"]["children"] for one in doc["warnings"] if one["code"] == warning]
                assert children == 4, doc["warnings"]


def test_returns_nested_too_deep_are_told():
    xp.need_bpf()
    selector = f"uprobe:{CALLS}:recurse"
    with xp.Target("calls", "recurse", 101) as target:
        run = xp.start("measure", "--pid", target.pid, "--from", f"{selector}:entry", "--to", f"{selector}:return", "--match", "stack-nested",
                       "--duration-ms", 2500, *FREE)
        xp.wait_armed(run)
        target.tell("")
        assert target.read_line() == "done"
        doc = xp.finish(run).doc
    samples = doc["measurement"]["samples"]
    assert (samples["matched"], samples["unmatched_start"], samples["unmatched_end"]) == (101 * 64, 101 * 16, 0), samples
    assert "nested_returns_missed" in codes(doc["quality"]["issues"]), doc["quality"]


def test_a_file_replaced_on_disk_is_said_and_the_mapped_one_measured():
    xp.need_bpf()
    path = pathlib.Path(xp.scratch()) / "replaced"
    shutil.copy(CALLS, path)
    with xp.Target(path, "plain", COUNT) as target:
        shutil.copy("/bin/true", f"{path}.new")
        os.rename(f"{path}.new", path)
        pair = ["--from", f"uprobe:{path}:work:entry", "--to", f"uprobe:{path}:work:return", "--match", "stack-nested"]
        checked = xp.ok("validate", "--pid", target.pid, *pair)
        assert checked["valid"] and "BINARY_REPLACED_ON_DISK" in codes(checked["warnings"]), checked
        run = xp.start("measure", "--pid", target.pid, *pair, "--duration-ms", 2500, *FREE)
        xp.wait_armed(run)
        target.tell("")
        doc = xp.finish(run).doc
        assert doc["measurement"]["samples"]["matched"] == COUNT and "BINARY_REPLACED_ON_DISK" in codes(doc["warnings"]), doc
        target.tell("")


def test_a_target_that_nobody_may_probe_there():
    """B14: a stable code and no attempt of an attach; validate tells it as an issue."""
    xp.need_bpf()
    with xp.Target("calls", "idle", 0) as target:
        for function in ("begins_trap", "begins_lock"):
            pair = ["--from", f"uprobe:{CALLS}:{function}:entry", "--to", work("return"), "--match", "first-after"]
            checked = xp.ok("validate", "--pid", target.pid, *pair)
            assert not checked["valid"], checked
            issue, = checked["issues"]
            assert issue["code"] == "PROBE_REFUSED" and issue["endpoint"] == "start", issue
            xp.run("measure", "--pid", target.pid, *pair, "--samples", 7, code="PROBE_REFUSED", exit=1)


def test_few_descriptors_are_a_named_limit():
    xp.need_bpf()
    prefix = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9)); os.execv(sys.argv[1], sys.argv[1:])"]
    with xp.Target(CALLER) as target:
        for name, args in modes(target.pid, 300):
            result = xp.run(*args, prefix=prefix)
            if name == "triage" and not result.error:
                unavailable = [one for one in result.doc["sources"] if one["name"] == "syscalls"][0]
                assert unavailable["status"] == "unavailable" and unavailable["errno"] == "EMFILE", unavailable
            else:
                assert result.code == "RESOURCE_LIMIT" and result.details["object"] == "RLIMIT_NOFILE", (name, result)
            assert target.alive()


def test_a_default_result_of_100_samples_is_at_most_6_kb():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for pair in (PAIR, ["--from", f"uprobe:{CALLER}:tick:entry", "--to", f"uprobe:{CALLER}:tick:return", "--match", "stack-nested"]):
            result = xp.run("measure", "--pid", target.pid, *pair, "--samples", 100, *FREE, exit=0)
            assert len(result.out) <= 6144, f"{len(result.out)} bytes"
            exemplars = result.doc["evidence"]["exemplars"]
            assert [one["rank"] for one in exemplars] == ["min", "p50", "p90", "p99", "max"]
            full = xp.ok("measure", "--pid", target.pid, *pair, "--samples", 100, *FREE, "--evidence", "full", "--name", "all of them")
            assert len(full["evidence"]["pairs"]) == 100 and full["evidence"]["mode"] == "full" and full["measurement"]["name"] == "all of them"
            starts = [one["start"]["timestamp_ns"] for one in full["evidence"]["pairs"]]
            assert starts == sorted(starts)
            # What was left out is not there; an empty list said that a call had no arguments.
            entries = [one["start"]["host"] for one in exemplars if one["start"]["event_type"] == "syscall_entry"]
            assert all(len(host["arguments"]) == 6 for host in entries if "arguments" in host), entries
            assert not entries or "arguments" in entries[-1], "the slowest call keeps them"


def test_the_longest_names_keep_the_budget():
    """Selectors of 8,000 bytes made results of 22, validations of 50 and errors of 38 KB."""
    xp.need_bpf()
    compiler = xp.need_command("cc")
    name, path = "f" * 7900, pathlib.Path(xp.scratch()) / "long"
    source = f"""#include <stdio.h>
        #include <unistd.h>
        __attribute__((noinline)) long {name}(long x) {{ __asm__ volatile("" : "+r"(x)); return x + 1; }}
        int main(void) {{ puts("ready"); fflush(stdout); for (;; usleep(500)) {name}(1); }}"""
    subprocess.run([compiler, "-O1", "-x", "c", "-o", path, "-"], input=source.encode(), check=True)
    pair = ["--from", f"uprobe:{path}:{name}:entry", "--to", f"uprobe:{path}:{name}:return", "--match"]
    with xp.Target(path) as target:
        doc = xp.ok("measure", "--pid", target.pid, *pair, "stack-nested", "--samples", 20, *FREE)
        assert doc["measurement"]["start_selector"].endswith("\u2026"), doc["measurement"]
        start = xp.ok("validate", "--pid", target.pid, *pair, "stack-nested")["start"]
        assert len(start["host"]["symbol"].encode()) <= 256 and start["selector"] == start["host"]["selector"], start
        kept = xp.fails("EVENT_RATE_TOO_HIGH", "measure", "--pid", target.pid, *pair, "stack-nested", "--samples", 20, "--max-events", 10, *FREE)
        assert xp.read_events(kept["artifact_path"])[0]["host"]["symbol"].startswith("ffff")
        xp.fails("INVALID_CORRELATION_POLICY", "measure", "--pid", target.pid, *pair, "exact", "--samples", 20, *FREE)


if __name__ == "__main__":
    xp.main()
