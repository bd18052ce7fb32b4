#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Six programs of the diagnosis benchmark, looked at for a second each. Where nothing on a busy machine can change it, the first finding is the
cause; elsewhere waiting for a CPU may come before it, and it is among the first three."""
import importlib.machinery
import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
import xp

LOADER = importlib.machinery.SourceFileLoader("diagnose", str(xp.SOURCE / "bench/diagnose"))
bench = importlib.util.module_from_spec(importlib.util.spec_from_loader("diagnose", LOADER))
sys.dont_write_bytecode = True
LOADER.exec_module(bench)


def rank_of(name):
    """Place of the cause among the findings, which are named when it is not there."""
    xp.need_bpf()
    wanted = bench.CASES[name]
    with bench.running(name, wanted[2]) as (pid, words):
        document = xp.run("measure", "--pid", pid, "--triage", "--duration-ms", 1000, exit=0).doc
    found = bench.causes(document, wanted[2])
    ranks = [i for i, cause in enumerate(found, 1) if bench.fits(cause, wanted, words)]
    assert ranks, (name, [cause[:2] for cause in found])
    print(f"  {name}: {ranks[0]} of {len(found)}")
    return ranks[0]


def test_first():
    for name in ("deadlock", "slow_peer", "slow_download"):
        assert rank_of(name) == 1, name


def test_among_three():
    for name in ("lock", "hot_function", "failing_opens"):
        assert rank_of(name) <= 3, name


def test_a_throwing_program_lives_on():
    """Returns of the function that throws are looked for by the unwinder itself: the kernel's return probe would end the program."""
    xp.need_bpf()
    with bench.running("exceptions", "") as (pid, _):
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text().split()
        library = next(word for word in maps if "/libgcc_s" in word)
        function = f"uprobe:{library}:_Unwind_RaiseException"
        run = xp.run("measure", "--pid", pid, "--from", f"{function}:entry", "--to", f"{function}:return", "--match", "stack-nested",
                     "--samples", 31, "--duration-ms", 500, "--max-cost", 0)
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        assert state in "RS", (state, run)
        print(f"  {run.code or 'measured'}; still in state {state}")


if __name__ == "__main__":
    xp.main()
