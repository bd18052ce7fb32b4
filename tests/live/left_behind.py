# SPDX-License-Identifier: Apache-2.0
"""D7: a tracer that was ended left its probes in the kernel. Signals of every kind at random times: the target lives on with its own code, no
BPF link, program, trace event or file of ours remains, and the next run works."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import time

import xp

CALLER = xp.BUILD / "bench/bench_caller"
FUNCTION = f"uprobe:{CALLER}:tick"
EXACT = ["--from", f"{FUNCTION}:entry", "--to", f"{FUNCTION}:return", "--match", "stack-nested"]
BOUNDS = ["--max-cost", 0, "--duration-ms", 20_000]
TRACE_EVENTS = [pathlib.Path(f"/sys/kernel/{place}/uprobe_events") for place in ("tracing", "debug/tracing")]
ROUNDS = 7
LATEST_S = 0.7
BREAKPOINT = 0xCC


def bpftool():
    path = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.path.exists(path):
        raise xp.Skip("wants bpftool")
    return path


def ownerless(tool):
    """Links and programs that no process holds. What runs beside this test has holders."""
    found = set()
    for kind in ("link", "prog"):
        for entry in json.loads(subprocess.run([tool, "-j", kind, "list"], capture_output=True, check=True).stdout):
            if not entry.get("pids"):
                found.add((kind, entry["id"]))
    return found


def trace_events():
    return [path.read_text() for path in TRACE_EVENTS if path.exists()]


class Code:
    """The first bytes of tick() in the target."""

    def __init__(self, pid):
        self.pid, self.address = pid, xp.ok("resolve", "--pid", pid, "--selector", f"{FUNCTION}:entry")["runtime_address"]
        self.before = self.read()
        assert BREAKPOINT not in self.before[:1]

    def read(self):
        with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
            return os.pread(memory.fileno(), 16, self.address)

    def check(self):
        assert self.read() == self.before, f"{self.read().hex()} in place of {self.before.hex()}"


def commands(pid):
    yield ["measure", "--pid", pid, *EXACT, *BOUNDS]
    yield ["measure", "--pid", pid, "--syscall-aggregate", *BOUNDS]
    yield ["measure", "--pid", pid, "--triage", *BOUNDS]


def until(condition, what, seconds=5):
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, f"{what} after {seconds} s"
        time.sleep(0.05)


def end_at_random(args, number, delay, folder):
    process = xp.start(*args, env={"TMPDIR": folder})
    time.sleep(delay)
    process.send_signal(number)
    if number == signal.SIGKILL:
        process.communicate()
        return
    result = xp.finish(process, 15)
    assert result.code in (None, "CANCELLED"), result
    assert result.code or result.doc["status"] == "cancelled", result
    temporaries = [path for path in pathlib.Path(folder).rglob("*") if path.name.endswith(".tmp")]
    assert not temporaries, temporaries
    if result.code and not xp.artifact_of(result.doc):
        assert os.listdir(folder) == [], f"left without being named: {os.listdir(folder)}"


def test_any_signal_at_any_time():
    xp.need_bpf()
    tool = bpftool()
    seed = random.randrange(1 << 30)
    moments = random.Random(seed)
    print(f"  seed {seed}")
    events = trace_events()
    with xp.Target(CALLER) as target:
        code, before = Code(target.pid), ownerless(tool)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            for args in commands(target.pid):
                for _ in range(ROUNDS):
                    with tempfile.TemporaryDirectory() as folder:
                        end_at_random(args, number, moments.uniform(0, LATEST_S), folder)
                    assert target.alive()
                    code.check()
        until(lambda: ownerless(tool) <= before, "BPF objects without a holder")
        assert trace_events() == events
        doc = xp.ok("measure", "--pid", target.pid, *EXACT, "--samples", 101, "--max-cost", 0)
        assert doc["measurement"]["samples"]["matched"] == 101, doc["measurement"]
        code.check()


def test_sigkill_in_the_window_takes_the_probe_off():
    """The other test would pass where no probe had ever been in place."""
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        code = Code(target.pid)
        process = xp.start("measure", "--pid", target.pid, *EXACT, *BOUNDS, env={"TMPDIR": folder})
        xp.wait_armed(process)
        assert code.read()[0] == BREAKPOINT, code.read()
        process.kill()
        process.communicate()
        code.check()
        assert os.listdir(folder) == [], "a capture that was killed had files already"
        assert target.alive() and "TracerPid:\t0\n" in pathlib.Path(f"/proc/{target.pid}/status").read_text()


if __name__ == "__main__":
    xp.main()
