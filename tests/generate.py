#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the tool's own tables say: schemas/NAME.schema.json, reference pages in docs/, completions and the manual page in packaging/.
In: $XPROBE or build/xprobe. With --check nothing is written; exit 1 names every file that differs."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
XPROBE = os.environ.get("XPROBE", str(ROOT / "build/xprobe"))


def ask(word):
    return json.loads(subprocess.run([XPROBE, "dev", word, "--json"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True).stdout)


def wanted():
    files = {ROOT / f"schemas/{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in ask("schemas").items()}
    files.update({ROOT / path: text.rstrip("\n") + "\n" for path, text in ask("files").items()})
    return files


def differing():
    """Names of files that differ from what the tool says, or that it does not know."""
    files = wanted()
    stale = [path for path in (ROOT / "schemas").glob("*.schema.json") if path not in files]
    return [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text] + stale


def main():
    if "--check" in sys.argv:
        names = differing()
        for path in names:
            print(f"{path.relative_to(ROOT)} differs from the tables; `make generate` writes it")
        return 1 if names else 0
    (ROOT / "schemas").mkdir(exist_ok=True)
    for path, text in wanted().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path in differing():
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
