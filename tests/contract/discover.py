# SPDX-License-Identifier: Apache-2.0
"""`discover`, every row of contract 4, with an NVML that says what the test wants. Case C6: a local process was named because its number
happened to be one of another PID namespace. Case C8: entries of the process list had another size than the caller thought."""
import os
import pathlib
import shutil
import sys
import time

import gpus
import xp


def discover(pid, nvml, *more, **options):
    return xp.run("discover", "--pid", pid, *more, env=nvml.env(), **options)


def pids(doc):
    return [one["target"]["pid"] for one in doc["candidates"]]


def missing(doc):
    """count and pids of the warning; (0, []) without one."""
    found = [one["details"] for one in doc["warnings"] if one["code"] == "NVML_PROCESS_UNAVAILABLE"]
    assert len(found) <= 1
    return (found[0]["count"], found[0]["pids"]) if found else (0, [])


def test_bad_flags():
    assert xp.fails("INVALID_ARGUMENT", "discover") == {}
    xp.run("discover", "--pid", "many", code="INVALID_ARGUMENT", exit=2)
    for limit in (0, 65537):
        assert xp.fails("SESSION_LIMIT_EXCEEDED", "discover", "--pid", os.getpid(), "--limit", limit)["limit"] == {
            "name": "limit", "value": limit, "minimum": 1, "maximum": 65536}
    xp.run("discover", "--pid", xp.unused_pid(), code="TARGET_NOT_FOUND", exit=3)


def test_one_holder():
    nvml = gpus.Nvml(2)
    with gpus.holder(0, 1) as target:
        nvml.set(processes_of_0=f"{target.pid}:1048576", processes_of_1=f"{target.pid}:2097152")
        one, = discover(target.pid, nvml, exit=0).doc["candidates"]
        assert one["target"]["pid"] == target.pid and one["parent_pid"] == os.getpid(), one
        assert one["gpu_uuids"] == gpus.UUIDS[:2] and one["gpu_memory_bytes"] == 3 << 20 and one["mig_uuids"] == [], one
        assert one["nested_pid"] is None and one["agent_loaded"] is False and one["thread_count"] == 1, one
        assert one["command_line"][1] == str(gpus.HOLDER) and "python" in one["executable"], one
        nvml.set(processes_of_1=f"{target.pid}")  # one device that does not tell makes the sum unknown
        doc = discover(target.pid, nvml, exit=0).doc
        assert doc["candidates"][0]["gpu_memory_bytes"] is None and doc["warnings"] == [] and doc["truncated"] is False, doc
        text = discover(target.pid, nvml, "--human", text=True, exit=0).out.decode()
        assert str(target.pid) in text and gpus.UUIDS[1] in text, text


def test_tree_and_limit():
    nvml = gpus.Nvml()
    with gpus.holder(0) as root, gpus.holder(0) as stranger:
        children = []
        for _ in range(5):
            root.tell("child")
            children.append(int(root.read_line()))
        nvml.set(processes_of_0=",".join(f"{pid}:4096" for pid in [*reversed(children), stranger.pid, root.pid]))
        doc = discover(root.pid, nvml, exit=0).doc
        assert pids(doc) == sorted([root.pid, *children]) and doc["total_candidates"] == 6 and doc["limit"] == 200, doc
        assert missing(doc) == (0, []), "a process elsewhere is no loss"
        doc = discover(root.pid, nvml, "--limit", 2, exit=0).doc
        assert pids(doc) == sorted([root.pid, *children])[:2] and doc["total_candidates"] == 6 and doc["truncated"] is True, doc
        root.tell(f"end {children[1]}")
        assert root.read_line() == "ended"
        doc = discover(root.pid, nvml, exit=0).doc  # NVML still lists it
        assert children[1] not in pids(doc) and missing(doc) == (1, [children[1]]), doc


def test_nobody():
    nvml = gpus.Nvml()
    with gpus.holder(0) as target:
        doc = discover(target.pid, nvml, exit=0).doc
        assert doc["candidates"] == [] and doc["total_candidates"] == 0 and doc["warnings"] == [], doc
        doc = discover(target.pid, gpus.Nvml(0), exit=0).doc
        assert doc["candidates"] == [] and doc["warnings"] == [], "a machine without a GPU has no holder"


def test_long_command_lines_give_way_to_the_budget():
    nvml = gpus.Nvml()
    folder, name = os.path.split(gpus.node(0))
    long = f"{folder}{'/.' * 600}/{name}"
    with xp.Target(sys.executable, gpus.HOLDER, gpus.FAKES / "libcuda.so.1", *[long] * 97) as target:
        nvml.set(processes_of_0=f"{target.pid}:4096")
        run = discover(target.pid, nvml, exit=0)
        words = run.doc["candidates"][0]["command_line"]
        assert len(run.out) <= 16384 and words[1] == str(gpus.HOLDER) and words[-1] == "\u2026" and len(words) == 16, (len(run.out), words)


def test_the_report_proposes_a_command_that_runs():
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().set(processes_of_0=f"{target.pid}:4096")
        report = xp.run("discover", "--pid", target.pid, "--human", text=True, exit=0, env=nvml.env()).out.decode()
        command = report.split("next: ")[1].splitlines()[0].split()
        assert command[0] == xp.XPROBE and command[1:] == f"measure --pid {target.pid} --triage --duration-ms 2000".split(), command


def test_foreign_numbers_name_nobody():
    nvml = gpus.Nvml(2)
    foreign = xp.unused_pid()
    with xp.sleeper() as unrelated, gpus.holder(libcuda=True) as idle, gpus.holder(0, libcuda=False) as other, gpus.holder(1) as elsewhere:
        for target, why in ((unrelated, "maps no libcuda"), (idle, "holds no device"), (other, "maps no libcuda"), (elsewhere, "holds another device")):
            nvml.set(processes_of_0=f"{foreign}:4096,{target.pid}:4096")
            doc = discover(target.pid, nvml, exit=0).doc
            assert doc["candidates"] == [] and missing(doc) == (2, sorted([foreign, target.pid])), (why, doc)


def test_nested_namespace():
    xp.need_root()
    unshare = shutil.which("unshare")
    nvml = gpus.Nvml()
    if not unshare:
        raise xp.Skip("wants unshare")
    with gpus.holder(0, prefix=(unshare, "--pid", "--fork", "--kill-child")) as target:
        inner = next(int(pid) for pid in pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split())
        number = int(target.line.split()[1])
        assert number == 1, target.line
        for listed in (inner, number):  # ours, and that of the process's own namespace
            nvml.set(processes_of_0=f"{listed}:4096")
            doc = discover(target.pid, nvml, exit=0).doc
            assert pids(doc) == [inner] and doc["candidates"][0]["nested_pid"] == 1, (listed, doc)
            assert missing(doc) == (0, []), doc
        with gpus.holder(0, prefix=(unshare, "--pid", "--fork", "--kill-child")):
            doc = discover(target.pid, nvml, exit=0).doc  # two processes are number 1 now
            assert doc["candidates"] == [] and missing(doc) == (1, [1]), doc


def test_every_size_of_entries():
    with gpus.holder(0) as root:
        root.tell("child")
        root.tell("child")
        all_pids = sorted([root.pid, int(root.read_line()), int(root.read_line())])
        processes = ",".join(f"{pid}:{4096 * (i + 1)}" for i, pid in enumerate(all_pids))
        for edition, entry in ((3, 24), (3, 32), (2, 24), (1, 16)):
            nvml = gpus.Nvml(edition=edition).set(processes_of_0=processes, entry=entry)
            doc = discover(root.pid, nvml, exit=0).doc
            assert [(one["target"]["pid"], one["gpu_memory_bytes"]) for one in doc["candidates"]] == [
                (pid, 4096 * (i + 1)) for i, pid in enumerate(all_pids)], (edition, entry, doc)
        nvml = gpus.Nvml().set(processes_of_0=processes, entry=40)
        assert discover(root.pid, nvml, code="INTERNAL", exit=1).details["call"] == "nvmlDeviceGetComputeRunningProcesses_v3"
        details = discover(root.pid, gpus.Nvml(edition=0).set(processes_of_0=processes), code="CUPTI_NOT_AVAILABLE", exit=1).details
        assert details["call"] == "nvmlDeviceGetComputeRunningProcesses", details
        many = ",".join(str(pid) for pid in range(4000000, 4000000 + 1009))
        nvml = gpus.Nvml().set(processes_of_0=many)  # more than the first room
        assert missing(discover(root.pid, nvml, exit=0).doc)[0] == 1009


def test_mig():
    instances = "MIG-11111111-1111-1111-1111-111111111111:3:0,MIG-22222222-2222-2222-2222-222222222222:5:0"
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().set(mig_of_0=instances, processes_of_0=f"{target.pid}:4096:5:0")
        one, = discover(target.pid, nvml, exit=0).doc["candidates"]
        assert one["gpu_uuids"] == gpus.UUIDS[:1] and one["mig_uuids"] == ["MIG-22222222-2222-2222-2222-222222222222"], one
        assert one["gpu_memory_bytes"] == 4096, "told by the instance and by the device, counted once"


def test_mps_clients():
    """Behind an MPS server the plain list names the server alone."""
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().set(processes_of_0="4000003:4096", mps_of_0=f"{target.pid}:8192")
        doc = discover(target.pid, nvml, exit=0).doc
        assert pids(doc) == [target.pid] and doc["candidates"][0]["gpu_memory_bytes"] == 8192, doc
        assert missing(doc) == (1, [4000003]), doc


def test_nvml_fails():
    with gpus.holder(0) as target:
        plain = {"env": {"LD_LIBRARY_PATH": xp.scratch()}}
        if xp.run("discover", "--pid", target.pid, **plain).code:  # no driver on this machine
            error = xp.run("discover", "--pid", target.pid, code="CUPTI_NOT_AVAILABLE", exit=1, **plain).error
            assert error["details"] == {"call": "dlopen", "object": "libnvidia-ml.so.1"} and error["hints"], error
        for call, status in (("nvmlInit_v2", 9), ("nvmlInit_v2", 4), ("nvmlDeviceGetCount_v2", 999),
                             ("nvmlDeviceGetComputeRunningProcesses_v3", 4), ("nvmlDeviceGetHandleByIndex_v2", 15)):
            nvml = gpus.Nvml().set(**{f"fail__{call}": status})
            details = discover(target.pid, nvml, code="CUPTI_NOT_AVAILABLE", exit=1).details
            assert (details["call"], details["errno"]) == (call, str(status)), details
        assert discover(target.pid, gpus.Nvml(edition=2).set(fail__nvmlInit_v2=18), code="CUPTI_NOT_AVAILABLE").details["call"] == "nvmlInit_v2"
        assert "crashed" in discover(target.pid, gpus.Nvml().set(crash__nvmlDeviceGetUUID=1), code="CUPTI_NOT_AVAILABLE").error["message"]


def test_nonsense():
    with gpus.holder(0) as target:
        for changes in ({"devices": 4294967295}, {"uuid_of_0": "\x07\x01"}, {"uuid_of_0": ""}, {"processes_of_0": "4194999:1"}):
            discover(target.pid, gpus.Nvml().set(**changes), code="INTERNAL", exit=1)


def test_slow_calls_are_bounded():
    with gpus.holder(0) as target:
        slow = discover(target.pid, gpus.Nvml().set(sleep__nvmlInit_v2=700), exit=0)
        assert slow.seconds < 8, slow.seconds
        hung = discover(target.pid, gpus.Nvml().set(sleep__nvmlDeviceGetCount_v2=60000), code="CUPTI_NOT_AVAILABLE")
        assert hung.seconds < 20, hung.seconds


def test_one_device_of_two_is_lost():
    """What the other one tells is told; nobody found means that nobody can say."""
    with gpus.holder(0, 1) as target:
        nvml = gpus.Nvml(2).set(fail__nvmlDeviceGetHandleByIndex_v2_of_1=15)
        assert discover(target.pid, nvml, code="CUPTI_NOT_AVAILABLE").details["object"] == "GPU 1"
        nvml.set(processes_of_0=f"{target.pid}:4096")
        doc = discover(target.pid, nvml, exit=0).doc
        assert pids(doc) == [target.pid] and [one["code"] for one in doc["warnings"]] == ["NVML_DEVICE_UNAVAILABLE"], doc
        assert doc["warnings"][0]["details"] == {"index": 1, "call": "nvmlDeviceGetHandleByIndex_v2", "status": 15}, doc


def test_root_ends_meanwhile():
    target = gpus.holder(0)
    process = xp.start("discover", "--pid", target.pid, env=gpus.Nvml().set(sleep__nvmlInit_v2=1500).env())
    time.sleep(0.7)
    target.stop()
    assert xp.finish(process).code == "TARGET_EXITED"


def test_no_child_is_left():
    """The process that asked a hung driver ends with xprobe."""
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().set(sleep__nvmlInit_v2=30000)
        process = xp.start("discover", "--pid", target.pid, env=nvml.env())
        time.sleep(0.7)
        child, = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        held = {os.readlink(path) for path in pathlib.Path(f"/proc/{child}/fd").iterdir()}
        assert len([one for one in held if one.startswith("socket:")]) == 1 and held <= {"/dev/null", *[h for h in held if h.startswith("socket:")]}, held
        process.kill()
        process.communicate()
        deadline = time.monotonic() + 5
        while os.path.exists(f"/proc/{child}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{child}")


if __name__ == "__main__":
    xp.main()
