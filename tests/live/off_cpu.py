# SPDX-License-Identifier: Apache-2.0
"""Blocked stacks of live processes: known proportions, threads that never move, Python, the interpreter's lock, threads that come and go."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import xp

WINDOW_MS = 1200


def off_cpu(pid, window=WINDOW_MS, *more):
    """The result of a triage and its off-CPU artifact; each group's frames as names."""
    doc = xp.ok("measure", "--pid", pid, "--triage", "--duration-ms", window, "--max-cost", 0, "--json", *more)
    source = next(entry for entry in doc["sources"] if entry["name"] == "off_cpu")
    if source["reason"] in ("not_permitted", "unsupported"):
        raise xp.Skip(f"no off-CPU stacks here: {source['detail']}")
    assert source["status"] == "available", source
    value = json.loads(pathlib.Path(source["artifact"]["path"]).read_text())
    assert sum(group["count"] for group in value["groups"]) == value["blocks_listed"] == value["blocks_total"], value
    assert sum(group["total_ns"] for group in value["groups"]) == value["blocked_ns"], value["blocked_ns"]
    for group in value["groups"]:
        group["names"] = [frame["symbol"] for frame in group["frames"]]
        assert group["max_ns"] <= group["total_ns"] and group["open_at_end"] <= group["count"], group
    return doc, value


def named(value, function):
    found = [group for group in value["groups"] if function in group["names"]]
    assert found, f"no stack with {function}: {[(g['syscall_name'], g['names']) for g in value['groups']]}"
    return found


def total(groups):
    return sum(group["total_ns"] for group in groups)


def at_once(*args):
    """A target that gets a CPU at once when it wakes: its blocked time is then its timers' time."""
    return xp.Target("waits", *args, preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def finding(doc, code):
    for found in doc["findings"]:
        if found["code"] == code:
            return found
    raise AssertionError(f"no {code} among {[(f['code'], f['subject'], f['window_share']) for f in doc['findings']]}")


def test_known_proportions():
    """20 : 10 : 5 : 5 ms in four functions of a program without frame pointers."""
    with at_once("mix") as target:
        doc, value = off_cpu(target.pid, 2000)
    wanted = {"nap_long": (0.5, "sleep", "clock_nanosleep"), "lock_short": (0.25, "lock", "futex"),
              "poll_short": (0.125, "syscall", "poll"), "read_short": (0.125, "syscall", "read")}
    groups = {name: [g for g in named(value, name) if g["thread_name_pattern"] == "mixed"] for name in wanted}
    whole = sum(total(found) for found in groups.values())
    for name, (share, reason, call) in wanted.items():
        assert abs(total(groups[name]) / whole - share) < 0.02, (name, total(groups[name]) / whole)
        for group in groups[name]:
            assert (group["reason"], group["syscall_name"]) == (reason, call), group
            assert group["names"][-1] in ("clone3", "__clone3", "clone", "__clone"), group["names"]
            assert "mix" in group["names"] and "start_thread" in group["names"], group["names"]
    # Of the thread's window nothing else is left than some CPU time and waits for a CPU.
    mixed = total([g for g in value["groups"] if g["thread_name_pattern"] == "mixed"])
    # The block that the window's end cuts may be over before its stack is read.
    assert whole >= mixed - 25_000_000, (whole, mixed)
    assert value["stacks_lost"] <= 1, value["stacks_lost"]


def test_threads_that_never_move():
    """Seven threads in one futex and one in a read: their stacks, with the whole window as their time."""
    with xp.Target("waits", "hung") as target:
        doc, value = off_cpu(target.pid)
        window = doc["window"]["duration_ns"]
    (hung,) = named(value, "hang_here")
    assert hung["count"] == hung["open_at_end"] == 7 and hung["thread_name_pattern"] == "hung-#", hung
    assert abs(hung["total_ns"] - 7 * window) <= 0.001 * window, (hung["total_ns"], window)
    assert abs(hung["max_ns"] - window) <= 0.001 * window
    assert hung["names"].count("down") == 4 and hung["reason"] == "lock", hung["names"]
    assert hung["wait_channel"] and "futex" in hung["wait_channel"], hung
    (reader,) = named(value, "read_for_good")
    assert reader["syscall_name"] == "read" and reader["open_at_end"] == 1, reader
    (main,) = [g for g in value["groups"] if g["thread_name_pattern"] == "waits"]
    assert main["syscall_name"] == "pause" and "main" in main["names"], main
    assert abs(value["blocked_ns"] - 9 * window) <= 0.005 * window
    found = finding(doc, "fully_blocked")
    stacks = found["evidence"]["blocked_stacks"]
    assert any("hang_here" in entry["stack"] for entry in stacks), stacks
    assert "kernel_blocking" not in [gap["code"] for gap in doc["not_covered"]]
    assert doc["summary"]["off_cpu"]["blocks"] == 9, doc["summary"]["off_cpu"]


def test_threads_that_come_and_go():
    """A thread that ends after a block of half the window, and one that begins and blocks from then on."""
    with xp.Target("waits", "mortal") as target:
        doc, value = off_cpu(target.pid, 4000)
        window = doc["window"]["duration_ns"]
    (reader,) = named(value, "read_for_good")
    assert reader["count"] == 1 and reader["open_at_end"] == 0, reader
    assert reader["names"][-1] in ("clone3", "__clone3", "clone", "__clone"), reader["names"]
    late = [g for g in named(value, "hang_here") if g["thread_name_pattern"] in ("late", "waits")]
    assert sum(g["open_at_end"] for g in late) == 1, late
    assert abs(total([reader]) + total(late) - window) < 0.05 * window, (total([reader]), total(late), window)


CHANGES = """
import os, sys, threading, time
def change():
    sys.stdin.readline()
    os.execv(sys.argv[1], [sys.argv[1], "hung"])
threading.Thread(target=change).start()
print("ready", flush=True)
while True:
    time.sleep(0.02)
"""


def test_another_program_in_the_window():
    """An exec by a thread that is not the first: every other thread ends, and it goes on under the first one's number."""
    with xp.Target("/usr/bin/python3", "-c", CHANGES, xp.TARGETS / "waits") as target:
        run = xp.start("measure", "--pid", target.pid, "--cpu-sample", "--off-cpu", "--duration-ms", 3000, "--max-cost", 0, "--evidence", "full",
                       "--json")
        xp.wait_for_links(run)
        time.sleep(0.8)
        target.tell("")
        doc = xp.finish(run).doc
    assert doc["status"] == "completed" and "target_exec" in [issue["code"] for issue in doc["quality"]["issues"]], doc["quality"]
    window, groups = doc["collection"]["window_ns"], doc["off_cpu"]["groups"]
    for group in groups:
        group["names"] = [frame["symbol"] for frame in group["frames"]]
    before = [group for group in groups if group["thread_name_pattern"].startswith("python") and group["reason"] == "sleep"]
    assert sum(group["count"] for group in before) > 0 and all(group["open_at_end"] == 0 for group in before), before
    assert not any((frame["module_path"] or "").endswith("/waits") for group in before for frame in group["frames"]), before
    hung, = [group for group in groups if "hang_here" in group["names"]]
    assert hung["count"] == hung["open_at_end"] == 7, hung
    first = [group for group in groups if group["thread_name_pattern"] == "waits" and "main" in group["names"]]
    assert sum(group["open_at_end"] for group in first) == 1, groups
    # The first thread's number: naps of the one program, the pause of the other.
    assert total(before) + total(first) <= 1.001 * window and total(hung and [hung]) <= 7 * window, (total(before), total(first), window)
    assert max(group["max_ns"] for group in groups) <= window, groups


def test_short_blocks_are_counts():
    """Below the bound there is no stack, and nothing is lost but that."""
    code = "import time\nwhile True: time.sleep(0.0002)\n"
    with subprocess.Popen(["/usr/bin/python3", "-c", code]) as process:
        try:
            time.sleep(0.3)
            doc, value = off_cpu(process.pid)
        finally:
            process.kill()
    short = [g for g in value["groups"] if not g["frames"] and g["reason"] == "sleep"]
    assert len(short) == 1 and short[0]["count"] > 100 and short[0]["max_ns"] < 1_000_000, short


PYTHON = """
import threading, time
held = threading.Lock()
held.acquire()
def wait_for_lock():
    held.acquire()
def spin():
    n = 0
    while True:
        n += 1
def spin_too():
    n = 0
    while True:
        n += 1
for run in {threads}:
    threading.Thread(target=run, daemon=True).start()
print("ready", flush=True)
time.sleep(1000)
"""


class Python:
    def __init__(self, threads):
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")
        path = pathlib.Path(xp.scratch()) / "waits.py"
        path.write_text(PYTHON.format(threads=threads))
        self.process = subprocess.Popen([python, path], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        time.sleep(0.2)

    def __enter__(self):
        return self.process

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()


def python_lines(group):
    return [(frame["symbol"], frame["line"]) for frame in group["frames"] if frame["kind"] == "python"]


def need_python(value):
    if not any(frame["kind"] == "python" for group in value["groups"] for frame in group["frames"]):
        raise xp.Skip("this Python's frames are not read")


def test_python_lock():
    """A thread that never gets its lock is listed with the line that waits; this is not the interpreter's lock."""
    with Python("(wait_for_lock,)") as process:
        doc, value = off_cpu(process.pid)
    need_python(value)
    (group,) = named(value, "wait_for_lock")
    assert python_lines(group)[0] == ("wait_for_lock", 6), python_lines(group)
    assert group["open_at_end"] == 1 and group["reason"] == "lock", group
    (main,) = named(value, "<module>")
    assert python_lines(main) == [("<module>", 18)] and main["reason"] == "sleep", main
    found = finding(doc, "fully_blocked")
    lines = [entry["python_line"] for entry in found["evidence"]["blocked_stacks"]]
    assert {"function": "wait_for_lock", "line": 6} in [{k: line[k] for k in ("function", "line")} for line in lines if line], lines
    assert "python_gil" not in [f["code"] for f in doc["findings"]]


def test_python_gil():
    """Two spinners share one interpreter: each waits for the other, and that is one finding of its own."""
    with Python("(spin, spin_too)") as process:
        doc, value = off_cpu(process.pid, 2000)
    need_python(value)
    found = finding(doc, "python_gil")
    assert found["evidence"]["python_line"]["function"] in ("spin", "spin_too"), found["evidence"]
    assert 0.1 <= found["window_share"] < 0.8, found
    assert len(found["evidence"]["waiting"]) == 2 and found["evidence"]["holding"], found["evidence"]
    assert not [f for f in doc["findings"] if f["code"] == "syscall_blocked" and f["subject"] == "futex"], doc["findings"]
    assert "python_lock" not in [gap["code"] for gap in doc["not_covered"]]


def test_blocked_call_names_its_line():
    """syscall_blocked shows the stack and the Python line of the call that blocks."""
    code = ("import os\ndef take():\n    for _ in range(20000): pass\n    os.read(0, 1)\nprint(\"ready\", flush=True)\nwhile True: take()\n")
    feeder = subprocess.Popen(["/usr/bin/python3", "-c", "import time\nwhile True:\n time.sleep(0.03)\n print(end='x', flush=True)"],
                              stdout=subprocess.PIPE)
    with subprocess.Popen(["/usr/bin/python3", "-c", code], stdin=feeder.stdout, stdout=subprocess.PIPE, text=True) as process:
        try:
            process.stdout.readline()
            doc, value = off_cpu(process.pid)
        finally:
            process.kill()
            feeder.kill()
            feeder.wait()
    need_python(value)
    found = finding(doc, "syscall_blocked")
    assert found["subject"] == "read" and found["evidence"]["python_line"]["function"] == "take", found
    assert found["evidence"]["python_line"]["line"] == 4, found
    assert found["confidence"] == "measured" and found["evidence"]["stack"], found


def cpu_sample(pid, *more, window=1500):
    return xp.ok("measure", "--pid", pid, "--cpu-sample", "--off-cpu", "--duration-ms", window, "--max-cost", 0, "--json", *more)


def test_beside_cpu_samples():
    """measure --cpu-sample --off-cpu: one window for both, one account each, threads chosen by name, and the thread's time adds up."""
    with xp.Target("waits", "mix") as target:
        doc = cpu_sample(target.pid, "--threads", "name~^mixed$")
        whole = cpu_sample(target.pid, "--min-block-us", 8000)
        without = xp.ok("measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 200, "--json")
    value, window = doc["off_cpu"], doc["collection"]["window_ns"]
    assert [source["source"] for source in doc["collection"]["sources"]] == ["perf_sample", "ebpf_sched"], doc["collection"]
    assert value["min_block_us"] == 1000 and {g["thread_name_pattern"] for g in value["groups"]} == {"mixed"}, value
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    cpu = sum(thread["cpu_ns"] for thread in doc["threads"])
    assert abs(cpu + value["runqueue_ns"] + value["blocked_ns"] - window) <= max(0.01 * window, tick), (cpu, value, window)
    # Polls and reads of 5 ms are below the bound now, so they leave counts alone; those of 10 and 20 ms keep their stacks.
    for group in whole["off_cpu"]["groups"]:
        if group["thread_name_pattern"] == "mixed" and group["syscall_name"] in ("poll", "read") and group["max_ns"] < 8_000_000:
            assert not group["frames"], group
    artifact = json.loads(pathlib.Path(whole["evidence"]["artifact"]["path"]).read_text())
    kept = {frame["symbol"] for group in artifact["off_cpu"]["groups"] for frame in group["frames"]}
    assert {"nap_long", "lock_short"} <= kept, kept
    assert without["off_cpu"] is None, without["off_cpu"]


def test_identity_of_each_thread():
    """On-CPU, waiting and blocked time of the one kind are the window of the other: /proc against the switches."""
    with xp.Target("waits", "mix") as target:
        doc, value = off_cpu(target.pid, 2000)
        window = doc["window"]["duration_ns"]
    threads = doc["summary"]["threads"]
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    whole = threads["on_cpu_ns"] + value["runqueue_ns"] + value["blocked_ns"]
    assert abs(whole - 2 * window) <= max(0.01 * 2 * window, 2 * tick), (whole, window)


if __name__ == "__main__":
    xp.main()
