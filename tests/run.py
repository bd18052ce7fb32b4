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


def main():
    build, labels = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "--timeout", str(LIMIT_S),
                   "-j", str(os.cpu_count() or 1), "--test-output-size-passed", "65536", "--output-junit", report]
        if labels:
            command += ["-L", "^(" + "|".join(labels) + ")$"]
        status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
        if not os.path.exists(report):
            print("ctest left no report", file=sys.stderr)
            return 1
        passed, failed, skipped = count(report)
    print()
    for name in failed:
        print(f"FAILED {name}")
    for name, reason in skipped:
        print(f"SKIP {name}: {reason}")
    print(f"{len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped", flush=True)
    return 0 if passed and not failed and status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
