#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Triage of unprepared PyTorch processes on a real GPU: the first finding is the cause, its spec runs, the cost is told by their own steps.

Needs an NVIDIA GPU and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere. All
programs load at the same time and run one after the other. XP_GPU_OUT: a folder that keeps the documents.
"""
import array
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from real_cuda import torch_command

CASES = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_cases.py"
WINDOW_MS = 2000
FOLDER = tempfile.TemporaryDirectory()
# The first finding of each program.
FIRST = {"slow": "gpu_kernel", "tiny": "gpu_launch_bound", "pageable": "gpu_pageable_copies", "gaps": "gpu_idle"}
LIBRARY = os.path.join(FOLDER.name, "request.so")
programs = {}


class Program:
    def __init__(self, case):
        self.case, self.steps = case, os.path.join(FOLDER.name, f"{case}-{len(programs)}.steps")
        self.process = subprocess.Popen(torch_command(CASES, case, self.steps, LIBRARY), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid, self.loaded = self.process.pid, False

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def __enter__(self):
        if not self.loaded:
            assert self.process.stdout.readline() == "ready\n", f"{self.case} did not load"
            self.loaded = True
        self.tell("go")
        time.sleep(1.5)
        return self

    def __exit__(self, *_):
        self.tell("stop")
        time.sleep(0.1)

    def end(self):
        """Times of all steps."""
        self.process.stdin.close()
        assert self.process.wait(60) == 0, f"{self.case} was harmed"
        times = array.array("q")
        with open(self.steps, "rb") as steps:
            times.frombytes(steps.read())
        return times


def program(case):
    if not programs:
        torch_command(CASES)  # or skipped, before anything is built
        if not shutil.which("gcc"):
            raise xp.Skip("no gcc here")
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", LIBRARY, "-"], input=b"void request_begin(void) { __asm__ volatile(\"\"); }\n", check=True)
        programs.update({name: Program(name) for name in ("train", "infer", "tiny", "pageable", "slow", "gaps", "request")})
    return programs[case]


def keep(name, data):
    if os.environ.get("XP_GPU_OUT"):
        (pathlib.Path(os.environ["XP_GPU_OUT"]) / name).write_bytes(data)


def triage(target, *more):
    """The document; its size and time are what the issue promises."""
    run = xp.run("measure", "--pid", str(target.pid), "--triage", "--duration-ms", str(WINDOW_MS), *more)
    keep(f"triage-{target.case}.json", run.out)
    assert run.exit == 0, run
    doc = run.doc
    injected = any(warning["code"] == "CUPTI_AGENT_INJECTED" for warning in doc["warnings"])
    beside = run.seconds - doc["window"]["duration_ns"] / 1e9
    print(f"  {target.case}: {len(run.out)} bytes, {beside:.2f} s beside the window{' with injection' if injected else ''}, {doc['status']}, "
          f"stall {doc['cost']['stall_ms']} ms, attach {doc['cost']['attach_ms']:.0f} ms, cost {doc['cost']['cpu_share']}")
    for found in doc["findings"][:4]:
        print(f"    {found['window_share']} {found['code']} {found['subject'][:60]}: {found['message'][:110]}")
        print("      absorbed", [(a["code"], a["subject"][:30], a["window_share"]) for a in found["evidence"].get("absorbed", [])])
    assert len(run.out) <= 24576 and beside <= 2, (len(run.out), beside)
    for name in ("cuda_kernels", "cuda_copies"):
        entry = next(entry for entry in doc["sources"] if entry["name"] == name)
        assert entry["status"] == "available", entry
    return doc


def run_first_spec(doc):
    """The first finding that proposes a spec; it runs as it stands."""
    found = next(found for found in doc["findings"] if found["next"]["kind"] == "measurement_spec")
    spec = found["next"]["spec"]
    assert xp.ok("validate", "--spec", xp.spec_file(spec))["valid"], spec
    result = xp.ok("measure", "--spec", xp.spec_file(spec))
    samples = result["measurement"]["samples"]
    print(f"    next of {found['code']}: {spec['start_selector'][:60]} -> {spec['end_selector'][:50]}: {samples}, p50 {result['measurement']['latency_ns']['p50']} ns")
    assert samples["matched"] > 0 and result["status"] == "completed", result


def slow_down(times, doc):
    """Steps a second outside the window over those inside it."""
    start, length = doc["window"]["start_ns"], doc["window"]["duration_ns"]
    inside = sum(start <= t < start + length for t in times) / length
    before = [t for t in times if t < start - 1_500_000_000]
    bare = (len(before) - 1) / (before[-1] - before[0])
    print(f"    steps/s bare {bare * 1e9:.1f}, in the window {inside * 1e9:.1f}: slow-down {bare / inside - 1:+.2%}")
    return bare / inside - 1


def test_training_loop():
    with program("train") as target:
        time.sleep(3)
        doc = triage(target)
        assert doc["findings"][0]["code"] in ("gpu_kernel", "gpu_wait"), doc["findings"]
        run_first_spec(doc)
    assert slow_down(target.end(), doc) <= 0.03


def test_inference_with_graphs():
    with program("infer") as target:
        time.sleep(3)
        doc = triage(target)
        assert doc["summary"]["cuda_kernels"]["graph_launches"] > 0, doc["summary"]["cuda_kernels"]
        assert "graph_internals" in [gap["code"] for gap in doc["not_covered"]]
        run_first_spec(doc)
    assert slow_down(target.end(), doc) <= 0.03


def one(case):
    with program(case) as target:
        doc = triage(target)
        assert doc["findings"][0]["code"] == FIRST[case], [(f["code"], f["subject"], f["window_share"]) for f in doc["findings"]]
        if any(found["next"]["kind"] == "measurement_spec" for found in doc["findings"]):
            run_first_spec(doc)


def test_one_slow_kernel():
    one("slow")


def test_launch_bound():
    one("tiny")


def test_pageable_copies():
    one("pageable")


def test_idle_gaps():
    one("gaps")


def test_request_to_launch_to_kernel():
    """Three edges from one capture: a host function, the runtime call below it, its kernel."""
    with program("request") as target:
        spec = {"schema_version": "3.0", "name": "request_path",
                "target": {"pid": target.pid, "process_start_time": xp.start_time(target.pid)},
                "endpoints": {"request": f"uprobe:{LIBRARY}:request_begin:entry", "launch": "cuda:runtime_api:cudaLaunchKernel:entry",
                              "k_start": "cuda:kernel_start:name~elementwise", "k_end": "cuda:kernel_end:name~elementwise"},
                "edges": [{"name": "request_to_launch", "start": "request", "end": "launch", "match_policy": "first_after"},
                          {"name": "launch_to_kernel", "start": "launch", "end": "k_start", "match_policy": "exact"},
                          {"name": "kernel", "start": "k_start", "end": "k_end", "match_policy": "exact"}],
                "samples": 101, "duration_ms": None, "timeout_ms": 15000, "max_events": 20000}
        doc = xp.ok("measure", "--spec", xp.spec_file(spec))
        for edge in doc["edges"]:
            print(f"    {edge['name']}: {edge['samples']}, p50 {edge['latency_ns']['p50']} ns")
            assert edge["samples"]["matched"] >= 101, edge


def test_two_processes_on_one_gpu():
    """Each triage sees the kernels of its own process alone."""
    with program("gaps") as first, program("slow") as second:
        docs = [triage(first), triage(second)]
        both = xp.ok("measure", "--pid", first.pid, "--pid", second.pid, "--triage", "--duration-ms", "1000")
    for entry in both["processes"]:
        print("    together:", entry["target"]["pid"], [(f["code"], f["window_share"]) for f in entry["findings"][:2]])
        assert entry["summary"]["cuda_kernels"]["kernels"] > 0, entry["sources"]
    tops = [doc["summary"]["cuda_kernels"]["top"] for doc in docs]
    assert all(len(top) for top in tops)
    counts = [sum(entry["count"] for entry in top) for top in tops]
    print("    kernels", counts, "busy", [doc["summary"]["cuda_kernels"]["busy_share"] for doc in docs])
    steps = [sum(doc["window"]["start_ns"] <= t < doc["window"]["start_ns"] + doc["window"]["duration_ns"] for t in target.end())
             for target, doc in ((first, docs[0]), (second, docs[1]))]
    assert all(abs(kernels - done) <= 2 for kernels, done in zip(counts, steps)), (counts, steps)


NO_CONTEXT = """
import ctypes, os, sys
cuda = ctypes.CDLL("libcuda.so.1")
if sys.argv[1] != "map":
    assert cuda.cuInit(0) == 0
if sys.argv[1] == "fork":
    context = ctypes.c_void_p()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    if os.fork():
        os.wait()
        os._exit(0)
print("ready", flush=True)
input()
"""


def devices_mapped(pid):
    return sum("/dev/nvidia" in line for line in open(f"/proc/{pid}/maps"))


def test_no_context_is_seen_from_outside():
    """libcuda alone: nothing is done to the process. In a child forked from one with a context only the agent can tell."""
    program("tiny")
    with xp.Target(shutil.which("python3"), "-c", NO_CONTEXT, "init") as target:
        print("    device mappings after cuInit:", devices_mapped(target.pid), "with a context:", devices_mapped(programs["tiny"].pid))
    for state in ("map", "fork"):
        with xp.Target(shutil.which("python3"), "-c", NO_CONTEXT, state) as target:
            children = pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()
            pid = int(children[0]) if children else target.pid
            print(f"    {state}:", devices_mapped(target.pid), "in the process,", devices_mapped(pid), "in the one looked at")
            run = xp.run("measure", "--pid", pid, "--triage", "--duration-ms", "200", exit=0)
            reasons = {entry["name"]: entry["reason"] for entry in run.doc["sources"]}
            assert reasons["cuda_kernels"] == reasons["cuda_copies"] == "no_context", run
            assert state == "fork" or b"modifies target" not in run.err, run
            target.tell("end")


if __name__ == "__main__":
    try:
        xp.main()
    finally:
        for left in programs.values():
            left.process.kill()
