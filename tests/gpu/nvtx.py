#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVTX ranges of a PyTorch process and of a C program, hooked while they run: counts, times, what it costs, what is left behind.

Needs an NVIDIA GPU, a Python with torch (XP_TORCH_PYTHON, else python3), gcc and NVTX headers; skipped with the reason elsewhere.
XP_NVTX_TOGGLES is how often a copy is hooked and unhooked under load (a million).
"""
import contextlib
import glob
import mmap
import os
import pathlib
import statistics
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp
from asked import Asked
from real_cuda import torch_command

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests/targets"
HEADERS = [ROOT / ".cache/nvtx/13", ROOT / ".cache/nvtx/12", pathlib.Path("/usr/local/cuda/include")]
FOLDER = tempfile.TemporaryDirectory()
STEP = ("cuda:nvtx_range_start:name~^step$", "cuda:nvtx_range_end:name~^step$")
PAIRS = "pairs 30 5000"
TOGGLES = os.environ.get("XP_NVTX_TOGGLES", "1000000")


def compiled(name, *command):
    path = os.path.join(FOLDER.name, name)
    if not os.path.exists(path):
        subprocess.run(["gcc", "-O2", "-w", "-D_GNU_SOURCE", *map(str, command), "-o", path, "-lpthread", "-ldl"], check=True)
    return path


def c_program():
    include = next((path for path in HEADERS if (path / "nvtx3/nvToolsExt.h").exists()), None)
    if not include:
        raise xp.Skip("no NVTX headers here")
    return [compiled("app", f"-I{include}", TARGET / "nvtx/app.c")]


def toggle_library():
    return compiled("toggle.so", "-shared", "-fPIC", "-fvisibility=hidden", f"-I{ROOT}", f"-I{ROOT}/src", TARGET / "nvtx/toggle.c",
                    *glob.glob(str(ROOT / "agent/*.c")), ROOT / "src/event/api_name.c")


class App(Asked):
    start_s = 2.0

    def ranges(self, lines, *more, **options):
        run, answers = self.between(*STEP, *more, lines=lines, **options)
        assert run.exit == 0, run
        return run.doc, answers

    def rss_kib(self):
        return next(int(line.split()[1]) for line in open(f"/proc/{self.pid}/status") if line.startswith("VmRSS"))


def torch_app(**preset):
    return App(torch_command(TARGET / "torch_nvtx.py"), greets=True, environment=preset)


def offsets():
    source = os.path.join(FOLDER.name, "offsets.c")
    pathlib.Path(source).write_text("""#include <stdio.h>
#include "wire/agent.h"
int main(void) { printf("%zu %zu", __builtin_offsetof(struct xp_agent_control, nvtx), __builtin_offsetof(struct xp_agent_sites, sites)); }""")
    return [int(word) for word in subprocess.run([compiled("offsets", f"-I{ROOT}", source)], capture_output=True, text=True, check=True).stdout.split()]


class Memory:
    """What the agent's memory file says of copies and sites."""

    def __init__(self, app):
        folder = f"/proc/{app.pid}/fd"
        path = next(f"{folder}/{fd}" for fd in os.listdir(folder) if os.readlink(f"{folder}/{fd}").startswith("/memfd:xprobe-agent"))
        with open(path, "rb") as file, contextlib.closing(mmap.mmap(file.fileno(), 1 << 20, prot=mmap.PROT_READ)) as memory:
            counters, sites = offsets()
            names = "copies fresh foreign refused twins maths missed unnamed unplaced calls loads walk_ns".split()
            self.nvtx = dict(zip(names, struct.unpack_from("<12Q", memory, counters)))
            self.files, n = struct.unpack_from("<II", memory, 4096)
            self.looked_ns, self.looked_bytes, self.last_ns = struct.unpack_from("<3Q", memory, 4096 + 16)
            self.sites = struct.unpack_from(f"<{n}Q", memory, 4096 + sites)


def bytes_at(app, sites):
    with open(f"/proc/{app.pid}/mem", "rb", buffering=0) as memory:
        return [os.pread(memory.fileno(), 1168, site) for site in sites]


def matched(document, n):
    samples = document["measurement"]["samples"]
    assert samples["matched"] == n and samples["unmatched_start"] == samples["unmatched_end"] == 0, samples


def test_pytorch_counts_and_copies():
    with torch_app() as app:
        app.tell("work")
        before = app.rss_kib()
        document, _ = app.ranges(["push 1009", "other 17", "range 211"])
        matched(document, 1009 + 211)
        cold = Memory(app)
        after = app.rss_kib()
        slots = bytes_at(app, cold.sites)
        document, _ = app.ranges(["push 1013", "work"], seconds=5.0)
        matched(document, 1013)
        warm = Memory(app)
        assert warm.sites[:len(cold.sites)] == cold.sites
        same = [a == b for a, b in zip(bytes_at(app, cold.sites), slots)]
        print("copies", cold.nvtx, "sites", len(cold.sites), "files", cold.files)
        print(f"look through files: first {cold.looked_ns / 1e6:.1f} ms for {cold.looked_bytes / 1e6:.1f} MB, later {warm.last_ns / 1e6:.2f} ms; "
              f"the agent's walk {cold.nvtx['walk_ns'] / 1e6:.2f} ms")
        print(f"the target's memory grew by {(after - before) / 1024:.1f} MiB; stall {document['cost']['stall_ms']}")
        print("issues", document["quality"]["issues"])
        states = [struct.unpack_from("<I", held)[0] for held in slots]
        print("states after the first capture", {state: states.count(state) for state in set(states)})
        assert len(cold.sites) >= 300, len(cold.sites)
        assert sum(cold.nvtx[key] for key in ("copies", "twins", "maths")) == len(cold.sites) and cold.nvtx["refused"] == cold.nvtx["foreign"] == 0, cold.nvtx
        # Copies that their library used for the first time between the captures are no longer as they were.
        changed = [(i, states[i]) for i, equal in enumerate(same) if not equal]
        assert all(state == 0 for _, state in changed), changed
        print("copies that came into use in between:", len(changed), "second capture", warm.nvtx)
        assert warm.last_ns <= 10e6 and cold.looked_ns <= 60e6, (warm.last_ns, cold.looked_ns)
        assert after - before <= 40 * 1024, (before, after)


def test_slots_are_as_before():
    with torch_app() as app:
        document, _ = app.ranges(["push 31"], seconds=2.5)
        matched(document, 31)
        sites = Memory(app).sites
        slots = bytes_at(app, sites)
        for _ in range(int(os.environ.get("XP_GPU_CAPTURES", "20"))):
            xp.run("measure", "--pid", str(app.pid), "--from", STEP[0], "--to", STEP[1], "--duration-ms", "50", "--match", "exact")
        assert bytes_at(app, sites) == slots


def test_latencies():
    with torch_app() as app:
        document, answers = app.ranges(["timed 211"])
        matched(document, 211)
        apart = document["measurement"]["latency_ns"]["p50"] - answers[0]
        print("p50, apart from the program's own clock, ns:", apart)
        assert abs(apart) <= 2000, apart


def test_a_range_and_its_kernel():
    with torch_app() as app:
        app.tell("kernel 3")
        run, _ = app.between(STEP[0], "cuda:kernel_start:name~elementwise", lines=["kernel 101"], match="first_after")
        assert run.exit == 0, run
        assert run.doc["measurement"]["samples"]["matched"] == 101, run.doc["measurement"]
        print("range start to kernel start", run.doc["measurement"]["latency_ns"], run.doc["clock"])


def test_what_it_costs():
    """Turns with and without a hook, each compared with the bare ones around it: the speed of a process drifts by half within seconds."""
    wants = {"recorded": STEP, "not wanted": ("cuda:nvtx_range_start:name~^no$", "cuda:nvtx_range_end:name~^no$")}
    with torch_app() as app:
        app.tell(PAIRS)
        bare, hooked = [app.tell(PAIRS)], {name: [] for name in wants}
        for _ in range(int(os.environ.get("XP_GPU_TURNS", "5"))):
            for name, selectors in wants.items():
                run, answers = app.between(*selectors, "--max-events", "2000000", lines=[PAIRS])
                assert name != "recorded" or run.doc["measurement"]["samples"]["matched"] == 30 * 5000, run
                bare.append(app.tell(PAIRS))
                hooked[name].append((answers[0], 2 * answers[0] / (bare[-2] + bare[-1])))
        print("push + pop, bare, ns:", [round(ps / 1000) for ps in bare])
        ratios = {name: statistics.median(ratio for _, ratio in turns) for name, turns in hooked.items()}
        for name, turns in hooked.items():
            print(f"push + pop, hooked and {name}, ns: {[round(ps / 1000) for ps, _ in turns]}, median {ratios[name]:.2f} x the bare ones around it")
        assert max(ratios.values()) <= 1.5, ratios
        assert min(bare[1:]) <= 1.25 * bare[0], bare


def test_on_and_off_under_load():
    with torch_app() as app:
        app.tell("push 3")
        app.tell("loop 4")
        begin = time.monotonic()
        seen = app.tell(f"toggle {toggle_library()} {TOGGLES}")
        took = time.monotonic() - begin
        pushed = app.tell("end")
        print(f"hooked and unhooked {TOGGLES} times in {took:.1f} s, {seen} records, {pushed} pairs pushed")
        assert seen > 0 and pushed > 0
    with App(c_program()) as app:
        app.tell("push app 1 step")
        before = app.tell("hash app")
        app.tell("loop 4 step")
        begin = time.monotonic()
        seen = app.tell(f"toggle {toggle_library()} {TOGGLES}")
        print(f"C: hooked and unhooked {TOGGLES} times in {time.monotonic() - begin:.1f} s, {seen} records, {app.tell('end')} rounds")
        assert seen > 0 and app.tell("hash app") == before


def test_a_c_program():
    with App(c_program()) as app:
        app.tell("push app 3 step")
        document, _ = app.ranges(["push app 1009 step", "threads 8 1009 step", "process 997 step"])
        matched(document, 9 * 1009 + 997)
        document, answers = app.ranges(["timed 211 step"])
        apart = document["measurement"]["latency_ns"]["p50"] - answers[0]
        print("C, p50 apart from the program's own clock, ns:", apart)
        assert abs(apart) <= 2000, apart


def test_started_with_the_agent():
    agent = os.environ.get("XPROBE_CUPTI_AGENT_PATH") or next(iter(glob.glob(str(pathlib.Path(xp.XPROBE).parent / "../lib/xprobe/libxprobe-agent.so"))),
                                                            str(xp.BUILD / "libxprobe-agent.so"))
    with torch_app(NVTX_INJECTION64_PATH=agent, CUDA_INJECTION64_PATH=agent) as app:
        app.tell("work")
        document, _ = app.ranges(["push 1009", "range 31", "work"], seconds=5.0)
        matched(document, 1009 + 31)
        assert not [warning for warning in document["warnings"] if warning["code"] == "CUPTI_AGENT_INJECTED"], document["warnings"]
        print("started with the agent:", Memory(app).nvtx, [issue["code"] for issue in document["quality"]["issues"]])


if __name__ == "__main__":
    xp.main()
