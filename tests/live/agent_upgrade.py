#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent meets what real machines have: a libcudart linked in or several CUPTI copies (a probe missed them elsewhere), an agent of an
older build or of another control version. Counts are primes and exact; the program is the fake CUDA's, the agent comes by injection.
"""
import contextlib
import glob
import os
import shutil
import struct
import subprocess
import tempfile

import xp
from fake_cuda import FAKE, KERNELS, App, warnings

AGENT = xp.BUILD / "libxprobe-agent.so"
STATE, ARMED = 128 + 24, 2  # wire/agent.h


def measured(app, line):
    result, _ = app.measure(*KERNELS, lines=[line])
    assert result.exit == 0, result
    return result.doc


def agents(app):
    """Memory files of agents: control version -> path."""
    links = {}
    for path in glob.glob(f"/proc/{app.pid}/fd/*"):
        with contextlib.suppress(FileNotFoundError):  # the program closes some meanwhile
            links[path] = os.readlink(path)
    return {text.split("xprobe-agent-")[1].split()[0]: path for path, text in links.items() if "xprobe-agent-" in text}


def check(document, count):
    samples, cuda = document["measurement"]["samples"], document["collection"]["cuda"]
    assert samples["matched"] == count and samples["unmatched_start"] == samples["unmatched_end"] == 0, samples
    assert cuda["api_launches_seen"] == cuda["activities_seen"] == count, cuda
    # Stated, and bounded: names 16 MiB, ring 32, buffers 32, tables and a stack.
    assert 16 << 20 < cuda["agent_memory_bytes"] <= 96 << 20, cuda


def copy(major, *parts):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return shutil.copy(FAKE / str(major) / os.path.basename(path), path)


def test_runtime_linked_into_the_program():
    """CUDA is seen through libcuda alone, and CUPTI found where the program was told to look for CUDA."""
    xp.need_root()
    with tempfile.TemporaryDirectory() as folder:
        cupti = copy(13, folder, "extras/CUPTI/lib64/libcupti.so.13")
        with App(program=FAKE / "app_static", cupti="", environment={"CUDA_HOME": folder}) as app:
            assert "libcudart" not in open(f"/proc/{app.pid}/maps").read()
            document = measured(app, "launch 3 101 k 500")
            check(document, 303)
            assert warnings(document)["CUPTI_AGENT_INJECTED"]["cupti_path"] == cupti, document["warnings"]


def test_cuda_home_wins_in_any_order_of_the_environment():
    """A toolkit on PATH that stood before CUDA_HOME in the environment was taken instead."""
    xp.need_root()
    with tempfile.TemporaryDirectory() as folder:
        cupti = copy(13, folder, "meant/extras/CUPTI/lib64/libcupti.so.13")
        copy(13, folder, "other/extras/CUPTI/lib64/libcupti.so.13")
        os.mkdir(f"{folder}/other/bin")
        words = {"PATH": f"{folder}/other/bin:{os.environ['PATH']}", "CUDA_HOME": f"{folder}/meant"}
        for names in (["PATH", "CUDA_HOME"], ["CUDA_HOME", "PATH"]):
            in_order = ["env", "-i", *(f"{name}={words[name]}" for name in names)]
            with App(program=FAKE / "app_static", cupti="", prefix=in_order) as app:
                assert app.tell("launch 1 3 begun 10") >= 0  # libcuda is mapped
                document = measured(app, "launch 3 101 k 500")
                assert warnings(document)["CUPTI_AGENT_INJECTED"]["cupti_path"] == cupti, document["warnings"]


def test_two_copies_of_one_major():
    """The fake's last copy is the one that works: the other one sees nothing."""
    xp.need_root()
    with tempfile.TemporaryDirectory() as folder:
        for name in ("libcudart.so.13", "libcupti.so.13"):
            copy(13, folder, "nvidia/cu13/lib", name)
        other = copy(13, folder, "zother/lib/libcupti.so.13")
        right = f"{folder}/nvidia/cu13/lib"
        with App(library=other, cupti=f"{right}/libcupti.so.13", environment={"LD_LIBRARY_PATH": right}) as app:
            check(measured(app, "launch 3 103 k 500"), 309)


def test_two_majors():
    """As torch with triton: CUDA 13's, beside a CUPTI 12 that came first."""
    xp.need_root()
    with App(library=f"{FAKE}/12/libcupti.so.12") as app:
        document = measured(app, "launch 3 107 k 500")
        check(document, 321)
        assert document["collection"]["cuda"]["cupti_version"] == 130001, document["collection"]["cuda"]


def test_an_agent_of_an_older_build_is_reused():
    xp.need_root()
    with App() as app, tempfile.TemporaryDirectory() as folder:
        notes = subprocess.run(["readelf", "-n", AGENT], stdout=subprocess.PIPE, text=True, check=True).stdout
        build_id = bytes.fromhex(notes.split("Build ID: ")[1].split()[0])
        older = os.path.join(folder, "older.so")
        with open(AGENT, "rb") as file, open(older, "wb") as to:
            to.write(file.read().replace(build_id, build_id[::-1]))
        assert app.tell(f"agent {older}") == 0
        document = measured(app, "launch 3 109 k 500")
        check(document, 327)
        assert "CUPTI_AGENT_INJECTED" not in warnings(document) and list(agents(app)) == ["5"], (document["warnings"], agents(app))


def test_an_agent_of_another_control_version():
    """Idle it is left alone and ours comes beside it; at work the target is busy, both versions named, nothing is injected."""
    xp.need_root()
    with App() as app:
        assert app.tell(f"agent {FAKE}/next_agent.so") == 0
        with open(agents(app)["6"], "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), struct.pack("<I", ARMED), STATE)
            run = xp.run("measure", "--pid", app.pid, *KERNELS, "--duration-ms", "100")
            assert run.exit == 1 and run.doc["error"]["code"] == "TARGET_BUSY", run
            assert "version 6" in run.doc["error"]["message"] and "version 5" in run.doc["error"]["message"], run.doc["error"]
            assert run.doc["error"]["details"]["holder"] == "agent of control version 6", run.doc["error"]
            assert list(agents(app)) == ["6"]
            os.pwrite(file.fileno(), struct.pack("<I", 0), STATE)
        document = measured(app, "launch 3 113 k 500")
        check(document, 339)
        assert "CUPTI_AGENT_INJECTED" in warnings(document) and sorted(agents(app)) == ["5", "6"], (document["warnings"], agents(app))
        check(measured(app, "launch 3 127 k 500"), 381)
        assert app.tell("get freed_early") == 0


def graph_spec(app):
    target = {"pid": app.pid, "process_start_time": int(open(f"/proc/{app.pid}/stat").read().rsplit(")", 1)[1].split()[19])}
    return {"schema_version": "3.0", "name": "launch_path", "target": target, "samples": None, "duration_ms": 700, "timeout_ms": 30000, "max_events": 20000,
            "max_cost": 0, "endpoints": {"launch": "cuda:driver_api:cuLaunchKernel:entry", "start": "cuda:kernel_start", "end": "cuda:kernel_end"},
            "edges": [{"name": "latency", "start": "launch", "end": "start", "match_policy": "exact"},
                      {"name": "kernel", "start": "start", "end": "end", "match_policy": "exact"}]}


def test_validate_of_a_graph_looks_for_the_agent_and_cupti():
    with App() as app:
        spec = xp.spec_file(graph_spec(app))
        assert xp.ok("validate", "--spec", spec)["valid"]
        document = xp.run("validate", "--spec", spec, "--agent", "/nonexistent/agent.so").doc
        assert not document["valid"] and {issue["code"] for issue in document["issues"]} == {"CUPTI_NOT_AVAILABLE"}, document
        assert {issue["name"] for issue in document["issues"]} == {"launch", "start", "end"}, document["issues"]
        assert not any(edge["valid"] for edge in document["edges"]), document["edges"]
    with tempfile.TemporaryDirectory() as folder, App(program=FAKE / "app_static", cupti="", environment={"PATH": folder, "LD_LIBRARY_PATH": ""}) as app:
        document = xp.run("validate", "--spec", xp.spec_file(graph_spec(app))).doc
        toolkit = glob.glob("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[23]")
        assert toolkit or (not document["valid"] and "CUPTI_NOT_AVAILABLE" in {issue["code"] for issue in document["issues"]}), document


if __name__ == "__main__":
    xp.main()
