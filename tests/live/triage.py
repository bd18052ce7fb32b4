# SPDX-License-Identifier: Apache-2.0
"""`measure --triage` on live processes: each state leads to its finding, and the proposed spec runs.

The machine may be busy with other things, so shares are compared with what the process itself got, never with absolute times, and
the fsync writer, which hardly runs, gets a CPU at once.
"""
import json
import os
import pathlib
import subprocess
import time

import xp

WINDOW_MS = 1500


def triage(pid, *more, window=WINDOW_MS, **options):
    return xp.ok("measure", "--pid", pid, "--triage", "--duration-ms", window, "--max-cost", 0, "--json", *more, **options)


def first(*args):
    """A target that gets a CPU at once when it wakes, as far as we may. Only for programs that hardly run."""
    at_once = lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return xp.Target("load", *args, preexec_fn=at_once if os.geteuid() == 0 else None)


def finding(doc, code, subject=None):
    for found in doc["findings"]:
        if found["code"] == code and subject in (None, found["subject"]):
            return found
    raise AssertionError(f"no {code} among {[(f['code'], f['subject'], f['window_share']) for f in doc['findings']]}")


def codes(doc):
    return [found["code"] for found in doc["findings"]]


def source(doc, name):
    return next(entry for entry in doc["sources"] if entry["name"] == name)


def artifact(doc, name):
    return json.loads(pathlib.Path(source(doc, name)["artifact"]["path"]).read_text())


def need_syscalls(doc):
    if source(doc, "syscalls")["status"] != "available":
        raise xp.Skip(f"no syscall inventory here: {source(doc, 'syscalls')['detail']}")


def test_spinner_is_cpu_bound_or_waits():
    """One spinner runs for the whole window, or waits for a CPU for what is missing: the two add up."""
    with xp.Target("load", "spin") as target:
        doc = triage(target.pid)
    top = doc["summary"]["threads"]["top"][0]
    total = top["on_cpu_ns"] + top["runqueue_ns"]
    assert 0.95 < total / doc["window"]["duration_ns"] < 1.05, top
    assert set(codes(doc)) & {"cpu_bound_thread", "cpu_hotspot", "runqueue_wait"}, codes(doc)
    assert doc["summary"]["threads"]["vanished_cpu_ns"] == 0, doc["summary"]["threads"]
    assert [entry["name"] for entry in doc["sources"]] == [
        "threads", "cgroup", "cpu_samples", "off_cpu", "syscalls", "gpu", "cuda_kernels", "cuda_copies"]


def test_two_spinners_on_one_cpu_wait():
    cpu = min(os.sched_getaffinity(0))
    with xp.Target("load", "pinned", cpu) as target:
        doc = triage(target.pid)
    found = finding(doc, "runqueue_wait")
    assert found["evidence"]["cpus_allowed"] == str(cpu), found
    assert found["evidence"]["cpus_allowed_count"] == 1
    assert found["evidence"]["runnable_threads_total"] == 2, found
    assert found["window_share"] > 0.40, found
    assert found["next"]["code"] == "reduce_cpu_contention"
    assert "cgroup_throttled" not in codes(doc)


def test_hung_futex_names_its_calls():
    with xp.Target("load", "hung") as target:
        doc = triage(target.pid)
    found = finding(doc, "fully_blocked")
    assert found["window_share"] == 1 and found["rank"] == 1, found
    assert "futex" in found["message"], found
    sitting = {entry["tid"]: entry["syscall_name"] for entry in found["evidence"]["sitting_threads"]}
    assert sitting[target.pid] == "futex" and sorted(sitting.values()) == ["futex", "read"], sitting
    need_syscalls(doc)
    calls = found["evidence"]["oldest_open_syscalls"]
    assert sorted(call["syscall_name"] for call in calls) == ["futex", "read"], calls
    assert all(call["started_before_window"] for call in calls), calls


def test_fsync_writer_and_its_spec():
    """The first finding is the call that blocks, and its spec runs as it stands."""
    path = pathlib.Path(xp.scratch()) / "written"
    with first("fsync", path) as target:
        doc = triage(target.pid)
        need_syscalls(doc)
        threads = doc["summary"]["threads"]
        if threads["blocked_ns"] < 0.1 * doc["window"]["duration_ns"]:
            raise xp.Skip(f"fsync hardly blocks here: {threads['top']}")
        found = finding(doc, "syscall_blocked", "fsync")
        assert found["next"]["kind"] == "measurement_spec" and not found["next"]["target_mutation"]
        spec = found["next"]["spec"]
        index = json.loads(pathlib.Path(doc["evidence"]["artifact"]["path"]).read_text())
        files = {entry["rank"]: entry["path"] for entry in index["specs"]}
        assert json.loads(pathlib.Path(files[found["rank"]]).read_text()) == spec
        result = xp.ok("measure", "--spec", files[found["rank"]], "--max-cost", 0, "--json")
    assert result["measurement"]["samples"]["matched"] == spec["samples"], result["measurement"]


def test_syscall_storm():
    with xp.Target("load", "storm") as target:
        doc = triage(target.pid)
    need_syscalls(doc)
    calls = next(entry for entry in artifact(doc, "syscalls")["inventory"]["groups"] if entry["syscall_name"] == "getppid")
    per_second = calls["count"] / doc["window"]["duration_ns"] * 1e9
    if per_second < 20000 or calls["duration_ns"]["mean"] >= 10000:
        assert "syscall_rate" not in codes(doc)
        raise xp.Skip(f"this machine makes {per_second:.0f} calls a second only")
    found = finding(doc, "syscall_rate", "getppid")
    assert found["evidence"]["count"] == calls["count"]
    assert found["next"]["spec"]["start_selector"] == "syscall:getppid:entry"
    assert "cpu_bound_thread" not in codes(doc), "told by syscall_rate"
    assert "syscall_blocked" not in codes(doc), "CPU work inside a call is not blocking"


def test_failing_calls():
    with xp.Target("load", "failing") as target:
        doc = triage(target.pid)
    need_syscalls(doc)
    found = finding(doc, "syscall_errors", "openat")
    assert found["evidence"]["errors"] == found["evidence"]["count"], found
    assert found["evidence"]["most_frequent_errno"] == "ENOENT", found


def test_the_collector_of_a_stripped_interpreter_is_known_by_its_markers():
    """The collector of such a Python has no name, and its markers sit in a part that the compiler moved away from it."""
    python = "/usr/bin/python3"
    notes = subprocess.run(["readelf", "-n", python], capture_output=True, text=True, check=False).stdout
    if "gc__start" not in notes:
        raise xp.Skip(f"{python} has no markers")
    with xp.Target(python, xp.SOURCE / "bench/slow/python_gc.py") as target:
        doc = triage(target.pid)
    found = finding(doc, "python_gc", "python3")
    assert found["evidence"]["collector_samples"] >= 0.5 * found["evidence"]["samples"] > 0, found
    assert found["next"]["spec"]["start_selector"] == "python:gc_start"


def test_short_lived_threads_are_accounted():
    """Case A7: threads that ended between listing and reading were lost, or lost the whole sample."""
    with xp.Target("load", "churn") as target:
        doc = triage(target.pid, window=3000)
    value = artifact(doc, "threads")
    total = value["on_cpu_ns"] + value["vanished_cpu_ns"]
    assert abs(total - value["process_cpu_ns"]) <= 0.05 * value["process_cpu_ns"], value
    assert value["vanished_cpu_ns"] > 0
    assert value["started"] == sum(thread["started"] for thread in value["threads"])
    if value["vanished_cpu_ns"] >= 0.1 * value["window_ns"]:
        found = finding(doc, "thread_churn")
        need_syscalls(doc)
        assert found["evidence"]["clone_calls"] >= value["started"], found
        assert str(found["evidence"]["clone_calls"]) in found["message"], found


def test_target_that_ends_in_the_window():
    """Case A9: never success without the flag; the artifacts are whole."""
    with xp.Target("load", "exit", 1000) as target:
        result = xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", 3000, "--json", code="TARGET_EXITED", exit=3)
    partial = result.details["partial"]
    assert partial["status"] == "failed"
    assert partial["window"]["duration_ns"] < 2.5e9, partial["window"]
    assert partial["summary"]["threads"]["count"] == 1, partial["summary"]
    json.loads(pathlib.Path(result.details["artifact_path"]).read_text())
    assert artifact(partial, "threads")["count"] == 1


def test_children_do_the_work():
    with xp.Target("load", "parent") as target:
        doc = triage(target.pid)
        child = int(pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()[0])
        os.kill(child, 9)
    value = artifact(doc, "threads")
    assert value["children_total"] == 1 and value["children"][0]["pid"] == child, value
    assert "children" in [entry["code"] for entry in doc["not_covered"]]
    if value["children_cpu_ns"] < 0.5 * value["window_ns"]:
        raise xp.Skip("the child got less than half a CPU on this busy machine")
    found = finding(doc, "busy_children")
    assert found["next"]["code"] == "triage_tree" and found["rank"] == 1, found
    assert "fully_blocked" not in codes(doc)


MANY = 4000
PYTHON_CROWD = """
import threading, time
threading.stack_size(65536)
for _ in range(%d):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("ready", flush=True)
while True:
    sum(range(1000))
"""


def triage_of_many(pid):
    """The document, and the seconds beside the window that the command was not made to wait for a CPU."""
    process = xp.start("measure", "--pid", pid, "--triage", "--duration-ms", WINDOW_MS, "--json")
    started = time.monotonic()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - started
    used, waited, _ = (int(part) / 1e9 for part in pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split())
    beside = seconds - waited - WINDOW_MS / 1000
    print(f"  {seconds - WINDOW_MS / 1000:.2f} s beside the window, {waited:.2f} s of them waits for a CPU, {used:.2f} s of CPU time")
    return xp.finish(process).doc, beside


def need_threads(n):
    limit = int(pathlib.Path("/proc/sys/kernel/threads-max").read_text())
    if limit < 3 * n:
        raise xp.Skip(f"threads-max is {limit}")


def test_four_thousand_threads():
    """Case E4's bound in C: all threads, the budget, and the time behind the window."""
    need_threads(MANY)
    with xp.Target("load", "many", MANY) as target:
        doc, beside = triage_of_many(target.pid)
    value = artifact(doc, "threads")
    assert value["count"] == MANY + 2 and len(value["threads"]) == MANY + 2, value["count"]
    patterns = {group["name_pattern"]: group["threads"] for group in doc["summary"]["threads"]["groups"]}
    assert patterns["pool-#"] == MANY, patterns
    assert value["threads"][0]["name"] == "spin"
    assert beside < 2, beside


def test_four_thousand_python_threads():
    """Case E4 in Python: samples stand for the CPU time, every block is there."""
    need_threads(MANY)
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else xp.need_command("python3")
    with xp.Target(python, "-c", PYTHON_CROWD % MANY) as target:
        doc, beside = triage_of_many(target.pid)
    assert artifact(doc, "threads")["count"] == MANY + 1, doc["summary"]["threads"]
    assert beside < 2, beside
    off_cpu, samples = doc["summary"]["off_cpu"], doc["summary"]["cpu_samples"]
    assert off_cpu is None or (off_cpu["blocks"] >= MANY and off_cpu["stacks_lost"] < MANY / 2), off_cpu
    assert samples is None or 0.8 < samples["coverage"] < 1.2, samples


def test_thread_filter():
    with xp.Target("load", "many", 5) as target:
        doc = triage(target.pid, "--threads", "name~^pool-")
        assert doc["summary"]["threads"]["count"] == 5, doc["summary"]["threads"]
        assert "threads_filtered" in [issue["code"] for issue in doc["quality"]["issues"]]
        details = xp.fails("INVALID_EVENT_SELECTOR", "measure", "--pid", target.pid, "--triage", "--duration-ms", 200, "--threads", "name~nobody",
                           "--json")
    assert details["candidates"][0] == "pool-#", details


def test_signal_ends_the_window():
    with xp.Target("load", "hung") as target:
        process = xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", 20000, "--json")
        time.sleep(3)
        process.terminate()
        result = xp.finish(process)
    assert result.exit == 0, result
    assert result.doc["status"] == "cancelled"
    assert result.doc["window"]["duration_ns"] < 10e9


def quota_group():
    """A new group with a fifth of a CPU, on whichever version carries the cpu controller; within it, it comes first."""
    version1 = pathlib.Path("/sys/fs/cgroup/cpu")
    base = version1 if (version1 / "cpu.cfs_quota_us").exists() else pathlib.Path("/sys/fs/cgroup")
    group = base / f"xprobe-triage-{os.getpid()}"
    try:
        if base != version1:
            (base / "cgroup.subtree_control").write_text("+cpu")
        group.mkdir()
        if base == version1:
            (group / "cpu.shares").write_text("262144")
            (group / "cpu.cfs_quota_us").write_text("20000")
        else:
            (group / "cpu.weight").write_text("10000")
            (group / "cpu.max").write_text("20000 100000")
    except OSError as problem:
        if group.exists():
            group.rmdir()
        raise xp.Skip(f"no cgroup with a quota can be made: {problem}") from None
    return group


def test_quota_is_not_contention():
    """Case E6: throttled time is told as such and taken out of run-queue wait."""
    xp.need_root()
    group = quota_group()
    try:
        with xp.Target("load", "spin") as target:
            (group / "cgroup.procs").write_text(str(target.pid))
            time.sleep(0.3)
            doc = triage(target.pid, window=3000)
    finally:
        for _ in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.02)
    assert not group.exists()
    found = finding(doc, "cgroup_throttled")
    assert found["rank"] == 1, codes(doc)
    summary = doc["summary"]["cgroup"]
    assert summary["quota_us"] == 20000 and summary["cpus"] == 0.2, summary
    expected = doc["window"]["duration_ns"] * 0.8
    assert 0.93 < summary["throttled_ns"] / expected < 1.05, (summary, expected)
    waits = [entry for entry in doc["findings"] if entry["code"] == "runqueue_wait"]
    assert not waits or waits[0]["window_share"] < 0.2, waits
    assert found["evidence"]["absorbed"][0]["code"] == "runqueue_wait", found


def test_report_for_people():
    with xp.Target("load", "hung") as target:
        result = xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", 500, "--human", text=True, exit=0)
        checked = xp.ok("validate", "--pid", target.pid, "--triage", "--json")
    text = result.out.decode()
    assert "fully_blocked" in text and "futex" in text and "\x1b" not in text, text
    assert f"xprobe measure --pid {target.pid} --cpu-sample --off-cpu" in text, text
    assert "blocked stacks" in text or " < main < " in text, text
    assert checked["valid"] and len(checked["sources"]) == 8, checked


if __name__ == "__main__":
    xp.main()
