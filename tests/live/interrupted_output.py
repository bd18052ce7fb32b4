# SPDX-License-Identifier: Apache-2.0
"""H1 in captures: the reader goes away, stdout is closed or full, a signal comes. Target and evidence outlive it, one document at most leaves."""
import os
import pathlib
import signal
import subprocess
import tempfile
import time

import xp

CALLER = xp.BUILD / "bench/bench_caller"
PAIR = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:exit", "--match", "exact"]
RARE = ["--from", "syscall:sched_setscheduler:entry", "--to", "syscall:sched_setscheduler:exit", "--match", "exact"]
WINDOW = 20_000
BOUNDS = ["--max-cost", 0, "--duration-ms", WINDOW]


def captures(pid):
    yield "exact", ["measure", "--pid", pid, *PAIR, *BOUNDS]
    yield "syscalls", ["measure", "--pid", pid, "--syscall-aggregate", *BOUNDS]
    yield "triage", ["measure", "--pid", pid, "--triage", *BOUNDS]


def left_in(folder):
    """Artifacts below a TMPDIR, each checked for its rights; temporaries are a fault."""
    found = []
    for path in pathlib.Path(folder).rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), f"mode {path.stat().st_mode:o} of {path}"
        assert not path.name.endswith(".tmp"), f"{path} was left"
        if path.is_file():
            found.append(path.name)
    return found


def test_reader_that_goes_away_in_the_window():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for name, args in captures(target.pid):
            with tempfile.TemporaryDirectory() as folder:
                process = xp.start(*args, env={"TMPDIR": folder})
                xp.wait_armed(process)
                process.stdout.close()
                process.send_signal(signal.SIGINT)
                err = process.stderr.read()
                assert process.wait(10) == 1 and b"OUTPUT_FAILED" in err, (name, process.returncode, err)
                assert left_in(folder), f"{name}: the evidence is gone"
            assert target.alive()


def test_closed_stdout_attaches_nothing():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        for name, args in captures(target.pid):
            started = time.monotonic()
            done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", xp.XPROBE, *map(str, args)], stderr=subprocess.PIPE, timeout=30,
                                  stdin=subprocess.DEVNULL, env={**os.environ, "TMPDIR": folder})
            assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, (name, done)
            assert time.monotonic() - started < 5 and not os.listdir(folder), f"{name} went on without a stdout"


def test_full_stdout_keeps_the_evidence():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for name, args in captures(target.pid):
            with tempfile.TemporaryDirectory() as folder, open("/dev/full", "wb") as full:
                short = [300 if word == WINDOW else word for word in args]
                done = subprocess.run([xp.XPROBE, *map(str, short)], stdout=full, stderr=subprocess.PIPE, timeout=30, stdin=subprocess.DEVNULL,
                                      env={**os.environ, "TMPDIR": folder})
                assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, (name, done)
                assert left_in(folder), f"{name}: the evidence is gone"


def test_first_signal_gives_the_result_of_the_shorter_window():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for name, args in captures(target.pid):
                process = xp.start(*args)
                xp.wait_armed(process)
                process.send_signal(number)
                result = xp.finish(process, 10)
                assert result.exit == 0 and result.doc["status"] == "cancelled", f"{name} {number}: {result}"
                assert "cancelled" in [issue["code"] for issue in result.doc["quality"]["issues"]], result
        assert target.alive()


def test_signal_without_a_pair_is_cancelled():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        process = xp.start("measure", "--pid", target.pid, *RARE, *BOUNDS)
        xp.wait_armed(process)
        process.send_signal(signal.SIGTERM)
        result = xp.finish(process, 10)
        assert result.code == "CANCELLED" and result.exit == 1, result


def test_two_signals_end_it_within_two_seconds():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        for name, args in captures(target.pid):
            process = xp.start(*args)
            xp.wait_armed(process)
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            started = time.monotonic()
            result = xp.finish(process, 10)
            assert time.monotonic() - started < 3, name
            assert result.code in (None, "CANCELLED"), result
            assert target.alive()


if __name__ == "__main__":
    xp.main()
