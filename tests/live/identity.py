# SPDX-License-Identifier: Apache-2.0
"""Fault: names with ')' shifted the fields of stat, names cut inside a letter lost a process, an inherited number was trusted."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import xp

HOSTILE = b"a) S 1\n(b\xc3\xa9"
HERE = os.path.abspath(__file__)


def set_name(name):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME


def spin():
    while True:
        sum(range(1000))


def play(what):
    """What the targets of this file do; run as `python3 identity.py --play WHAT`."""
    if what == "hostile":
        set_name(HOSTILE)
    elif what == "cut":
        # The kernel keeps 15 bytes: twelve letters, one letter of two bytes, and half of the next.
        name = "abcdefghijkl\u00e9\u00e9".encode()
        named = threading.Event()
        threading.Thread(target=lambda: (set_name(name), named.set(), spin()), daemon=True).start()
        named.wait()
    print("ready", flush=True)
    time.sleep(60)


def target(what):
    return xp.Target(sys.executable, HERE, "--play", what)


def test_hostile_name():
    with target("hostile") as process:
        assert pathlib.Path(f"/proc/{process.pid}/comm").read_bytes() == HOSTILE + b"\n"
        while xp.state_of(process.pid) != "S":
            time.sleep(0.01)
        first = xp.ok("inspect", "--pid", process.pid)
        second = xp.ok("inspect", "--pid", process.pid)
        assert first["target"]["process_start_time"] == xp.start_time(process.pid)
        assert first["target"] == second["target"]
        assert first["state"] == "S" and first["tracer_pid"] == 0 and first["threads"] == 1, first


def test_hostile_path_and_arguments():
    """A program whose file and arguments hold line ends, quotes and bytes that are no UTF-8."""
    name = os.path.join(xp.scratch().encode(), b'a) S 1\n"b\xc3 (deleted)')
    with open("/bin/sleep", "rb") as source, open(name, "wb") as copy:
        copy.write(source.read())
    os.chmod(name, 0o755)
    process = subprocess.Popen([b"x\x01\xff\ny", b"60"], executable=name)
    try:
        doc = xp.ok("inspect", "--pid", process.pid)
        assert doc["executable"] == name.decode("utf-8", "replace"), doc["executable"]
        assert doc["command_line"] == ["x\x01\ufffd\ny", "60"], doc["command_line"]
        os.unlink(name)
        gone = xp.ok("inspect", "--pid", process.pid)
        assert gone["executable"] == doc["executable"] and gone["target"] == doc["target"]
    finally:
        process.kill()
        process.wait()


def test_name_cut_inside_a_letter():
    with target("cut") as process:
        names = {path.read_bytes().rstrip(b"\n") for path in pathlib.Path(f"/proc/{process.pid}/task").glob("*/comm")}
        assert any(name.endswith(b"\xc3") for name in names), names
        assert xp.ok("inspect", "--pid", process.pid)["threads"] == 2
        need_measure()
        xp.need_bpf()
        doc = xp.ok("measure", "--pid", process.pid, "--triage", "--duration-ms", 500, "--max-cost", 0, "--json")
        samples = xp.ok("measure", "--pid", process.pid, "--cpu-sample", "--duration-ms", 500, "--max-cost", 0, "--json")
    told = "abcdefghijkl\u00e9\ufffd"
    threads = json.loads(pathlib.Path(next(source for source in doc["sources"] if source["name"] == "threads")["artifact"]["path"]).read_text("utf-8"))
    assert told in [thread["name"] for thread in threads["threads"]], threads["threads"]
    assert told in [entry["name"] for entry in doc["summary"]["threads"]["top"]], doc["summary"]["threads"]
    assert [entry["name_pattern"] for entry in samples["threads"]][:1] == [told], samples["threads"]


def test_zombie_and_missing():
    process = subprocess.Popen(["/bin/true"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    xp.fails("TARGET_EXITED", "inspect", "--pid", process.pid)
    process.wait()
    details = xp.fails("TARGET_NOT_FOUND", "inspect", "--pid", process.pid)
    assert details["call"] == "pidfd_open" and details["errno"] == "ESRCH", details
    xp.fails("TARGET_NOT_FOUND", "inspect", "--pid", xp.unused_pid())


def test_refused():
    xp.need_root()
    xp.need_command("setpriv")
    result = xp.run("inspect", "--pid", 1, code="PERMISSION_DENIED", exit=4,
                    prefix=["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"])
    assert result.details["errno"] == "EACCES" and result.details["object"].startswith("/proc/1/"), result.details


def need_measure():
    if b"measure" not in xp.run("--help", text=True).out.split(b"commands:")[-1]:
        raise xp.Skip("this build has no measure command")


def spec_of(identity):
    return xp.spec_file({
        "schema_version": "2.0", "name": None, "target": identity, "start_selector": "syscall:nanosleep:entry",
        "end_selector": "syscall:nanosleep:exit", "match_policy": "exact", "samples": None, "duration_ms": 200, "timeout_ms": 2000,
        "max_events": 1000})


def test_wrong_start_time():
    need_measure()
    with xp.sleeper() as process:
        identity = process.identity()
        identity["process_start_time"] += 1
        xp.fails("TARGET_REUSED", "measure", "--spec", spec_of(identity))


def inherit():
    """First process of a PID namespace: the spec's process ends, another one gets its number before measure runs."""
    first = xp.sleeper()
    identity = xp.ok("inspect", "--pid", first.pid)["target"]
    first.stop()
    time.sleep(0.05)
    pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
    with xp.sleeper() as second:
        assert second.pid == first.pid, "the number was not given again"
        spec = spec_of(identity)
        for command in ("validate", "measure"):
            xp.fails("TARGET_REUSED", command, "--spec", spec)
        status = pathlib.Path(f"/proc/{second.pid}/status").read_text()
        assert "TracerPid:\t0\n" in status and xp.state_of(second.pid) == "S", status
        maps = pathlib.Path(f"/proc/{second.pid}/maps").read_text()
        assert "[uprobes]" not in maps and "xprobe" not in maps, maps


def test_inherited_number():
    xp.need_root()
    xp.need_command("unshare")
    need_measure()
    if not os.access("/proc/sys/kernel/ns_last_pid", os.W_OK):
        raise xp.Skip("wants /proc/sys/kernel/ns_last_pid")
    subprocess.run(["unshare", "-pf", "--mount-proc", sys.executable, HERE, "--inherit"], check=True, timeout=60)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--play"]:
        play(sys.argv[2])
    elif sys.argv[1:] == ["--inherit"]:
        inherit()
    else:
        xp.main()
