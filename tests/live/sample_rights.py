# SPDX-License-Identifier: Apache-2.0
"""Faults: no cycles event in a virtual machine, and a fallback that missed one errno; CAP_PERFMON without effect under a distribution's
paranoid 4; other numbers in a nested PID namespace. Samples of CPU and of blocks are taken under each of these, or the right is named."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import xp

LIB = pathlib.Path(__file__).resolve().parents[1] / "lib"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
PERFMON = NOBODY + ["--inh-caps=+perfmon", "--ambient-caps=+perfmon"]
SAMPLE = ["--cpu-sample", "--duration-ms", 400, "--max-cost", 0, "--json"]
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")


def shim(name):
    out = pathlib.Path(xp.scratch()) / f"{name}.so"
    subprocess.run([xp.need_command("cc"), "-O1", "-shared", "-fPIC", "-o", out, LIB / f"{name}.c"], check=True)
    return {"LD_PRELOAD": str(out)}


def for_everyone():
    """xprobe and a spinner where another user reaches them; the spinner runs as that user."""
    xp.need_root()
    xp.need_command("setpriv")
    folder = pathlib.Path(xp.scratch())
    folder.chmod(0o777)
    for source in (xp.XPROBE, xp.TARGETS / "shares"):
        copy = folder / pathlib.Path(source).name
        if not copy.exists():
            shutil.copy(source, copy)
            copy.chmod(0o755)
    xp.XPROBE = str(folder / "xprobe")
    return xp.Target(shutil.which("setpriv"), *NOBODY[1:], folder / "shares")


def test_no_hardware_event_is_opened():
    """Case E1: nothing asks for one, so no errno of its absence matters; the clock is named."""
    xp.need_bpf()
    env = shim("hardware_shim")
    ask = ("import ctypes; attr = (ctypes.c_char * 128)(); attr[4] = 128; "
           "ctypes.CDLL(None).syscall(ctypes.c_long(298), ctypes.byref(attr), ctypes.c_long(0), ctypes.c_long(-1), ctypes.c_long(-1), ctypes.c_long(0))")
    strict = subprocess.run([sys.executable, "-c", ask], env={**os.environ, **env}, check=False, stderr=subprocess.DEVNULL)
    assert strict.returncode == -6, f"the shim lets hardware events through: {strict.returncode}"
    with for_everyone() as target:
        for prefix in ((), NOBODY):
            doc = xp.ok("measure", "--pid", target.pid, *SAMPLE, prefix=prefix, env=env)
            assert doc["inventory"]["sample_event"] == "cpu_clock" and doc["collection"]["observed_samples"] > 0, doc["collection"]
            doc = xp.ok("measure", "--pid", target.pid, "--triage", "--duration-ms", 300, "--json", prefix=prefix, env=env)
            assert doc["ok"], doc
        xp.ok("doctor", env=env)


def test_paranoid_4():
    """Case D6 for the sampler: what a process of the same user gets, with and without the capability, and as root."""
    xp.need_bpf()
    xp.need_command("unshare")
    four = pathlib.Path(xp.scratch()) / "paranoid"
    four.write_text("4\n")
    four.chmod(0o644)
    with for_everyone() as target:
        options = {"env": shim("paranoid_shim")}
        hide = ["unshare", "-m", "sh", "-c", f'mount --bind {four} {PARANOID} && exec "$@"', "sh"]
        for user, unblock in ((NOBODY, None), (PERFMON, "does not honour CAP_PERFMON")):
            result = xp.run("measure", "--pid", target.pid, *SAMPLE, prefix=hide + user, code="PERMISSION_DENIED", exit=4, **options)
            feature = next(f for f in xp.ok("doctor", prefix=hide + user, **options)["features"] if f["feature"] == "cpu_sample")
            assert {key: result.details[key] for key in ("call", "errno", "object")} == {key: feature[key] for key in ("call", "errno", "object")}
            assert result.error["hints"][0] == feature["unblock"] and "as root" not in feature["unblock"], (result.error, feature)
            assert unblock is None or unblock in feature["unblock"], feature
        doc = xp.ok("measure", "--pid", target.pid, *SAMPLE, prefix=hide, **options)
        assert doc["collection"]["observed_samples"] > 0 and doc["collection"]["kernel_samples"] is not None, doc["collection"]


def test_paranoid_of_the_main_line():
    """With CAP_PERFMON alone kernel stacks are there; without it user time alone is sampled, and the result says so."""
    xp.need_bpf()
    if PARANOID.read_text().strip() != "2":
        raise xp.Skip("kernel.perf_event_paranoid is not 2 here")
    with for_everyone() as target:
        with_it = xp.ok("measure", "--pid", target.pid, *SAMPLE, prefix=PERFMON)["collection"]
        without = xp.ok("measure", "--pid", target.pid, *SAMPLE, prefix=NOBODY)["collection"]
    assert with_it["observed_samples"] > 0 and with_it["kernel_samples"] is not None, with_it
    assert without["observed_samples"] > 0 and without["kernel_samples"] is None, without


def test_python_without_bpf_is_told():
    """Native frames stand where Python's would, and the right that brings them is named."""
    with for_everyone():
        report = pathlib.Path(xp.scratch()) / "report.py"
        shutil.copy(xp.SOURCE / "demo/report.py", report)
        report.chmod(0o644)
        python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else shutil.which("python3")
        with xp.Target(shutil.which("setpriv"), *NOBODY[1:], python, report, 60, ready=None) as target:
            time.sleep(0.5)
            doc = xp.run("measure", "--pid", target.pid, *SAMPLE, prefix=NOBODY)
    if doc.code == "PERMISSION_DENIED":
        raise xp.Skip(f"no samples without rights here: {doc.details}")
    if doc.doc["symbolization"]["python_status"] != "active":
        raise xp.Skip(f"this Python is {doc.doc['symbolization']['python_status']}")
    told = next(issue for issue in doc.doc["quality"]["issues"] if issue["code"] == "python_unresolved")
    assert "CAP_BPF" in told["message"], told
    assert "CAP_BPF" in next(w for w in doc.doc["warnings"] if w["code"] == "PYTHON_FRAMES_UNRESOLVED")["message"], doc.doc["warnings"]


def test_clocks_of_whole_cpus_refused():
    """Fault: programs could be loaded, clocks of whole CPUs were refused, and nothing was sampled at all."""
    xp.need_bpf()
    env = shim("cpu_wide_shim")
    with xp.Target("shares") as target:
        doc = xp.ok("measure", "--pid", target.pid, *SAMPLE, env=env)
        validation = xp.ok("validate", "--pid", target.pid, "--cpu-sample", env=env)
        usual = xp.ok("measure", "--pid", target.pid, *SAMPLE)
    assert doc["collection"]["observed_samples"] > 0 and doc["collection"]["kernel_samples"] is not None, doc["collection"]
    told, = [issue["message"] for issue in doc["quality"]["issues"] if issue["code"] == "perf_ring_sampler"]
    assert "perf_event_open" in told and "cpu-clock of CPU" in told and "EACCES" in told, told
    assert validation["sampler"] == "perf_ring" and validation["valid"], validation
    assert "perf_ring_sampler" not in [issue["code"] for issue in usual["quality"]["issues"]], usual["quality"]


def test_nested_pid_namespace():
    """--off-cpu with the target in a namespace of its own, looked at from outside and from inside: the same threads, each by its number there."""
    xp.need_bpf()
    inside = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise xp.Skip("no PID namespaces here")
    command = ["--cpu-sample", "--off-cpu", "--duration-ms", "1200", "--max-cost", "0", "--json", "--evidence", "full"]
    with xp.Target(shutil.which("unshare"), *inside[1:], xp.TARGETS / "waits", "hung") as target:
        child, = map(int, pathlib.Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split())
        outer = xp.ok("measure", "--pid", child, *command)
    script = f'"{xp.TARGETS}/waits" hung >"$TMPDIR/said" & while ! grep -q ready "$TMPDIR/said"; do sleep 0.1; done; exec "$0" measure --pid $! "$@"'
    told = subprocess.run([*inside, "sh", "-c", script, xp.XPROBE, *command], env={**os.environ, "TMPDIR": xp.scratch()}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, timeout=60, check=True)
    inner = json.loads(told.stdout)
    for doc in (outer, inner):
        value = doc["off_cpu"]
        hung, = [group for group in value["groups"] if "hang_here" in [frame["symbol"] for frame in group["frames"]]]
        assert hung["count"] == hung["open_at_end"] == 7 and hung["reason"] == "lock", hung
        assert abs(hung["total_ns"] - 7 * doc["collection"]["window_ns"]) <= 0.001 * doc["collection"]["window_ns"] * 7, hung
    assert outer["target"]["pid"] == child and inner["target"]["pid"] < 100, (outer["target"], inner["target"])


if __name__ == "__main__":
    xp.main()
