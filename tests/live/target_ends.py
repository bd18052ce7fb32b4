# SPDX-License-Identifier: Apache-2.0
"""Fault: a target that ended before the tool's own wait gave an error without data, or success without a word; threads that came and went
within one sweep took their CPU time with them; detaching failed once the namespace of the target was gone."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import xp

HERE = os.path.abspath(__file__)
CALLS = 997
TICKS = 499
CHURN_SECONDS = 2.0

TICKER = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void tick(void) { __asm__ volatile("nop; nop; nop" ::: "memory"); }
int main(void)
{
	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < %d; i++)
		tick();
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
"""


def play(what):
    """What the targets of this file do; run as `python3 target_ends.py --play WHAT`."""
    print("ready", flush=True)
    if what == "calls":
        sys.stdin.readline()
        for _ in range(CALLS):
            os.getppid()
        os._exit(0)
    churn()


def churn():
    """Some 500 threads a second, each burning a little. A line "FROM TO" of CLOCK_MONOTONIC is answered with the CPU time of the whole
    process in between, by its own clock."""
    points = []

    def burn():
        end = time.thread_time() + 0.0005
        while time.thread_time() < end:
            pass

    def used_at(t):
        after = next(i for i, point in enumerate(points) if point[0] >= t)
        (t0, used0), (t1, used1) = points[after - 1], points[after]
        return used0 + (used1 - used0) * (t - t0) / (t1 - t0)

    def answer():
        for line in sys.stdin:
            first, last = map(int, line.split())
            print(round(used_at(last) - used_at(first)), flush=True)

    threading.Thread(target=answer, daemon=True).start()
    while True:
        thread = threading.Thread(target=burn)
        thread.start()
        thread.join()
        points.append((time.monotonic_ns(), time.process_time_ns()))
        time.sleep(0.001)


def need_measure():
    if b"measure" not in xp.run("--help", text=True).out.split(b"commands:")[-1]:
        raise xp.Skip("this build has no measure command")
    xp.need_bpf()


def wait_for(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {seconds} s"
        time.sleep(0.02)


def check_end(result, pairs):
    assert result.code == "TARGET_EXITED" and result.exit == 3, result
    partial = result.details["partial"]
    assert partial["status"] == "failed", partial["status"]
    assert partial["measurement"]["samples"]["matched"] == pairs, partial["measurement"]["samples"]
    path = xp.artifact_of(result.doc)
    assert path and len(xp.read_events(path)) == 2 * pairs, path


def test_exit_at_half_the_window():
    need_measure()
    with xp.Target(sys.executable, HERE, "--play", "calls") as target:
        started = time.monotonic()
        run = xp.start("measure", "--pid", target.pid, "--from", "syscall:getppid:entry", "--to", "syscall:getppid:exit", "--match", "exact",
                       "--duration-ms", 8000, "--max-cost", 0)
        wait_for(lambda: xp.links_of(run.pid), "attaching")
        time.sleep(0.5)
        target.tell("go")
        result = xp.finish(run)
        assert time.monotonic() - started < 7, "the window went on without its target"
        check_end(result, CALLS)


def test_namespace_gone_in_mid_capture():
    need_measure()
    compiler, unshare = xp.need_command("cc"), xp.need_command("unshare")
    folder = pathlib.Path(xp.scratch()) / "private"
    folder.mkdir()
    built = pathlib.Path(xp.scratch()) / "ticker"
    subprocess.run([compiler, "-O1", "-x", "c", "-o", built, "-"], input=(TICKER % TICKS).encode(), check=True)
    # The program lies on a file system that only the target sees, and that goes away with it.
    script = f'mount -t tmpfs none {folder} && cp {built} {folder}/ticker && exec {folder}/ticker'
    with xp.Target(unshare, "-m", "sh", "-c", script) as target:
        assert not (folder / "ticker").exists()
        run = xp.start("measure", "--pid", target.pid, "--from", f"uprobe:{folder}/ticker:tick:entry", "--to",
                       f"uprobe:{folder}/ticker:tick:return", "--match", "stack-nested", "--duration-ms", 8000, "--max-cost", 0)
        wait_for(lambda: xp.links_of(run.pid), "attaching")
        time.sleep(0.5)
        target.tell("")
        assert target.read_line() == "done"
        os.kill(target.pid, signal.SIGKILL)
        check_end(xp.finish(run), TICKS)


def test_threads_that_come_and_go():
    need_measure()
    with xp.Target(sys.executable, HERE, "--play", "churn") as target:
        time.sleep(0.3)
        result = xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", int(CHURN_SECONDS * 1000), "--max-cost", 0)
        if result.error and "not part of this build" in result.error["message"]:
            raise xp.Skip("this build has no triage")
        assert result.exit == 0, result
        window, threads = result.doc["window"], result.doc["summary"]["threads"]
        time.sleep(0.1)
        target.tell(f"{window['start_ns']} {window['start_ns'] + window['duration_ns']}")
        used = int(target.read_line())
    seen = threads["on_cpu_ns"] + threads["vanished_cpu_ns"]
    print(f"  {seen / 1e6:.1f} ms seen, {used / 1e6:.1f} ms used")
    assert abs(seen - used) <= 0.05 * used, (seen, used, threads)
    assert threads["started"] > 100 or threads["vanished_cpu_ns"] > 0, threads


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2])
    else:
        xp.main()
