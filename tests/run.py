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


def skip_reason(case):
    text = "".join(part.text or "" for part in case.iter() if part.tag in ("system-out", "skipped"))
    found = re.search(r"^.*SKIP(?:PED)?[: ]+(.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else "no reason given"


def count(report):
    passed, failed, skipped = [], [], []
    for case in tree.parse(report).getroot().iter("testcase"):
        name = case.get("name")
        if case.find("failure") is not None or case.get("status") == "fail":
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped.append((name, skip_reason(case)))
        else:
            passed.append(name)
    return passed, failed, skipped


def main():
    build, labels = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        command = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error", "--timeout", str(LIMIT_S),
                   "-j", str(os.cpu_count() or 1), "--output-junit", report]
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
