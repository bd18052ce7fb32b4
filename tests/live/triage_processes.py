# SPDX-License-Identifier: Apache-2.0
"""`measure --triage` on several processes: one window, the odd one, who waits for whom, ends and births in the window.

The machine may be busy with other things: programs hardly run, so that what they do depends on sleeps and not on the CPU they get, and
where CPU time decides it is compared with what the process got.
"""
import json
import os
import pathlib
import shutil
import subprocess
import time

import xp

WINDOW_MS = 1200
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")
NAPS = "import time\nprint('ready', flush=True)\nwhile True:\n    time.sleep(0.02)\n"


def command(pids, *more, window=WINDOW_MS):
    return ["measure", *(word for pid in pids for word in ("--pid", pid)), "--triage", "--duration-ms", window, "--max-cost", 0, "--json", *more]


def triage(pids, *more, **options):
    return xp.ok(*command(pids, *more, **options))


def loaders(n, slow):
    return xp.Target(PYTHON, xp.SOURCE / "tests/targets/loaders.py", n, slow)


def workers_of(target):
    return [int(word) for word in target.line.split()[1:]]


def row(doc, pid):
    return next(entry for entry in doc["processes"] if entry["target"]["pid"] == pid)


def codes(entry):
    return [found["code"] for found in entry["findings"]]


def issue(doc, code):
    return next((entry for entry in doc["quality"]["issues"] if entry["code"] == code), None)


def test_three_of_which_one_is_odd():
    """Two nap. The one that spins is named by its CPU time, or by its wait for a CPU where others spin, too."""
    with xp.Target(PYTHON, "-c", NAPS) as first, xp.Target("load", "spin") as odd, xp.Target(PYTHON, "-c", NAPS) as last:
        pids = [last.pid, odd.pid, first.pid]
        doc = triage(pids)
        spun = odd.process.pid
    assert [entry["target"]["pid"] for entry in doc["processes"]] == pids, "in the order of the command line"
    assert doc["target"] is None and doc["sources"] is None and doc["summary"] is None and doc["cost"] is None
    assert doc["processes_total"] is None
    assert {found["pid"] for found in doc["findings"]} <= set(pids)
    top = row(doc, spun)["summary"]["threads"]["top"][0]
    if top["on_cpu_ns"] + top["runqueue_ns"] < 0.9 * doc["window"]["duration_ns"]:
        raise AssertionError(f"a spinner that does not spin: {top}")
    named = {entry["pid"] for entry in doc["odd_one_out"] if entry["metric"] in ("on_cpu_share", "runqueue_share")}
    assert named == {spun}, doc["odd_one_out"]
    for entry in doc["odd_one_out"]:
        assert abs(entry["window_share"] - abs(entry["value"] - entry["median"])) < 1e-9, entry


def test_all_share_one_window_and_each_has_its_files():
    with xp.Target(PYTHON, "-c", NAPS) as first, xp.Target("load", "hung") as second:
        doc = triage([first.pid, second.pid])
    index = json.loads(pathlib.Path(doc["evidence"]["artifact"]["path"]).read_text())
    folder = pathlib.Path(doc["evidence"]["artifact"]["path"]).parent
    assert index["target"] is None and [entry["target"]["pid"] for entry in index["processes"]] == [first.pid, second.pid]
    for entry in doc["processes"]:
        pid = entry["target"]["pid"]
        assert len(entry["sources"]) == 8 and entry["parent_pid"] == os.getpid() and entry["status"] == "completed"
        for source in entry["sources"]:
            if source["artifact"]:
                path = pathlib.Path(source["artifact"]["path"])
                assert path.parent == folder / f"pid-{pid}", path
        threads = json.loads((folder / f"pid-{pid}" / "threads.json").read_text())
        assert threads["window_ns"] == doc["window"]["duration_ns"]
        assert any(thread["tid"] == pid for thread in threads["threads"])
    # Nothing of one process is in the other's books.
    naps, hung = (row(doc, target.pid)["summary"] for target in (first, second))
    assert hung["threads"]["count"] == 2 and naps["threads"]["count"] == 1
    if naps["syscalls"] and hung["syscalls"]:
        assert {call["syscall_name"] for call in naps["syscalls"]["top"]} & {"clock_nanosleep", "select", "pselect6"}, naps["syscalls"]
        assert hung["syscalls"]["calls"] == 0 and hung["syscalls"]["open_at_end"] == 2, hung["syscalls"]
    assert "fully_blocked" in codes(row(doc, second.pid))


def test_waits_for_a_child_to_end():
    """What the child does does not matter: it sleeps, and the parent waits for its end."""
    with xp.Target("/bin/sh", "-c", "echo ready; sleep 60; :") as target:
        time.sleep(0.2)
        doc = triage([target.pid], "--tree")
        child = next(entry["target"]["pid"] for entry in doc["processes"] if entry["target"]["pid"] != target.pid)
    found = next(found for found in row(doc, target.pid)["findings"] if found["code"] == "waits_for_child")
    if row(doc, target.pid)["summary"]["syscalls"] is None and row(doc, target.pid)["summary"]["off_cpu"] is None:
        raise xp.Skip("nothing here tells which call a thread is in")
    assert found["evidence"]["waits_in"] == "wait4" and found["evidence"]["child_pid"] == child, found
    assert found["evidence"]["child_syscall_name"] == "clock_nanosleep", found
    assert found["window_share"] > 0.95, found
    assert [entry["code"] for entry in found["evidence"]["absorbed"]] == ["fully_blocked"], found
    assert found["next"] == row(doc, child)["findings"][0]["next"], "the child's own best next step"
    assert doc["processes_total"] == 2 and "busy_children" not in codes(doc)


def test_waits_for_a_busy_child():
    with xp.Target("load", "parent") as target:
        doc = triage([target.pid], "--tree")
        child = next(entry["target"]["pid"] for entry in doc["processes"] if entry["target"]["pid"] != target.pid)
        os.kill(child, 9)
    top = row(doc, child)["summary"]["threads"]["top"][0]
    assert top["on_cpu_ns"] + top["runqueue_ns"] > 0.9 * doc["window"]["duration_ns"], f"a spinner that does not spin: {top}"
    found = next(found for found in doc["findings"] if found["code"] == "waits_for_child")
    assert found["pid"] == target.pid and found["evidence"]["child_pid"] == child and found["evidence"]["child_on_cpu_ns"] == top["on_cpu_ns"], found


def test_a_trainer_and_its_loaders():
    """Of four workers one is slow: the trainer waits for it, and it is not like the others."""
    xp.need_bpf()
    with loaders(4, 2) as target:
        workers = workers_of(target)
        doc = triage([target.pid], "--tree", window=2500)
    assert doc["processes_total"] == 5 and [entry["target"]["pid"] for entry in doc["processes"]] == sorted([target.pid, *workers])
    assert all("python" in entry["executable"] for entry in doc["processes"])
    assert all(entry["parent_pid"] == target.pid for entry in doc["processes"] if entry["target"]["pid"] != target.pid)
    assert issue(doc, "process_ended") is None and issue(doc, "target_forked") is None
    assert "children" not in [entry["code"] for entry in doc["not_covered"]]
    found = next(found for found in row(doc, target.pid)["findings"] if found["code"] == "waits_for_child")
    assert found["evidence"]["child_pid"] == workers[2] and found["evidence"]["waits_in"] == "pipe", found
    # Those that wait for something to do are explained by it, and stay in their own lists.
    waiting = [other["pid"] for other in doc["findings"] if other["code"] == "syscall_blocked" and other["subject"] == "read"]
    assert not waiting, doc["findings"]
    absorbed = {other["pid"] for other in found["evidence"]["absorbed"] if "pid" in other}
    assert absorbed == {worker for worker in workers if worker != workers[2] and "syscall_blocked" in codes(row(doc, worker))}, found


def test_one_that_ends_in_the_window():
    xp.need_bpf()
    with xp.Target("load", "hung") as stays, xp.Target("/bin/sh", "-c", "echo ready; read line") as ends:
        process = xp.start(*command([stays.pid, ends.pid], window=3000))
        xp.wait_armed(process)
        ends.tell("")
        result = xp.finish(process)
    assert result.code == "TARGET_EXITED" and result.exit == 3, result
    partial = result.details["partial"]
    assert partial["status"] == "failed" and partial["window"]["duration_ns"] >= 3e9, partial["window"]
    assert [entry["status"] for entry in partial["processes"]] == ["completed", "failed"], partial["processes"]
    assert issue(partial, "process_ended")["details"]["pids"] == [ends.pid]
    left = row(partial, stays.pid)
    assert "fully_blocked" in codes(left) and left["summary"]["threads"]["count"] == 2, left
    assert row(partial, ends.pid)["summary"]["threads"]["count"] == 1
    json.loads(pathlib.Path(result.details["artifact_path"]).read_text())


def test_ends_and_births_below_a_tree():
    """Descendants come and go: that is told, and the result is whole."""
    xp.need_bpf()
    with loaders(3, -1) as target:
        workers = workers_of(target)
        process = xp.start(*command([target.pid], "--tree", window=3000))
        xp.wait_armed(process)
        target.tell("death")
        assert target.read_line() == "dead"
        target.tell("birth")
        born = int(target.read_line().split()[1])
        doc = xp.finish(process).doc
    assert doc["ok"] and doc["status"] == "completed", doc
    assert row(doc, workers[2])["status"] == "failed" and issue(doc, "process_ended")["details"]["pids"] == [workers[2]]
    assert born not in [entry["target"]["pid"] for entry in doc["processes"]]
    assert issue(doc, "target_forked")["details"]["children"] == 1, doc["quality"]
    assert "TARGET_FORKED" in [warning["code"] for warning in doc["warnings"]]
    assert "children" in [entry["code"] for entry in doc["not_covered"]]


def test_a_pid_that_is_not_there():
    with xp.sleeper() as target:
        xp.fails("TARGET_NOT_FOUND", *command([target.pid, xp.unused_pid()]))
        xp.fails("INVALID_ARGUMENT", *command([target.pid, target.pid]))
        xp.fails("TARGET_NOT_FOUND", "validate", "--pid", target.pid, "--pid", xp.unused_pid(), "--triage")
        checked = xp.ok("validate", "--pid", target.pid, "--tree", "--triage")
        assert checked["target"] is None and [entry["pid"] for entry in checked["processes"]] == [target.pid], checked


def test_a_tree_of_one_has_the_same_form():
    with xp.sleeper() as target:
        doc = triage([target.pid], "--tree", window=300)
    assert doc["processes_total"] == 1 and len(doc["processes"]) == 1 and doc["odd_one_out"] == [], doc
    assert doc["target"] is None


def test_a_script_about_itself():
    """Its tree is the script and what it started, but for the command that looks."""
    script = 'sleep 60 & "$0" measure --pid $$ --triage --tree --duration-ms 300 --max-cost 0 --json; kill $!; echo'
    run = subprocess.run(["/bin/sh", "-c", script, xp.XPROBE], stdout=subprocess.PIPE, check=True, timeout=60)
    doc = json.loads(run.stdout)
    assert doc["processes_total"] == 2 and [os.path.basename(entry["executable"])[:5] for entry in doc["processes"]][1:] == ["sleep"], doc["processes"]


def test_thread_names_that_only_some_have():
    with xp.Target("load", "many", 5) as many, xp.Target("load", "hung") as hung:
        doc = triage([many.pid, hung.pid], "--threads", "name~^pool-", window=300)
        assert row(doc, many.pid)["summary"]["threads"]["count"] == 5
        assert row(doc, hung.pid)["summary"]["threads"] is None
        xp.fails("INVALID_EVENT_SELECTOR", *command([many.pid, hung.pid], "--threads", "name~nobody", window=300))


def test_calls_are_told_apart():
    """Prime numbers of calls, at the same time, by way of one program."""
    xp.need_bpf()
    counts = [503, 1009, 97]
    targets = [xp.Target("calls", "getppid", n) for n in counts]
    try:
        process = xp.start(*command([target.pid for target in targets], window=2500))
        xp.wait_armed(process)
        for target in targets:
            target.tell("")
        for target in targets:
            assert target.read_line() == "done"
        doc = xp.finish(process).doc
    finally:
        for target in targets:
            target.stop()
    for target, n in zip(targets, counts):
        path = next(source["artifact"]["path"] for source in row(doc, target.pid)["sources"] if source["name"] == "syscalls")
        value = json.loads(pathlib.Path(path).read_text())
        groups = {group["syscall_name"]: group["count"] for group in value["inventory"]["groups"]}
        assert groups["getppid"] == n, groups
        assert value["target"]["pid"] == target.pid and value["collection"]["dropped_aggregates"] == 0, value["collection"]


def test_python_frames_of_each():
    """Two interpreters of one version and one process without: each sample has the frames of its own process."""
    xp.need_bpf()
    program = "import time\ndef %s():\n    while True:\n        sum(range(500))\nprint('ready', flush=True)\n%s()\n"
    with xp.Target(PYTHON, "-c", program % ("north", "north")) as north, xp.Target(PYTHON, "-c", program % ("south", "south")) as south, \
            xp.Target("load", "spin") as other:
        doc = triage([north.pid, south.pid, other.pid], window=2000)
    for target, mine, others in ((north, "north", "south"), (south, "south", "north")):
        summary = row(doc, target.pid)["summary"]["cpu_samples"]
        if not summary["observed"]:
            continue
        path = next(source["artifact"]["path"] for source in row(doc, target.pid)["sources"] if source["name"] == "cpu_samples")
        text = pathlib.Path(path).read_text()
        assert summary["python_status"] == "active" and f'"{mine}"' in text and f'"{others}"' not in text, text[:2000]
        assert 0.7 < summary["coverage"] < 1.3, summary
    assert row(doc, other.pid)["summary"]["cpu_samples"]["python_status"] == "not_detected", row(doc, other.pid)["summary"]


def test_a_tree_of_many():
    """More than may be looked at, and more than are shown; the programs are loaded once."""
    xp.need_bpf()
    many = "for i in $(seq 69); do sleep 60 & done; echo ready; wait"
    with xp.Target("/bin/sh", "-c", many) as target:
        process = xp.start(*command([target.pid], "--tree", window=500))
        xp.wait_armed(process, extra=0)
        links = sum(os.readlink(path).startswith("anon_inode:bpf_link") for path in pathlib.Path(f"/proc/{process.pid}/fd").iterdir())
        doc = xp.finish(process).doc
        for child in pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split():
            os.kill(int(child), 9)
    assert doc["processes_total"] == 70 and len(doc["processes"]) == 16, doc["processes_total"]
    assert target.pid in [entry["target"]["pid"] for entry in doc["processes"]]
    assert links <= 12, f"{links} links"
    assert "6 descendants" in next(gap["message"] for gap in doc["not_covered"] if gap["code"] == "children"), doc["not_covered"]
    index = json.loads(pathlib.Path(doc["evidence"]["artifact"]["path"]).read_text())
    assert len(index["processes"]) == 64


def seconds_beside(pids):
    """Beside the window, without the waits for a CPU."""
    process = xp.start(*command(pids))
    started = time.monotonic()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.monotonic() - started
    used, waited, _ = (int(part) / 1e9 for part in pathlib.Path(f"/proc/{process.pid}/schedstat").read_text().split())
    size = len(xp.finish(process).out)
    beside = seconds - waited - WINDOW_MS / 1000
    print(f"  {len(pids)}: {seconds - WINDOW_MS / 1000:.2f} s beside the window, {waited:.2f} s of them waits for a CPU, "
          f"{used:.2f} s of CPU time, {size} bytes")
    return beside


def test_four_at_once_cost_little_more_than_one():
    targets = [xp.Target(PYTHON, "-c", NAPS) for _ in range(4)]
    try:
        pids = [target.pid for target in targets]
        for n in (1, 2, 4):
            assert seconds_beside(pids[:n]) < 3
    finally:
        for target in targets:
            target.stop()


if __name__ == "__main__":
    xp.main()
