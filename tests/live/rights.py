# SPDX-License-Identifier: Apache-2.0
"""Fault: rights were guessed from versions and sysctls; a hidden call, a distribution's paranoid level and a missing capability read alike;
root was told to become root. `doctor` runs here under each of these and must tell them apart."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess

import xp

LIB = pathlib.Path(__file__).resolve().parents[1] / "lib"
PARANOID = pathlib.Path("/proc/sys/kernel/perf_event_paranoid")
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
BPF_FEATURES = ["uprobe", "uretprobe", "syscall_trace", "tracepoint", "usdt", "off_cpu"]


def everyone_may_run():
    """A copy of xprobe that another user reaches, and its prefix-free path in XPROBE."""
    folder = pathlib.Path(xp.scratch())
    folder.chmod(0o777)
    copy = folder / "xprobe"
    if not copy.exists():
        shutil.copy(xp.XPROBE, copy)
        copy.chmod(0o755)
    xp.XPROBE = str(copy)


def build(name, *flags):
    compiler = xp.need_command("cc")
    out = pathlib.Path(xp.scratch()) / (name + (".so" if "-shared" in flags else ""))
    subprocess.run([compiler, "-O1", *flags, "-o", out, LIB / f"{name}.c"], check=True)
    return str(out)


def doctor(prefix=(), **options):
    xp.need_root()
    xp.need_command("setpriv")
    everyone_may_run()
    result = xp.run("doctor", exit=0, prefix=prefix, **options)
    assert result.seconds < 5.5, f"doctor took {result.seconds:.1f} s"
    features = {feature["feature"]: feature for feature in result.doc["features"]}
    for feature in features.values():
        if feature["status"] == "restricted":
            assert feature["unblock"] and feature["missing"], feature
    return result.doc, features


def need_working_root():
    doc, features = doctor()
    for name in BPF_FEATURES + ["cpu_sample"]:
        if features[name]["status"] != "available":
            raise xp.Skip(f"{name} does not work here even for root: {features[name]['unblock']}")
    return doc, features


def own_target():
    """The caller as a process of the user that has no rights."""
    everyone_may_run()
    if any(parent.stat().st_mode & 0o5 != 0o5 for parent in CALLER.parents):
        raise xp.Skip("the build folder is not readable for other users")
    return xp.Target(xp.need_command("setpriv"), *NOBODY[1:], CALLER)


def spec_of(identity, start, end, policy):
    return {"schema_version": "2.0", "name": None, "target": identity, "start_selector": start, "end_selector": end,
            "match_policy": policy.replace("-", "_"), "samples": 7, "duration_ms": None, "timeout_ms": 1000, "max_events": 1000}


@contextlib.contextmanager
def paranoid(value):
    before = PARANOID.read_text()
    try:
        PARANOID.write_text(str(value))
    except OSError as problem:
        raise xp.Skip(f"kernel.perf_event_paranoid cannot be set: {problem}") from None
    try:
        yield
    finally:
        PARANOID.write_text(before)


def test_root_has_what_it_tries():
    doc, _ = need_working_root()
    assert doc["capabilities"]["uprobe"] and doc["capabilities"]["uretprobe"] and doc["capabilities"]["tracepoint"]
    floors = doc["probe_floor_ns"]
    assert floors["uprobe"] and floors["uretprobe"] and floors["syscall"], floors
    assert "BPF_PERMISSION_MISSING" not in [warning["code"] for warning in doc["warnings"]]


def test_nobody_lacks_two_capabilities():
    need_working_root()
    doc, features = doctor(NOBODY)
    for name in BPF_FEATURES:
        feature = features[name]
        assert feature["status"] == "restricted" and feature["tried"], feature
        assert feature["call"] == "bpf(BPF_PROG_LOAD)" and feature["errno"] == "EPERM", feature
        assert feature["missing"] == ["CAP_BPF", "CAP_PERFMON"], feature
    assert features["symbols_of_other_users"]["missing"] == ["CAP_SYS_PTRACE"]
    assert not any(doc["capabilities"][name] for name in ("uprobe", "uretprobe", "tracepoint"))
    assert all(value is None for value in doc["probe_floor_ns"].values()), doc["probe_floor_ns"]
    assert "BPF_PERMISSION_MISSING" in [warning["code"] for warning in doc["warnings"]]


def test_two_capabilities_are_enough_for_probes():
    """Kernels mended for CVE-2025-38466 want CAP_SYS_ADMIN for uprobes through perf events, not for uprobe_multi links."""
    need_working_root()
    _, features = doctor(NOBODY + ["--inh-caps=+perfmon,+bpf", "--ambient-caps=+perfmon,+bpf"])
    for name in BPF_FEATURES:
        assert features[name]["status"] == "available", features[name]


def test_root_without_capabilities_is_not_told_to_become_root():
    need_working_root()
    _, features = doctor(["setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-all"])
    for name in BPF_FEATURES:
        assert features[name]["missing"] == ["CAP_BPF"], features[name]
        assert "--cap-add=BPF" in features[name]["unblock"], features[name]


def test_user_namespace():
    need_working_root()
    xp.need_command("unshare")
    if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL).returncode:
        raise xp.Skip("no user namespaces here")
    _, features = doctor(["unshare", "-Ur"])
    for name in BPF_FEATURES:
        assert features[name]["missing"] == ["initial user namespace"], features[name]


def test_seccomp_is_named_with_either_errno():
    need_working_root()
    helper = build("seccomp_exec")
    for number, name in ((1, "EPERM"), (38, "ENOSYS")):
        _, features = doctor([helper, str(number)])
        for feature in (features["uprobe"], features["syscall_trace"]):
            assert feature["status"] == "restricted" and feature["errno"] == name, feature
            assert feature["missing"] == ["seccomp filter that allows bpf"], feature
        sample = features["cpu_sample"]
        assert sample["errno"] == name and sample["missing"] == ["seccomp filter that allows perf_event_open"], sample
        texts = " ".join(feature["unblock"] or "" for feature in features.values())
        assert "sudo" not in texts and "as root" not in texts, texts


def test_paranoid_levels_of_the_main_line():
    need_working_root()
    with paranoid(2):
        _, features = doctor(NOBODY)
        assert features["cpu_sample"]["status"] == "available", features["cpu_sample"]
        assert features["kernel_stacks"]["missing"] == ["CAP_PERFMON"], features["kernel_stacks"]
        assert features["kernel_stacks"]["errno"] == "EACCES"
        _, features = doctor(NOBODY + ["--inh-caps=+perfmon,+syslog", "--ambient-caps=+perfmon,+syslog"])
        assert features["kernel_stacks"]["status"] == "available", features["kernel_stacks"]
    with paranoid(1):
        doc, features = doctor(NOBODY)
        assert features["kernel_stacks"]["errno"] is None, features["kernel_stacks"]
        assert doc["checks"]["perf_event_paranoid"] == {"status": "available", "detail": "1"}


def test_paranoid_4_of_distributions():
    need_working_root()
    xp.need_command("unshare")
    shim = build("paranoid_shim", "-shared", "-fPIC")
    four = pathlib.Path(xp.scratch()) / "paranoid"
    four.write_text("4\n")
    four.chmod(0o644)
    hide = ["unshare", "-m", "sh", "-c", f'mount --bind {four} {PARANOID} && exec "$@"', "sh"]
    env = {"LD_PRELOAD": shim}

    _, none = doctor(hide + NOBODY, env=env)
    _, perfmon = doctor(hide + NOBODY + ["--inh-caps=+perfmon", "--ambient-caps=+perfmon"], env=env)
    _, root = doctor(hide, env=env)
    for features in (none, perfmon):
        assert features["cpu_sample"]["errno"] == "EACCES", features["cpu_sample"]
        assert features["cpu_sample"]["missing"] == ["kernel.perf_event_paranoid<=2"], features["cpu_sample"]
    assert "does not honour CAP_PERFMON" in perfmon["cpu_sample"]["unblock"]
    assert "CAP_PERFMON" not in none["cpu_sample"]["unblock"]
    assert root["cpu_sample"]["status"] == "available", root["cpu_sample"]


def test_driver_that_hangs_or_crashes():
    stub = build("nvml_stub", "-shared", "-fPIC")
    folder = pathlib.Path(xp.scratch()) / "driver"
    folder.mkdir()
    os.rename(stub, folder / "libnvidia-ml.so.1")
    outcomes = {}
    for how in ("hang", "crash", "status", "good"):
        _, features = doctor(env={"LD_LIBRARY_PATH": str(folder), "NVML_STUB": how})
        outcomes[how] = features["nvml"]
    assert outcomes["hang"]["status"] == "unknown", outcomes["hang"]
    assert outcomes["crash"]["status"] == "unavailable" and "crashed" in outcomes["crash"]["unblock"], outcomes["crash"]
    assert outcomes["status"]["call"] == "nvmlInit_v2" and outcomes["status"]["errno"] == "9", outcomes["status"]
    assert outcomes["good"]["status"] == "available", outcomes["good"]


CALLER = xp.BUILD / "bench/bench_caller"
CALLS = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:exit", "--match", "exact"]
FUNCTION = ["--from", f"uprobe:{CALLER}:tick:entry", "--to", f"uprobe:{CALLER}:tick:return", "--match", "stack-nested"]
BOUND = ["--duration-ms", 200]


def graph_of(target, *pairs):
    """A graph with one edge for each (start, end, policy)."""
    ends = {f"{side}{i}": pair[k] for i, pair in enumerate(pairs) for k, side in enumerate(("from", "to"))}
    edges = [{"name": f"edge{i}", "start": f"from{i}", "end": f"to{i}", "match_policy": pair[2].replace("-", "_")} for i, pair in enumerate(pairs)]
    return {"schema_version": "3.0", "name": None, "target": target, "endpoints": ends, "edges": edges, "samples": None, "duration_ms": 200,
            "timeout_ms": 10000, "max_events": 1000}


def test_validate_and_the_error_of_measure_name_the_same_right():
    """Contract 15.3, and 5: what cannot run now is valid: false with the right in features, exit 0; measure ends with exit 4."""
    need_working_root()
    options = {"prefix": NOBODY}
    with own_target() as target:
        for what in (CALLS, FUNCTION, ["--syscall-aggregate"]):
            checked = xp.ok("validate", "--pid", target.pid, *what, **options)
            assert checked["valid"] is False and [issue["code"] for issue in checked["issues"]] == ["PERMISSION_DENIED"], checked
            feature, = checked["features"]
            assert feature["tried"] and feature["missing"] == ["CAP_BPF", "CAP_PERFMON"] and feature["unblock"], feature
            details = xp.run("measure", "--pid", target.pid, *what, *BOUND, code="PERMISSION_DENIED", exit=4, **options).details
            assert {key: details[key] for key in ("call", "errno", "object")} == {key: feature[key] for key in ("call", "errno", "object")}, details
            if len(what) > 1:
                assert xp.ok("validate", "--spec", xp.spec_file(spec_of(target.identity(), *what[1::2])), **options)["valid"] is False
        graph = graph_of(target.identity(), CALLS[1::2], FUNCTION[1::2])
        checked = xp.ok("validate", "--spec", xp.spec_file(graph), **options)
        assert checked["valid"] is False and not any(edge["valid"] for edge in checked["edges"]), checked
        assert {(one["scope"], one["name"], one["rule"], one["code"]) for one in checked["issues"]} == {
            ("endpoint", name, "capability", "PERMISSION_DENIED") for name in ("from0", "to0", "from1", "to1")}, checked["issues"]
        xp.run("measure", "--spec", xp.spec_file(graph), code="PERMISSION_DENIED", exit=4, **options)
        checked = xp.ok("validate", "--pid", target.pid, "--triage", **options)
        sources = {source["name"]: source for source in checked["sources"]}
        assert checked["valid"] and list(sources) == ["threads", "cgroup", "cpu_samples", "off_cpu", "syscalls", "gpu", "cuda_kernels", "cuda_copies"]
        assert sources["threads"]["status"] == "available" and sources["threads"]["reason"] is None
        assert sources["syscalls"]["reason"] == "not_permitted" and sources["syscalls"]["feature"]["missing"] == ["CAP_BPF", "CAP_PERFMON"]
        doc = xp.ok("measure", "--pid", target.pid, "--triage", *BOUND, **options)
        assert [source["name"] for source in doc["sources"]] == list(sources)
        told = {source["name"]: source for source in doc["sources"]}
        for name in sources:
            assert told[name]["status"] == sources[name]["status"] and told[name]["reason"] == sources[name]["reason"], (told[name], sources[name])
        assert {key: told["syscalls"][key] for key in ("call", "errno", "object")} == \
            {key: sources["syscalls"]["feature"][key] for key in ("call", "errno", "object")}, told["syscalls"]
        assert "grant_right" in [finding["code"] for finding in doc["findings"]] and doc["summary"]["syscalls"] is None
        assert {"causality", "source_syscalls"} <= {gap["code"] for gap in doc["not_covered"]}, doc["not_covered"]
        assert doc["summary"]["threads"]["count"] == 1 and doc["window"]["requested_ms"] == 200, doc["summary"]


def test_another_users_process_is_exit_4_everywhere():
    need_working_root()
    with xp.sleeper() as target:
        for args in (["validate", *CALLS], ["validate", "--triage"], ["measure", *CALLS, *BOUND], ["measure", "--triage", *BOUND],
                     ["measure", "--syscall-aggregate", *BOUND], ["inspect"]):
            result = xp.run(args[0], "--pid", target.pid, *args[1:], code="PERMISSION_DENIED", exit=4, prefix=NOBODY)
            assert result.details["errno"] == "EACCES" and result.details["object"].startswith(f"/proc/{target.pid}/"), result
            assert any("CAP_SYS_PTRACE" in hint for hint in result.error["hints"]), result


def test_human_report():
    everyone_may_run()
    result = xp.run("doctor", "--human", text=True, exit=0)
    text = result.out.decode()
    assert "works" in text and "\x1b" not in text, text


def test_flags():
    xp.run("doctor", "--pid", "1", code="INVALID_ARGUMENT", exit=2)
    xp.run("doctor", "extra", code="INVALID_ARGUMENT", exit=2)


def test_nothing_is_left_behind():
    xp.need_root()
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.path.exists(bpftool):
        raise xp.Skip("wants bpftool")

    def ownerless():
        """Links that no process holds; those of runs beside this one have a holder."""
        links = json.loads(subprocess.run([bpftool, "-j", "link", "list"], capture_output=True, check=True).stdout)
        return {link["id"] for link in links if not link.get("pids")}

    before = ownerless()
    need_working_root()
    assert ownerless() <= before


if __name__ == "__main__":
    xp.main()
