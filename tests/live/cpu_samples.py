# SPDX-License-Identifier: Apache-2.0
"""`measure --cpu-sample` from the command line: known shares, threads of the window, Python with C code, stripped files, formats, bounds."""
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import xp

SHARES = {"sixty": 0.6, "thirty": 0.3, "ten": 0.1}
RUNS = 20
EXACT = ("--max-samples", 2000, "--frequency-hz", 4999, "--max-cost", 0, "--json")
PYTHON = next((path for path in (sys.executable, shutil.which("python3"), "/usr/bin/python3") if path), None)


def sample(pid, *args, duration=600):
    return xp.ok("measure", "--pid", pid, "--cpu-sample", "--duration-ms", duration, "--max-cost", 0, "--json", *args)


def full(pid, *args, **options):
    return sample(pid, "--evidence", "full", *args, **options)


def hotspots(doc):
    """By function; the document lists everything."""
    spots = {}
    for spot in doc["inventory"]["hotspots"]:
        spots.setdefault(spot["frame"]["symbol"], spot)
    return spots


def check_sums(doc):
    """What is true of every full document."""
    c, inventory = doc["collection"], doc["inventory"]
    assert c["groups"] == len(inventory["stack_groups"]) <= c["group_capacity"], c
    assert sum(group["samples"] for group in inventory["stack_groups"]) == c["grouped_samples"] <= c["observed_samples"], c
    assert sum(spot["exclusive_samples"] for spot in inventory["hotspots"]) == c["observed_samples"], c
    assert sum(pattern["samples"] for pattern in doc["threads"]) == c["observed_samples"], doc["threads"]
    assert sum(source["delivered"] for source in c["sources"]) == c["observed_samples"], c
    for spot in inventory["hotspots"]:
        assert spot["exclusive_samples"] <= spot["inclusive_samples"] <= c["observed_samples"], spot
        low, high = spot["inclusive_interval_95"]
        assert 0 <= low <= spot["inclusive_proportion"] <= high <= 1, spot
    samples = [group["samples"] for group in inventory["stack_groups"]]
    assert samples == sorted(samples, reverse=True), samples
    s = doc["symbolization"]
    assert s["total_frames"] == s["resolved_native_frames"] + s["resolved_python_frames"] + s["resolved_kernel_frames"] + \
        s["resolved_jit_frames"] + s["unresolved_frames"], s


def check_shares(pid, language):
    """Each run of 2,000 samples within 4 points, their mean within 1, and the 95 % interval holds the truth in 16 of 20 runs at least. Fault:
    35 periods of the clock were a cycle of the target but for 0.03 %, so a whole run met the tenth at 3 of 35 places, or at 4."""
    covered = dict.fromkeys(SHARES, 0)
    sums = dict.fromkeys(SHARES, 0.0)
    for _ in range(RUNS):
        doc = xp.ok("measure", "--pid", pid, "--cpu-sample", "--duration-ms", 8000, "--evidence", "full", *EXACT, timeout=90)
        check_sums(doc)
        assert doc["collection"]["observed_samples"] == 2000, doc["collection"]
        spots = hotspots(doc)
        for name, truth in SHARES.items():
            spot = spots[name]
            assert spot["frame"]["language"] == language, spot
            assert abs(spot["inclusive_proportion"] - truth) <= 0.04, (name, spot["inclusive_proportion"])
            low, high = spot["inclusive_interval_95"]
            covered[name] += low <= truth <= high
            sums[name] += spot["inclusive_proportion"] / RUNS
    assert all(n >= 16 for n in covered.values()), (covered, sums)
    assert all(abs(sums[name] - truth) <= 0.01 for name, truth in SHARES.items()), sums


def test_known_native_shares():
    """Without frame pointers; whole call chains."""
    with xp.Target("shares") as target:
        check_shares(target.pid, "native")
        doc = full(target.pid, "--frequency-hz", 999)
    whole = sum(group["samples"] for group in doc["inventory"]["stack_groups"] if group["frames"][-1]["symbol"] == "_start")
    assert whole >= 0.99 * doc["collection"]["observed_samples"], doc["collection"]
    assert doc["collection"]["unwind_failed"] + doc["collection"]["truncated_stacks"] <= 0.01 * doc["collection"]["observed_samples"], doc
    spot = hotspots(doc)["sixty"]
    assert spot["entry_selector_hint"].startswith("uprobe:/") and spot["entry_selector_hint"].endswith(":entry"), spot
    assert spot["return_selector_hint"] == spot["entry_selector_hint"].replace(":entry", ":return"), spot


def test_loop_as_long_as_the_period():
    """Fault: a clock of one period met a cycle of the same length at one place, so that a function had all of the samples, or none."""
    with xp.Target("shares") as target:
        spots = hotspots(full(target.pid, "--frequency-hz", 143, duration=3000))
    for name, truth in SHARES.items():
        assert abs(spots[name]["inclusive_proportion"] - truth) < 0.12, (name, spots[name])


def python_target(*args):
    return xp.Target(PYTHON, xp.SOURCE / "tests/targets/shares.py", *args)


def need_python_frames(pid):
    status = xp.ok("validate", "--pid", pid, "--cpu-sample")["python_status"]
    if status != "active":
        raise xp.Skip(f"this Python's frames can't be read: {status}")


def test_known_python_shares():
    with python_target() as target:
        need_python_frames(target.pid)
        check_shares(target.pid, "python")


def test_python_lines_and_c_code():
    """C code below Python, the Python line above it, no interpreter plumbing between them."""
    with python_target("json") as target:
        need_python_frames(target.pid)
        doc = full(target.pid, "--frequency-hz", 999)
    spots = hotspots(doc)
    assert spots["encode"]["inclusive_proportion"] > 0.95, spots["encode"]
    frame = spots["encode"]["frame"]
    lines = (xp.SOURCE / "tests/targets/shares.py").read_text().splitlines()
    assert frame["source_path"].endswith("/shares.py") and "json.dumps" in lines[frame["line"] - 1], frame
    assert frame["address"] == 0 and frame["kind"] == "python" and frame["module_path"] is None, frame
    mixed = [group for group in doc["inventory"]["stack_groups"] if any("encode" == f["symbol"] for f in group["frames"]) and
             group["frames"][0]["kind"] == "native"]
    assert sum(group["samples"] for group in mixed) > 0.3 * doc["collection"]["observed_samples"], doc["inventory"]["stack_groups"][:3]
    for group in mixed:
        names = [frame["symbol"] for frame in group["frames"]]
        assert "_PyEval_EvalFrameDefault" not in names, names
        assert names.index("encode") < names.index("<module>"), names
    assert doc["symbolization"]["python_source"] == "frames" and doc["symbolization"]["python_status"] == "active", doc["symbolization"]


WHEEL = """
#include <stdint.h>
__attribute__((noinline)) int64_t between(int64_t (*back)(int64_t), int64_t n)
{
	volatile char room[4096];
	room[n & 4095] = (char)n;
	return back(n) + room[n & 4095];
}
"""
USER = """
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
BACK = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
lib.between.argtypes, lib.between.restype = [BACK, ctypes.c_int64], ctypes.c_int64
def inner_python(n):
    for i in range(20000):
        n += i
    return n % 7
back = BACK(inner_python)
def outer_python():
    return lib.between(back, 3)
print("ready", flush=True)
while True:
    outer_python()
"""


def test_wheel_without_frame_pointers():
    """Case E5: a C function between two of Python's, whole with unwind rules; without them stacks are counted, and Python is still there."""
    compiler = xp.need_command("cc")
    folder = pathlib.Path(xp.scratch())
    (folder / "wheel.c").write_text(WHEEL)
    for name, flags in (("with", ()), ("without", ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables"))):
        library = folder / f"wheel-{name}.so"
        subprocess.run([compiler, "-O2", "-fomit-frame-pointer", *flags, "-shared", "-fPIC", "-o", library, folder / "wheel.c"], check=True)
        with xp.Target(PYTHON, "-c", USER, library) as target:
            doc = full(target.pid, "--frequency-hz", 499, duration=1000)
        if doc["symbolization"]["python_status"] != "active":
            raise xp.Skip(f"this Python's frames are {doc['symbolization']['python_status']}")
        stacks = [([frame["symbol"] for frame in group["frames"]], group["samples"]) for group in doc["inventory"]["stack_groups"]]
        inside = [(names, n) for names, n in stacks if "inner_python" in names]
        whole = sum(n for names, n in inside)
        assert whole > 0.8 * doc["collection"]["observed_samples"], doc["collection"]
        assert sum(n for names, n in inside if "outer_python" in names) == whole, inside
        if name == "with":
            order = sum(n for names, n in inside if "between" in names and names.index("inner_python") < names.index("between") < names.index("outer_python"))
            assert order >= 0.99 * whole, (order, whole, inside[:2])
        else:
            counted = doc["collection"]["unwind_failed"] + doc["collection"]["truncated_stacks"]
            assert counted >= 0.95 * whole, (counted, whole, doc["collection"])
            assert {issue["code"] for issue in doc["quality"]["issues"]} & {"unwind_failures", "truncated_stacks"}, doc["quality"]


def test_threads_born_in_the_window():
    """Every thread of the window has ended or will; what they used is seen to at least 0.97."""
    with xp.Target("shares", "born") as target:
        doc = full(target.pid, "--frequency-hz", 999, duration=2000)
    check_sums(doc)
    c = doc["collection"]
    assert c["threads_started"] >= 2 and c["threads_ended"] >= 1, c
    assert c["coverage"] > 0.97, c
    newborn = sum(pattern["samples"] for pattern in doc["threads"] if pattern["name_pattern"] == "newborn")
    assert newborn > 0.97 * c["observed_samples"], doc["threads"]


def test_threads_by_name():
    with xp.Target("shares", 3) as target:
        doc = full(target.pid, "--threads", "name~^worker-[01]$", "--frequency-hz", 499)
        check_sums(doc)
        assert [pattern["name_pattern"] for pattern in doc["threads"]] == ["worker-#"] and doc["threads"][0]["threads"] == 2, doc["threads"]
        assert "threads_filtered" in [issue["code"] for issue in doc["quality"]["issues"]], doc["quality"]
        assert {group["thread_name_pattern"] for group in doc["inventory"]["stack_groups"]} == {"worker-#"}, doc["inventory"]
        details = xp.fails("INVALID_EVENT_SELECTOR", "measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 100, "--threads",
                           "name~^nobody", "--json")
        assert "worker-#" in details["candidates"], details


def test_stripped_program():
    """Functions without a name stay module+offset, one hotspot each, and give no hint."""
    xp.need_command("strip")
    path = pathlib.Path(xp.scratch()) / "shares_stripped"
    subprocess.run(["strip", "-s", "-o", str(path), str(xp.TARGETS / "shares")], check=True)
    with xp.Target(path) as target:
        doc = full(target.pid, "--frequency-hz", 1999)
    check_sums(doc)
    nameless = [spot for spot in doc["inventory"]["hotspots"] if (spot["frame"]["module_path"] or "").endswith("/shares_stripped")]
    assert nameless and all(spot["frame"]["symbol"] is None and spot["entry_selector_hint"] is None for spot in nameless), nameless
    shares = sorted((spot["inclusive_proportion"] for spot in nameless if spot["inclusive_proportion"] < 0.9), reverse=True)
    assert abs(shares[0] - 0.6) < 0.1 and abs(shares[1] - 0.3) < 0.1, shares


def read_folded(path):
    """An independent reader: root first, ';' between frames, one blank before the count."""
    stacks = {}
    for line in path.read_text("utf-8").splitlines():
        stack, _, count = line.rpartition(" ")
        assert stack and stack not in stacks and int(count) > 0, line
        stacks[stack] = int(count)
    return stacks


def read_speedscope(path):
    """An independent reader of the documented format."""
    doc = xp.parse(path.read_text("utf-8"))
    assert doc["$schema"] == "https://www.speedscope.app/file-format-schema.json", doc["$schema"]
    frames = doc["shared"]["frames"]
    for profile in doc["profiles"]:
        assert profile["type"] == "sampled" and profile["unit"] in ("none", "microseconds") and profile["startValue"] == 0, profile["type"]
        assert len(profile["samples"]) == len(profile["weights"]) and sum(profile["weights"]) == profile["endValue"], profile["name"]
        assert all(0 <= number < len(frames) for stack in profile["samples"] for number in stack), profile["name"]
    return frames, doc["profiles"]


def test_formats():
    folder = pathlib.Path(xp.scratch())
    with xp.Target("shares", 2) as target:
        doc = full(target.pid, "--events-out", folder / "stacks", "--frequency-hz", 499)
        stacks = read_folded(folder / "stacks")
        assert sum(stacks.values()) == doc["collection"]["grouped_samples"], doc["collection"]
        assert all("cycle" in stack.split(";") for stack in stacks if stack.split(";")[-1] in SHARES), stacks
        assert doc["evidence"]["artifact"]["format"] == "json", doc["evidence"]
        doc = full(target.pid, "--events-out", folder / "scope.json", "--format", "speedscope", "--frequency-hz", 499)
        frames, profiles = read_speedscope(folder / "scope.json")
        assert sum(profile["endValue"] for profile in profiles) == doc["collection"]["grouped_samples"], profiles
        assert [profile["name"] for profile in profiles] == ["worker-#"], profiles
        assert SHARES.keys() <= {frame["name"] for frame in frames}, frames
        xp.fails("INVALID_ARGUMENT", "measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 100, "--events-out", folder / "x",
                 "--format", "chrome", "--json")
        xp.fails("TRACE_EXPORT_FAILED", "measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 100, "--events-out",
                 folder / "none" / "x", "--json")


def test_blocked_stacks_beside():
    """--off-cpu: a second folded file in us, an extra speedscope profile, and waits in the report."""
    folder = pathlib.Path(xp.scratch())
    with xp.sleeper() as target:
        time.sleep(0.2)
        doc = full(target.pid, "--off-cpu", "--events-out", folder / "idle", duration=400)
        assert doc["off_cpu"]["groups"][0]["open_at_end"] == 1, doc["off_cpu"]
        blocked = read_folded(folder / "idle.offcpu")
        assert read_folded(folder / "idle") == {}, "an idle process has no CPU samples"
        assert abs(sum(blocked.values()) - doc["collection"]["window_ns"] / 1000) < 20000, blocked
        full(target.pid, "--off-cpu", "--events-out", folder / "idle.json", "--format", "speedscope", duration=400)
        _, profiles = read_speedscope(folder / "idle.json")
        assert [(profile["name"], profile["unit"]) for profile in profiles] == [("blocked", "microseconds")], profiles
        text = xp.run("measure", "--pid", target.pid, "--cpu-sample", "--off-cpu", "--duration-ms", 300, "--human", text=True).out.decode()
        assert "blocked" in text and "clock_nanosleep" in text, text
        xp.fails("INVALID_ARGUMENT", "measure", "--pid", target.pid, "--cpu-sample", "--min-block-us", 100, "--duration-ms", 100, "--json")


def test_bounds_reached():
    """Exit 0, incomplete, warned; hotspots count all samples although stacks are left out."""
    with xp.Target("shares") as target:
        doc = full(target.pid, "--max-samples", 53, "--frequency-hz", 999, duration=5000)
        check_sums(doc)
        assert doc["collection"]["observed_samples"] == 53 and doc["collection"]["completeness"] == "incomplete", doc["collection"]
        assert "CPU_SAMPLE_CAPACITY_REACHED" in [warning["code"] for warning in doc["warnings"]], doc["warnings"]
        doc = full(target.pid, "--max-groups", 1, "--frequency-hz", 999)
        check_sums(doc)
        assert doc["collection"]["groups"] == 1 and doc["collection"]["grouped_samples"] < doc["collection"]["observed_samples"], doc
        assert "CPU_GROUP_CAPACITY_REACHED" in [warning["code"] for warning in doc["warnings"]], doc["warnings"]
        doc = full(target.pid, "--stack-depth", 2, "--frequency-hz", 999)
        assert all(len(group["frames"]) <= 2 for group in doc["inventory"]["stack_groups"]), doc["inventory"]
        assert doc["collection"]["truncated_stacks"] == doc["collection"]["observed_samples"], doc["collection"]
        assert "truncated_stacks" in [issue["code"] for issue in doc["quality"]["issues"]], doc["quality"]


def test_budget():
    """The default result fits, says what it left out, and the artifact has it all."""
    with python_target("json") as target:
        doc = sample(target.pid, "--frequency-hz", 1999)
    c, inventory = doc["collection"], doc["inventory"]
    assert c["groups_listed"] == len(inventory["stack_groups"]) and c["hotspots_listed"] == len(inventory["hotspots"]), c
    assert 1 <= c["groups_listed"] < c["groups"], c
    whole = xp.parse(pathlib.Path(doc["evidence"]["artifact"]["path"]).read_text("utf-8"))
    assert len(whole["inventory"]["stack_groups"]) == c["groups"], whole["collection"]
    for cut, all_of_it in zip(inventory["stack_groups"], whole["inventory"]["stack_groups"]):
        assert cut["frames"] == all_of_it["frames"][:len(cut["frames"])] and cut["frames_total"] == len(all_of_it["frames"]), cut


def test_idle_target():
    with xp.sleeper() as target:
        time.sleep(0.2)
        doc = sample(target.pid, duration=200)
    assert doc["inventory"]["stack_groups"] == [] and doc["inventory"]["hotspots"] == [], doc
    assert doc["collection"]["observed_samples"] == 0 and doc["evidence"]["artifact"] is None, doc
    assert doc["collection"]["coverage"] is None or doc["collection"]["expected_samples"] < 1, doc["collection"]


def test_signal_gives_the_shorter_window():
    with xp.Target("shares") as target:
        run = xp.start("measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 25000, "--max-cost", 0, "--json")
        time.sleep(2)
        run.send_signal(signal.SIGINT)
        doc = xp.finish(run).doc
    assert doc["status"] == "cancelled" and doc["collection"]["observed_samples"] > 0, doc
    assert "cancelled" in [issue["code"] for issue in doc["quality"]["issues"]], doc["quality"]


def test_specs():
    with xp.Target("shares") as target:
        spec = {"schema_version": "2.0", "name": "by_spec", "target": target.identity(), "sample_event": "cpu_clock", "frequency_hz": 199,
                "duration_ms": 200, "timeout_ms": 20000, "max_samples": 1000, "max_groups": 16, "stack_depth": 16, "max_threads": 16}
        doc = xp.ok("measure", "--spec", xp.spec_file(spec), "--json")
        assert doc["inventory"]["name"] == "by_spec" and doc["collection"]["stack_depth"] == 16, doc
        validation = xp.ok("validate", "--spec", xp.spec_file(spec), "--json")
        assert validation["valid"] is True and validation["perf_event"]["status"] == "available", validation
        assert validation["sampler"] == "bpf" and validation["target_threads"] == 1 and validation["off_cpu"] is None, validation
        reused = {**spec, "target": {**spec["target"], "process_start_time": spec["target"]["process_start_time"] + 1}}
        xp.fails("TARGET_REUSED", "measure", "--spec", xp.spec_file(reused), "--json")
        for key in ("extra", "min_block_us"):
            xp.fails("INVALID_EVENT_SELECTOR", "measure", "--spec", xp.spec_file({**spec, key: 1}), "--json")
        xp.fails("INVALID_EVENT_SELECTOR", "measure", "--spec", xp.spec_file({**spec, "sample_event": "cycles"}), "--json")
        for key, value in (("frequency_hz", 0), ("frequency_hz", 10001), ("max_samples", 10000001), ("max_groups", 0), ("stack_depth", 513),
                           ("max_threads", 65537), ("duration_ms", 20001)):
            xp.fails("SESSION_LIMIT_EXCEEDED", "measure", "--spec", xp.spec_file({**spec, key: value}), "--json")
        xp.fails("INVALID_EVENT_SELECTOR", "trace", "--spec", xp.spec_file(spec), "--json")


def test_report():
    """People see the tree, the shares and the functions; no line is wider than 100 columns."""
    with xp.Target("shares") as target:
        text = xp.run("measure", "--pid", target.pid, "--cpu-sample", "--duration-ms", 500, "--human", text=True).out.decode()
    for word in ("sixty", "thirty", "cycle", "functions", "threads", "evidence"):
        assert word in text, text
    assert all(len(line) <= 100 for line in text.splitlines()), text


if __name__ == "__main__":
    try:
        xp.need_bpf()
    except xp.Skip as reason:
        print(f"SKIP {reason}")
        sys.exit(xp.SKIPPED)
    xp.main()
