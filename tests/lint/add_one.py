#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that one file and one line add a family, inventory, rule, policy, engine or output.

In: the source tree. Drops a toy of each kind (tests/lint/toys/) and its line into a scratch copy, builds that, and looks for every toy in
`xprobe dev lists`. Out: one line a list; exit 1 when the build fails or a toy does not show, for then another file would have to change.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOYS = ROOT / "tests/lint/toys"
# Where a list's new file goes and what its line says, when it is not toy.c beside the list and XP_<LIST>(toy).
PLACES = {"policy": ("src/correlate/toy.c", "XP_POLICY(TOY, toy)")}
# Lists that are no extension surface.
FIXED = {"err", "command", "schema"}


def copy_tree(into):
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True)
    for name in names.stdout.decode().split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, into / name)


def main():
    toys = sorted(TOYS.glob("*.c"))
    lists = {path.stem.removesuffix("_list"): path for path in (ROOT / "src").glob("*/*_list.def")}
    extendable = set(lists) - FIXED
    missed = [f"{name}_list.def has no toy in {TOYS.relative_to(ROOT)}" for name in sorted(extendable - {toy.stem for toy in toys})]
    missed += [f"toy {toy.name} has no list" for toy in toys if toy.stem not in lists]
    with tempfile.TemporaryDirectory(prefix="xprobe-add-one-") as folder:
        scratch = pathlib.Path(folder)
        copy_tree(scratch)
        for toy in toys:
            if toy.stem not in lists:
                continue
            definition = scratch / lists[toy.stem].relative_to(ROOT)
            place, line = PLACES.get(toy.stem, (definition.parent.relative_to(scratch) / "toy.c", f"XP_{toy.stem.upper()}(toy)"))
            shutil.copy2(toy, scratch / place)
            with definition.open("a") as file:
                file.write(line + "\n")
        build = scratch / "build"
        for command in (["cmake", "-G", "Ninja", "-S", scratch, "-B", build, "-DCMAKE_BUILD_TYPE=Debug"], ["cmake", "--build", build, "--target", "xprobe"]):
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print("\n".join(line for line in (done.stdout + done.stderr).splitlines() if "error" in line or "undefined" in line))
                print("add_one: a tree with one toy file and one line a list does not build")
                return 1
        shown = json.loads(subprocess.run([build / "xprobe", "dev", "lists", "--json"], capture_output=True, check=True).stdout)
    for toy in toys:
        if toy.stem in lists and "toy" not in shown.get(toy.stem, []):
            missed.append(f"toy of {toy.stem}_list.def is not in `xprobe dev lists`")
    for line in missed:
        print(line)
    print(f"add_one: {len(toys)} lists, {len(missed)} failures")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
