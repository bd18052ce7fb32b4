# SPDX-License-Identifier: Apache-2.0
"""Contract 7, `dev agent`: what an agent does and who holds it, before, in and behind a capture; disarming. The command was not there."""
import time

import xp
from fake_cuda import KERNELS, App


def ask(app, action, exit=0):
    result = xp.run("dev", "agent", "--pid", app.pid, action, text=True, exit=exit)
    return xp.parse_stdout(result.out)


def test_the_life_of_an_agent():
    with App() as app:
        absent = ask(app, "status", exit=1)
        assert absent["error"]["code"] == "CUPTI_AGENT_NOT_LOADED", absent
        measured, _ = app.measure(*KERNELS, lines=["launch 1 7 k 300"])
        assert measured.exit == 0, measured
        idle = ask(app, "status")
        assert (idle["state"], idle["ended"], idle["lease"], idle["control_version"]) == ("idle", None, None, 5), idle
        assert idle["cupti_path"].endswith("libcupti.so.13") and idle["cupti_version"] and idle["agent_tid"], idle
        assert idle["target"]["pid"] == app.pid and len(idle["build_id"]) == 40, idle
        assert ask(app, "disarm")["state"] == "idle"


def test_a_capture_of_another_tool_is_left_alone():
    with App() as app:
        run = xp.start("measure", "--pid", app.pid, *KERNELS, "--duration-ms", 6000, "--max-cost", 0)
        deadline = time.monotonic() + 10
        while ask(app, "status", exit=None).get("state") != "armed":
            assert time.monotonic() < deadline, "never armed"
            time.sleep(0.05)
        armed = ask(app, "status")
        assert armed["lease"]["session"].startswith(f"xp_measure_{run.pid}_") and armed["lease"]["tool_pid"] == run.pid, armed
        refused = ask(app, "disarm", exit=1)
        assert refused["error"]["code"] == "TARGET_BUSY", refused
        assert refused["error"]["details"]["holder"] == armed["lease"]["session"], refused
        app.tell("launch 1 5 k 300")
        run.kill()
        run.communicate()
        while ask(app, "disarm", exit=None).get("state") != "idle":
            assert time.monotonic() < deadline + 5, "never at rest"
            time.sleep(0.05)
        assert ask(app, "status")["lease"] is None


if __name__ == "__main__":
    xp.need_root()
    xp.main()
