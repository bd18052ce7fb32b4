#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ctest on a build folder and closes with one line that counts. In: BUILD [LABEL...]. A skipped test is never counted as passed.

Exit 0: at least one test passed and none failed.
"""
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

LIMIT_S = 600
SECOND_TRIES = 4


def output_of(case):
    return "".join(part.text or "" for part in case.iter() if part.tag in ("system-out", "skipped"))


def skip_reason(text):
    found = re.findall(r"^.*SKIP(?:PED)?[: ]+(.*)$", text, re.MULTILINE)
    return found[-1].strip() if found else "no reason given"


def inner_skips(name, text):
    """Single functions that a passing file skipped: `SKIP function: reason` of xp.py, `[  SKIPPED ] function` of cmocka."""
    found = re.findall(r"^SKIP (\w+): (.*)$", text, re.MULTILINE)
    named = {function for function, _ in found}
    found += [(function, "see its output") for function in sorted(set(re.findall(r"^\[  SKIPPED \] (\w+)$", text, re.MULTILINE)) - named)]
    return [(f"{name} {function}", reason) for function, reason in found]


def count(report):
    passed, failed, skipped = [], [], []
    for case in tree.parse(report).getroot().iter("testcase"):
        name, text = case.get("name"), output_of(case)
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped.append((name, skip_reason(text)))
        else:
            passed.append(name)
            skipped += inner_skips(name, text)
    return passed, failed, skipped


def run(build, choice, jobs):
    """-> (exit status, passed, failed, skipped), or None when ctest left no report."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "--timeout", str(LIMIT_S), "-j", str(jobs),
                   "--test-output-size-passed", "65536", "--output-junit", report, *choice]
        status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        return (status, *count(report)) if os.path.exists(report) else None


def main():
    build, labels = sys.argv[1], sys.argv[2:]
    done = run(build, ["-L", "^(" + "|".join(labels) + ")$"] if labels else [], os.cpu_count() or 1)
    if not done:
        print("ctest left no report", file=sys.stderr)
        return 1
    status, passed, failed, skipped = done
    # Tests share the machine with whatever else runs on it: one that failed is looked at once more, alone, and that is said.
    if failed and len(failed) <= SECOND_TRIES:
        again = run(build, ["-R", "^(" + "|".join(map(re.escape, failed)) + ")$"], 1)
        if again:
            print("\n" + "\n".join(f"SECOND TRY {name}: " + ("failed twice" if name in again[2] else "failed once, passed alone") for name in failed))
            status, failed = again[0], again[2]
            passed, skipped = passed + again[1], skipped + again[3]
    print()
    for name in failed:
        print(f"FAILED {name}")
    for name, reason in skipped:
        print(f"SKIP {name}: {reason}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 0 if passed and not failed and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
