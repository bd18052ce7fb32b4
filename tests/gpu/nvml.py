#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`discover` and the triage's gpu source beside a busy PyTorch process, against the numbers of nvidia-smi.

Needs an NVIDIA GPU, nvidia-smi, and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked
from real_cuda import need_gpu, torch_command

WORKER = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_worker.py"
MIB = 1 << 20


def smi(*args):
    return subprocess.run(["nvidia-smi", *args], stdout=subprocess.PIPE, text=True, check=True).stdout


def query(*names):
    """{name: text} of the first GPU."""
    line = smi(f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits").splitlines()[0]
    return dict(zip(names, (part.strip() for part in line.split(","))))


def counters_us():
    """Cumulative clock event counters, as nvidia-smi prints them."""
    text = smi("-q", "-d", "PERFORMANCE")
    return {name.strip(): int(value) for name, value in re.findall(r"^\s+([A-Za-z ]+?)\s*:\s*(\d+) us$", text, re.MULTILINE)}


class Torch(Asked):
    """The worker of torch_process.py."""

    def __init__(self, prefix=()):
        need_gpu()
        if not shutil.which("nvidia-smi"):
            raise xp.Skip("no nvidia-smi here")
        super().__init__(torch_command(WORKER), prefix, greets=True)


def discover(pid):
    run = xp.run("discover", "--pid", pid, exit=0)
    print(f"discover {run.seconds:.2f} s: {run.out.decode().strip()[:700]}")
    return run.doc


def test_discover_and_nvidia_smi_agree():
    with Torch() as torch:
        pid = torch.pid
        for root in (os.getpid(), pid):
            one, = discover(root)["candidates"]
            assert one["target"]["pid"] == pid and one["parent_pid"] == os.getpid(), one
            assert one["gpu_uuids"] == [query("uuid")["uuid"]] and one["mig_uuids"] == [] and one["nested_pid"] is None, one
            assert one["thread_count"] == len(os.listdir(f"/proc/{pid}/task")) and not one["agent_loaded"], one
        listed = smi("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits")
        print("nvidia-smi:", listed.split())
        told = dict(re.findall(r"(\d+), *(\d+)", listed))
        if str(pid) in told:
            assert abs(one["gpu_memory_bytes"] - int(told[str(pid)]) * MIB) <= MIB, (one, told)
        with xp.sleeper() as unrelated:
            assert discover(unrelated.pid)["candidates"] == []


def test_discover_in_a_pid_namespace():
    xp.need_root()
    unshare = xp.need_command("unshare")
    with Torch((unshare, "--pid", "--mount-proc", "--fork", "--kill-child")) as torch:
        print("nvidia-smi:", smi("--query-compute-apps=pid", "--format=csv,noheader").split(), "inner process here:", torch.pid)
        doc = discover(torch.process.pid)
        assert [(one["target"]["pid"], one["nested_pid"]) for one in doc["candidates"]] == [(torch.pid, 1)] and doc["warnings"] == [], doc


def test_gpu_source_and_nvidia_smi_agree():
    with Torch() as torch, torch.busy("matmul 2000"):
        time.sleep(1.5)
        before_us, before_s = counters_us(), time.monotonic()
        run = xp.run("measure", "--pid", torch.pid, "--triage", "--duration-ms", 2000, "--max-cost", 0, exit=0)
        after_us, after_s = counters_us(), time.monotonic()
        fixed = query("uuid", "name", "memory.total", "power.limit", "clocks.max.sm", "pcie.link.width.max", "pcie.link.width.current", "pcie.link.gen.current")
        moving = query("utilization.gpu", "power.draw", "clocks.sm", "temperature.gpu", "memory.used", "ecc.errors.uncorrected.volatile.total")
    source = next(one for one in run.doc["sources"] if one["name"] == "gpu")
    assert source["status"] == "available", source
    device, = run.doc["summary"]["gpu"]["devices"]
    artifact, = json.loads(pathlib.Path(source["artifact"]["path"]).read_text())["devices"]
    print("xprobe:", json.dumps(device))
    print("artifact:", json.dumps({key: artifact[key] for key in artifact if key not in device}))
    print("nvidia-smi:", fixed, moving)
    print("counters, us:", {name: after_us[name] - before_us[name] for name in after_us}, f"in {after_s - before_s:.1f} s")
    print(f"whole command {run.seconds:.2f} s, {len(run.out)} bytes; findings", [(one["code"], one["window_share"]) for one in run.doc["findings"]])
    assert (device["uuid"], device["name"]) == (fixed["uuid"], fixed["name"]) and artifact["use"] == "nvml", artifact
    assert device["memory_total"] // MIB == int(fixed["memory.total"]) and device["power_limit_mw"] == round(float(fixed["power.limit"]) * 1000)
    assert device["sm_clock_max_mhz"] == int(fixed["clocks.max.sm"])
    for ours, theirs in (("pcie_width", "pcie.link.width.current"), ("pcie_width_max", "pcie.link.width.max"), ("pcie_generation", "pcie.link.gen.current")):
        assert str(device[ours]) == fixed[theirs] or device[ours] is None, (ours, device[ours], fixed[theirs])
    assert device["utilization"] > 0.8, "a GPU that multiplies all the time"
    assert abs(device["temperature_c"] - int(moving["temperature.gpu"])) <= 8
    assert abs(device["power_mw"] / 1000 - float(moving["power.draw"])) <= 0.35 * float(moving["power.draw"])
    assert abs(device["memory_used"] // MIB - int(moving["memory.used"])) <= 64
    assert device["process_memory"] and device["process_memory"] <= device["memory_used"] + (1 << 30)
    names = {"SW Power Capping": "sw_power_cap", "Sync Boost": "sync_boost", "SW Thermal Slowdown": "sw_thermal", "HW Thermal Slowdown": "hw_thermal",
             "HW Power Braking": "hw_power_brake"}
    sources = {event["reason"]: event["source"] for event in artifact["clock_events"]}
    for theirs, ours in names.items():
        if theirs in after_us and sources.get(ours) == "counters":
            assert device["clock_event_ns"][ours] <= (after_us[theirs] - before_us[theirs]) * 1000 + 50_000_000, (ours, device["clock_event_ns"])
    assert artifact["span_ns"] >= 0.95 * run.doc["window"]["duration_ns"] and artifact["readings"] >= 8, artifact


def test_commands_that_findings_propose_run():
    need_gpu()
    uuid = query("uuid")["uuid"]
    for part in ("POWER", "TEMPERATURE", "PERFORMANCE", "MEMORY", "ECC,ROW_REMAPPER"):
        assert "GPU" in smi("-i", uuid, "-q", "-d", part)
    assert "Link Width" in smi("-i", uuid, "-q")


if __name__ == "__main__":
    xp.main()
