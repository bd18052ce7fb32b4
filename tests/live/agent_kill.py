#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""xprobe is killed at any moment of a capture by the agent: the agent is idle within 2.5 s, the program unharmed, the next capture whole.

The program is the fake CUDA's; the agent comes by real injection.
"""
import glob
import os
import pathlib
import random
import subprocess
import time

import xp
from fake_cuda import LAUNCHES, App

IDLE_S = 2.5


def agent_call(app):
    """What the agent's thread waits in; None: there is no agent yet."""
    for comm in glob.glob(f"/proc/{app.pid}/task/*/comm"):
        path = pathlib.Path(comm)
        if path.read_text().strip() == "xprobe-agent":
            return (path.parent / "syscall").read_text().split()
    return None


def idle(app):
    """futex(word, FUTEX_WAIT, answered, no timeout), which is what idle means; 202 is futex."""
    call = agent_call(app)
    return call is None or (call[0] == "202" and call[4] == "0x0")


def flags(app, *more):
    return ["measure", "--pid", str(app.pid), *LAUNCHES, "--max-events", "5000000", "--max-cost", "0", *more]


def wait_idle(app):
    deadline = time.monotonic() + IDLE_S
    while not idle(app):
        assert time.monotonic() < deadline, f"after {IDLE_S} s the agent is in {agent_call(app)}"
        time.sleep(0.02)


def test_killed_at_any_moment():
    xp.need_root()
    seed = int(os.environ.get("XP_SEED", random.randrange(1 << 30)))
    moments = random.Random(seed)
    print("seed", seed)
    with App(end_s=10) as app:
        app.tell("loop 4 300")
        for _ in range(6):
            tool = subprocess.Popen([xp.XPROBE, *flags(app, "--duration-ms", "20000")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(moments.uniform(0.01, 0.9))
            tool.kill()
            tool.wait()
            # A lease that began before the kill lasts a second; only then can the agent begin.
            time.sleep(0.2)
            wait_idle(app)
        document = xp.ok(*flags(app, "--duration-ms", "300"))
        counts = document["measurement"]["samples"]
        # A kernel may lie on the other side of the window's edge, one for each thread.
        assert counts["matched"] > 100 and counts["unmatched_start"] + counts["unmatched_end"] <= 8, counts
        assert app.tell("end") > counts["matched"]
        assert app.tell("get freed_early") == 0


def test_another_session_is_named():
    xp.need_root()
    with App(end_s=10) as app:
        app.tell("loop 1 300")
        first = xp.start(*flags(app, "--duration-ms", "2500"))
        time.sleep(1)
        details = xp.fails("TARGET_BUSY", *flags(app, "--duration-ms", "200"))
        assert details["holder"].startswith("xp_measure_"), details
        assert xp.finish(first).exit == 0
        app.tell("end")


if __name__ == "__main__":
    xp.main()
