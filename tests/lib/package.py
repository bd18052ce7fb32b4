# SPDX-License-Identifier: Apache-2.0
"""What the tests of packages share: the files of dist/, and the way from a binary to a first answer."""
import json
import pathlib
import subprocess

import xp

DIST = xp.SOURCE / "dist"


def file(pattern):
    """The one file of dist/ that fits."""
    found = sorted(DIST.glob(pattern))
    if not found:
        raise xp.Skip(f"no dist/{pattern}: `make dist` builds it, where its tools are")
    assert len(found) == 1, found
    return found[0]


def run(*command, **options):
    done = subprocess.run([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, **options)
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


def first_answer(xprobe):
    """xprobe: a function that runs the packaged tool with arguments and returns its stdout. Doctor, triage of a program, its first spec."""
    version = xp.run("--version", text=True).out.decode()
    assert xprobe("--version") == version
    assert json.loads(xprobe("doctor"))["ok"]
    with xp.Target(xp.SOURCE / "tests/lib/reader.py", ready="ready") as target:
        triage = json.loads(xprobe("measure", "--pid", target.pid, "--triage", "--duration-ms", "1000"))
        best = triage["findings"][0]
        assert best["code"] == "syscall_blocked" and best["subject"] == "read", best
        spec = best["next"]["spec"]
        result = json.loads(xprobe("measure", "--pid", target.pid, "--from", spec["start_selector"], "--to", spec["end_selector"],
                                   "--match", spec["match_policy"], "--samples", "13"))
        assert result["measurement"]["samples"]["matched"] == 13, result["measurement"]


def files_below(root):
    return sorted(str(path.relative_to(root)) for path in pathlib.Path(root).rglob("*"))
