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
    """Some 500 threads a second, each burning a little; CPU time of the whole process on stdout at every line of stdin."""
    def burn():
        end = time.thread_time() + 0.0005
        while time.thread_time() < end:
            pass

    def answer():
        for _ in sys.stdin:
            print(time.process_time_ns(), flush=True)

    threading.Thread(target=answer, daemon=True).start()
    while True:
        thread = threading.Thread(target=burn)
        thread.start()
        thread.join()
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


def links_of(pid):
    """BPF links that a process holds: its probes are attached."""
    count = 0
    for entry in pathlib.Path(f"/proc/{pid}/fdinfo").glob("*"):
        try:
            count += "link_type:" in entry.read_text()
        except OSError:
            pass
    return count


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
        wait_for(lambda: links_of(run.pid), "attaching")
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
        wait_for(lambda: links_of(run.pid), "attaching")
        time.sleep(0.5)
        target.tell("")
        assert target.read_line() == "done"
        os.kill(target.pid, signal.SIGKILL)
        check_end(xp.finish(run), TICKS)


def test_threads_that_come_and_go():
    need_measure()
    with xp.Target(sys.executable, HERE, "--play", "churn") as target:
        time.sleep(0.3)
        run = xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", int(CHURN_SECONDS * 1000), "--max-cost", 0)
        wait_for(lambda: links_of(run.pid) or run.poll() is not None, "attaching")
        target.tell("")
        first, began = int(target.read_line()), time.monotonic()
        result = xp.finish(run)
        if result.error and "not part of this build" in result.error["message"]:
            raise xp.Skip("this build has no triage")
        assert result.exit == 0, result
        doc = result.doc
        target.tell("")
        whole = int(target.read_line()) - first
        seconds = time.monotonic() - began
        threads = doc["summary"]["threads"]
        # The share of the process's own clock over a longer time than the window, attaching and analysis included, during which other
        # work of the machine slows it differently; triage.py compares the same sum with the same window to 5 %.
        seen = (threads["on_cpu_ns"] + threads["vanished_cpu_ns"]) / doc["window"]["duration_ns"]
        assert abs(seen - whole / (seconds * 1e9)) < 0.2 * max(seen, 0.2), (seen, whole, seconds, threads)
        assert threads["started"] > 100 or threads["vanished_cpu_ns"] > 0, threads


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2])
    else:
        xp.main()
