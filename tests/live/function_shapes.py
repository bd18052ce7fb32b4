# SPDX-License-Identifier: Apache-2.0
"""Faults: a return probe ended Go programs, and C++ programs at their first exception; a segment's address was taken for its file offset, so
that probes sat beside the function; collector markers were waited for in vain, or their semaphore stayed raised."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import xp

SHAPES = xp.BUILD / "targets"
THROWING = 9973
THROWN = 3325  # of the values 0 to 9972 those that are multiples of three
COLLECTIONS = 53


def program(name):
    path = SHAPES / name
    if not path.exists():
        raise xp.Skip(f"{name} was not built, its compiler is absent")
    return path


def attached(pid):
    """BPF links or uprobe events that a process holds."""
    held = 0
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        try:
            held += "link_type:" in entry.read_text()
        except OSError:
            pass
    return held


def begin(target, start, end, match="stack-nested"):
    run = xp.start("measure", "--pid", target.pid, "--from", start, "--to", end, "--match", match, "--duration-ms", 30000, "--max-cost", 0)
    limit = time.monotonic() + 20
    while not attached(run.pid) and run.poll() is None:
        assert time.monotonic() < limit, "no probe was attached in 20 s"
        time.sleep(0.02)
    time.sleep(0.3)
    return run


def finish(run):
    """Ends the window now that every call was made, however long that took on this machine."""
    run.send_signal(signal.SIGINT)
    result = xp.finish(run)
    assert result.exit == 0 and result.doc["status"] == "cancelled", result
    return result


def count(name, function):
    """Lets the program make its calls between both probes; samples of the result. The program must live and end well."""
    path = program(name)
    with xp.Target(path) as target:
        run = begin(target, f"uprobe:{path}:{function}:entry", f"uprobe:{path}:{function}:return")
        target.tell("go")
        assert target.read_line().startswith("done"), f"{name} did not finish its calls"
        result = finish(run)
        assert target.alive(), f"{name} was ended"
        target.tell("end")
        assert target.wait() == 0
    samples = result.doc["measurement"]["samples"]
    return samples["matched"], samples["unmatched_start"], samples["unmatched_end"]


def test_c_in_every_shape():
    xp.need_bpf()
    for name in ("functions", "functions_plain", "functions_nopie", "functions_shifted", "functions_lld", "functions_static", "functions_minidebug",
                 "functions_debuglink"):
        assert count(name, "many_ways") == (1009, 0, 0), name


def test_c_tail_calls_longjmp_and_cold_parts():
    xp.need_bpf()
    assert count("functions", "tail_caller") == (211, 0, 0)
    assert count("functions", "jumps_out") == (154, 153, 0)
    assert count("functions", "rarely_cold") == (503, 0, 0)


def test_stripped_by_offset():
    xp.need_bpf()
    whole = program("functions")
    with xp.Target(whole) as target:
        offset = xp.ok("resolve", "--pid", target.pid, "--selector", f"uprobe:{whole}:many_ways:entry")["file_offset"]
    assert count("functions_stripped", f"+0x{offset:x}") == (1009, 0, 0)


def test_cxx_exceptions_leave_the_function():
    xp.need_bpf()
    for function in ("symbol=throws_some(int)", "throws_some_c"):
        assert count("cxx", function) == (THROWING - THROWN, THROWN, 0), function
    assert count("cxx", "symbol=catches(int)") == (THROWING, 0, 0)


def test_rust_panics_leave_the_function():
    xp.need_bpf()
    assert count("rusty", "symbol=rusty::panics_some") == (672, 337, 0)
    assert count("rusty", "rust_exported") == (1009, 0, 0)


def test_go_moves_stacks_and_threads():
    xp.need_bpf()
    assert count("gopher", "main.work") == (7 * 149, 0, 0)
    # Each goroutine's stack grows several times within these calls, which begins a call again.
    assert count("gopher", "main.deep") == (7 * 101, 0, 0)


COLLECTOR = f"""
import gc, sys
gc.disable()
counted = [0]
gc.callbacks.append(lambda phase, info: counted.__setitem__(0, counted[0] + (phase == "stop")))
print("ready", flush=True)
sys.stdin.readline()
for _ in range({COLLECTIONS}):
    gc.collect()
print("counted", counted[0], flush=True)
sys.stdin.readline()
"""


def semaphore_of(pid, python):
    """Address in the process of the semaphore of gc__start; None when Python was built without markers."""
    notes = subprocess.run(["readelf", "-nW", python], capture_output=True, text=True).stdout
    found = re.search(r"Name: gc__start\s+Location: \S+ Base: \S+ Semaphore: (0x[0-9a-f]+)", notes)
    if not found or int(found[1], 16) == 0:
        return None
    header = subprocess.run(["readelf", "-hW", python], capture_output=True, text=True).stdout
    first = pathlib.Path(f"/proc/{pid}/maps").read_text().split("-")[0]
    return int(found[1], 16) + (int(first, 16) if "DYN" in header else 0)


def read_short(pid, address):
    with open(f"/proc/{pid}/mem", "rb") as memory:
        memory.seek(address)
        return int.from_bytes(memory.read(2), "little")


def test_python_collections():
    xp.need_bpf()
    if not os.path.exists("/usr/bin/python3") or not shutil.which("readelf"):
        raise xp.Skip("wants /usr/bin/python3 and readelf")
    python = os.path.realpath("/usr/bin/python3")
    with xp.Target(python, "-c", COLLECTOR) as target:
        semaphore = semaphore_of(target.pid, python)
        found = xp.run("validate", "--pid", target.pid, "--from", "python:gc_start", "--to", "python:gc_end", "--match", "exact")
        if found.code == "SYMBOL_NOT_FOUND":
            assert "not built in" in found.error["message"], found
            raise xp.Skip("this Python has neither markers nor symbols")
        run = begin(target, "python:gc_start", "python:gc_end", "exact")
        if semaphore:
            assert read_short(target.pid, semaphore) == 1
        target.tell("go")
        assert target.read_line() == f"counted {COLLECTIONS}"
        result = finish(run)
        assert result.doc["measurement"]["samples"]["matched"] == COLLECTIONS, result.doc["measurement"]["samples"]
        if not semaphore:
            return
        assert read_short(target.pid, semaphore) == 0
        run = begin(target, "python:gc_start", "python:gc_end", "exact")
        assert read_short(target.pid, semaphore) == 1
        run.send_signal(signal.SIGKILL)
        run.wait()
        limit = time.monotonic() + 5
        while read_short(target.pid, semaphore) and time.monotonic() < limit:
            time.sleep(0.02)
        assert read_short(target.pid, semaphore) == 0, "the semaphore stayed raised"


def test_python_without_markers():
    xp.need_bpf()
    path = program("fakepython")
    with xp.Target(path) as target:
        result = xp.run("validate", "--pid", target.pid, "--from", "python:gc_start", "--to", "python:gc_end", "--match", "exact", exit=0)
        assert result.doc["start"]["linux"]["provider"] is None, result.doc["start"]
    stripped = program("fakepython_stripped")
    with xp.Target(stripped) as target:
        started = time.monotonic()
        result = xp.run("measure", "--pid", target.pid, "--from", "python:gc_start", "--to", "python:gc_end", "--match", "exact",
                        "--duration-ms", 20000, code="SYMBOL_NOT_FOUND")
        assert "not built in" in result.error["message"]
        assert time.monotonic() - started < 5


if __name__ == "__main__":
    xp.main()
