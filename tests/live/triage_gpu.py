#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`measure --triage` on CUDA processes without a GPU: both sources from one arm, and every way in which they can be missing.

The program is the fake CUDA's. Whatever happens to the two sources, the others stay as they are.
"""
import contextlib
import glob
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

import xp

FAKE = xp.BUILD / "tests" / "fake"
HOST = ("threads", "cgroup", "cpu_samples", "off_cpu", "syscalls")
GPU = ("cuda_kernels", "cuda_copies")
KERNELS, SETS = 199, 53


@contextlib.contextmanager
def app(major=13, *settings, cupti=True):
    xp.need_root()
    xp.need_bpf()
    with xp.Target(FAKE / f"app{major}", ready=None) as target:
        def tell(line):
            target.tell(line)
            return int(target.read_line())

        target.ask = tell
        if cupti:
            assert tell(f"cupti {FAKE}/{major}/libcupti.so.{major}") == 0
        for setting in settings:
            tell(f"set {setting}")
        yield target
        assert target.alive(), "the program was harmed"


def triage(target, *more, lines=(), window=600):
    """One triage and, inside its window, these lines. -> its run"""
    process = xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", window, "--max-cost", 0, "--json", *more)
    if lines:
        xp.wait_armed(process, extra=1)
        for line in lines:
            assert target.ask(line) == 0, line
    return xp.finish(process)


def sources(doc):
    return {entry["name"]: entry for entry in doc["sources"]}


def missing(doc, reason):
    """Both are out for that reason, and nothing else is."""
    have = sources(doc)
    assert [have[name]["reason"] for name in GPU] == [reason] * 2, [have[name] for name in GPU]
    assert all(have[name]["detail"] for name in GPU)
    assert all(have[name]["status"] == "available" and have[name]["artifact"] for name in HOST), have
    assert doc["status"] == "completed" and doc["summary"]["cuda_kernels"] is None and doc["summary"]["cuda_copies"] is None
    gaps = [entry["code"] for entry in doc["not_covered"]]
    assert "source_cuda_kernels" in gaps and "source_cuda_copies" in gaps, gaps
    assert ("memory_copies" in gaps) == (reason != "not_cuda"), gaps
    return have["cuda_kernels"]


def mapped(pid):
    return {line.split(None, 5)[5].strip() for line in open(f"/proc/{pid}/maps") if len(line.split()) > 5}


def untouched(target, *flags):
    """A triage that refuses before it does anything to the target."""
    before = mapped(target.pid)
    run = triage(target, *flags)
    assert run.exit == 0 and b"modifies target" not in run.err, run
    assert mapped(target.pid) - before <= {"[heap]"}, mapped(target.pid) - before
    assert run.doc["cost"]["stall_ms"] is None and run.doc["cost"]["residual_ns_per_launch"] is None, run.doc["cost"]
    assert not [w for w in run.doc["warnings"] if w["code"] == "CUPTI_AGENT_INJECTED"]
    return run.doc


def test_kernels_copies_and_sets_from_one_arm():
    """Counts are exact; the first finding is the kernel that keeps the device, and its spec runs as it stands."""
    with app() as target:
        checked = xp.ok("validate", "--pid", target.pid, "--triage", "--json")
        assert checked["requirements"]["target_mutation"] and checked["requirements"]["agent_activation"] == "injection_required", checked
        assert [w["code"] for w in checked["warnings"]] == ["TARGET_PROCESS_WILL_BE_MODIFIED"], checked["warnings"]
        run = triage(target, window=3000, lines=[f"launch 1 {KERNELS} slow_kernel 8000000", "memcpy 1 1 3 4194304 31", "memcpy 2 3 2 4194304 37",
                                                 f"memset {SETS}", "graph 3 41"])
        doc = run.doc
        kernels, copies = doc["summary"]["cuda_kernels"], doc["summary"]["cuda_copies"]
        assert run.err.count(b"modifies target") == 1, run
        assert {name: entry["status"] for name, entry in sources(doc).items() if name != "gpu"} == {name: "available" for name in HOST + GPU}, doc["sources"]
        counts = {entry["name"]: (entry["count"], entry["total_ns"]) for entry in kernels["top"]}
        assert counts == {"slow_kernel": (KERNELS, KERNELS * 8000000), "node": (3 * 41, 3 * 41 * 1000)}, kernels
        assert kernels["launches"] == KERNELS and kernels["graph_launches"] == 41, kernels
        assert (copies["copies"], copies["bytes"], copies["sets"]) == (68, 68 << 22, SETS), copies
        groups = {(g["activity"], g["memcpy_kind"], g["src_memory"], g["dst_memory"]): g["count"] for g in copies["groups"]}
        assert groups == {("memcpy", "HtoD", "pageable", "device"): 31, ("memcpy", "DtoH", "device", "pinned"): 37, ("memset", None, None, None): SETS}
        for name in GPU:
            inner = json.loads(pathlib.Path(sources(doc)[name]["artifact"]["path"]).read_text())
            xp.check_schema(inner, "aggregate-inventory-result")
            xp.check_accounts(inner)
            assert inner["collection"]["grouped_activities"] == sum(group["count"] for group in inner["inventory"]["groups"])
        assert doc["cost"]["stall_ms"] > 0 and doc["cost"]["residual_ns_per_launch"] > 0, doc["cost"]
        codes = [warning["code"] for warning in doc["warnings"]]
        assert codes.count("CUPTI_AGENT_INJECTED") == codes.count("RESIDUAL_COST") == 1, codes
        assert "graph_internals" in [entry["code"] for entry in doc["not_covered"]]
        first = doc["findings"][0]  # though every thread sleeps: the device works
        assert (first["code"], first["subject"]) == ("gpu_kernel", "slow_kernel"), doc["findings"]
        assert abs(first["window_share"] - KERNELS * 8e6 / doc["window"]["duration_ns"]) < 1e-9
        assert not first["next"]["target_mutation"], "the agent is there now"
        again = xp.ok("validate", "--pid", target.pid, "--triage", "--json")["requirements"]
        assert not again["target_mutation"] and again["agent_activation"] == "already_loaded", again
        result = measure_spec(target, first["next"]["spec"], f"launch 1 {KERNELS} slow_kernel 1000000")
        assert result["measurement"]["samples"]["matched"] == first["next"]["spec"]["samples"], result["measurement"]


def measure_spec(target, spec, line):
    path = xp.spec_file(spec, "next.json")
    assert xp.ok("validate", "--spec", path)["valid"]
    process = xp.start("measure", "--spec", path, "--max-cost", 0)
    worker = threading.Timer(1, target.ask, [line])
    worker.start()
    run = xp.finish(process)
    worker.join()
    assert run.exit == 0, run
    return run.doc


def test_every_proposed_gpu_spec_is_valid_and_runs():
    """A launch-bound program: the spec goes from each launch to its kernel."""
    with app() as target:
        target.ask("loop 1 60")
        doc = triage(target).doc
        specs = [f["next"]["spec"] for f in doc["findings"] if f["next"]["kind"] == "measurement_spec"]
        for spec in specs:
            assert xp.ok("validate", "--spec", xp.spec_file(spec))["valid"], spec
        launch = next((f for f in doc["findings"] if f["code"] in ("gpu_launch_bound", "gpu_idle")), None)
        assert launch, [f["code"] for f in doc["findings"]]
        if doc["summary"]["cuda_kernels"]["kernels"] / doc["window"]["duration_ns"] * 1e9 >= 5000:
            assert launch["code"] == "gpu_launch_bound" and launch["next"]["spec"]["end_selector"] == "cuda:kernel_start", launch
        result = xp.ok("measure", "--spec", xp.spec_file(launch["next"]["spec"]), "--max-cost", 0)
        assert result["measurement"]["samples"]["matched"] == launch["next"]["spec"]["samples"], result["measurement"]
        text = xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", 300, "--max-cost", 0, "--human", text=True, exit=0).out.decode()
        assert "gpu 0" in text and "% busy" in text and " loop " in text, text
        target.ask("end")


def test_not_cuda():
    xp.need_bpf()
    with xp.Target("load", "hung") as target:
        missing(untouched(target), "not_cuda")


def test_absent_agent():
    with app() as target:
        found = missing(untouched(target, "--agent", "/nowhere/libxprobe-agent.so"), "absent")
        assert found["call"] == "open" and found["errno"] == "ENOENT", found


def test_absent_cupti():
    folder = pathlib.Path(xp.scratch()) / "no-cupti"
    folder.mkdir()
    for name in ("app13", "libcuda.so.1", "13/libcudart.so.13"):
        shutil.copy(FAKE / name, folder)
    usual = [*glob.glob("/usr/local/cuda*/**/libcupti.so.*", recursive=True), *glob.glob("/usr/lib/x86_64-linux-gnu/libcupti.so.*")]
    if usual:
        raise xp.Skip(f"this machine has {usual[0]}")
    xp.need_bpf()
    with xp.Target(folder / "app13", ready=None, env={"LD_LIBRARY_PATH": str(folder)}) as target:
        target.tell("names")
        target.read_line()
        found = missing(untouched(target), "absent")
        assert found["object"] == "libcupti", found


def test_target_busy_when_stopped():
    with app() as target:
        os.kill(target.pid, 19)
        while xp.state_of(target.pid) != "T":
            time.sleep(0.01)
        doc = untouched(target)
        os.kill(target.pid, 18)
        missing(doc, "target_busy")


def test_target_busy_with_another_session():
    with app() as target:
        other = xp.start("measure", "--pid", target.pid, "--from", "cuda:kernel_start", "--to", "cuda:kernel_end", "--match", "exact", "--aggregate",
                         "--duration-ms", 6000)
        time.sleep(2)
        missing(triage(target).doc, "target_busy")
        other.terminate()
        assert xp.finish(other).exit == 0, "the other session was harmed"


def test_no_context():
    """libcuda and libcudart are mapped, and nothing was ever initialised."""
    xp.need_bpf()
    code = f"import ctypes\nctypes.CDLL('{FAKE}/libcuda.so.1')\nctypes.CDLL('{FAKE}/13/libcudart.so.13')\nprint('ready', flush=True)\ninput()"
    with xp.Target(shutil.which("python3"), "-c", code) as target:
        missing(triage(target).doc, "no_context")
        assert target.alive()


def test_cupti_busy():
    with app(13, "busy 1") as target:
        assert missing(triage(target).doc, "cupti_busy")["call"] == "cuptiSubscribe"


def test_collection_dead():
    with app(13, "dead 1") as target:
        target.ask("loop 1 500")
        missing(triage(target).doc, "collection_dead")
        target.ask("end")


def test_timeout():
    with app(13, "subscribe_ms 3500") as target:
        run = triage(target)
        assert missing(run.doc, "timeout")["call"] == "cuptiSubscribe"
        assert run.doc["cost"]["stall_ms"] is not None, "the injection itself held a thread"
        time.sleep(2)
        target.ask("set subscribe_ms 0")
        assert all(sources(triage(target).doc)[name]["status"] == "available" for name in GPU), "later it works"


def test_unsupported_version():
    with app(12, "version 17") as target:
        missing(triage(target).doc, "unsupported")


def test_capacity_lost_records():
    """What it had stays in its artifact; no rule uses it."""
    with app(13, "drop_every 3") as target:
        target.ask("loop 1 100")
        doc = triage(target).doc
        target.ask("end")
    assert all(sources(doc)[name]["artifact"] for name in GPU), doc["sources"]
    missing(doc, "capacity")
    assert not [f for f in doc["findings"] if f["code"].startswith("gpu_")], doc["findings"]


def test_failed_injection():
    """A library that is no agent: the load is undone and told as a failure, not as an absence."""
    if not shutil.which("gcc"):
        raise xp.Skip("no gcc here")
    path = pathlib.Path(xp.scratch()) / "stranger.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-o", path, "-"], input=b"int stranger(void) { return 7; }\n", check=True)
    with app() as target:
        missing(triage(target, "--agent", path).doc, "failed")


if __name__ == "__main__":
    xp.main()
