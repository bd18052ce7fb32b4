#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that a reader of the source can rely on. In: the source tree. Out: one line a breach; exit 1 when there is any.

layers   who may include whom (layers.txt)
size     .c at most 400 lines, headers 120, functions 60; files of tests 600, for tables of cases
spdx     every file opens with its licence line
calls    only cmd/ and main.c print or exit; only collect/ waits; nothing jumps
state    no file-scope data in src/ that can change
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPDX = "SPDX-License-Identifier: Apache-2.0"
MAX_C, MAX_H, MAX_FUNCTION, MAX_TEST = 400, 120, 60, 600
PRINTS = r"\b(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|dprintf|exit|_exit|_Exit|quick_exit)\s*\("
WAITS = r"\b(sleep|usleep|nanosleep|clock_nanosleep|poll|ppoll|select|pselect|epoll_wait|epoll_pwait|sched_yield)\s*\("
JUMPS = r"\bgoto\b"
STATE = re.compile(r"^(?!extern|typedef|return|struct \w+;)(?:static |_Thread_local )*(?:struct \w+|enum \w+|unsigned(?: \w+)?|int|long|char|bool|size_t|ssize_t|"
                   r"u?int\d+_t|double|sig_atomic_t|volatile \w+)[ *]+(?!.*\bconst \w+(?:\[[^]]*\])* =)\w+(?:\[[^]]*\])*(?: = .*|;)$")
POINTER = re.compile(r"^static const [\w ]+\*+\w+(?:\[[^]]*\])* = ")
# Child processes, which have to end by themselves; the first two are cut off at a deadline and their parent waits that long.
BOUNDED_CHILD = {"base/child.c", "base/worker.c", "collect/calls.c"}
breaches = []


def breach(path, line, text):
    breaches.append(f"{path.relative_to(ROOT)}:{line}: {text}")


def tracked():
    names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, check=True)
    paths = [ROOT / name.decode() for name in names.stdout.split(b"\0") if name]
    return [path for path in paths if path.is_file()]


def strip(text):
    """The code with comments and the contents of literals blanked; line numbers stay."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.DOTALL)


def read_layers():
    rank, extra = {}, set()
    for line in (ROOT / "tests/lint/layers.txt").read_text().splitlines():
        if "->" in line and not line.startswith("#"):
            folder, header = (part.strip() for part in line.split("->"))
            extra.add((folder, header))
        elif line and not line.startswith("#"):
            for folder in line.split():
                rank[folder] = len(rank) if not rank else max(rank.values()) + (folder == line.split()[0])
    return rank, extra


def check_layers(path, text, rank, extra):
    folder = path.relative_to(ROOT / "src").parts[0]
    if path.parent == ROOT / "src":
        return
    if folder not in rank:
        breach(path, 1, f"folder {folder} is not in layers.txt")
        return
    for number, line in enumerate(text.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s+"(([^/"]+)/[^"]+)"', line)
        if not found or found[2] in (folder, "wire") or (folder, found[1]) in extra:
            continue
        if found[2] not in rank:
            breach(path, number, f"includes {found[1]}, which is no folder of layers.txt")
        elif rank[found[2]] >= rank[folder]:
            breach(path, number, f"{folder} may not include {found[1]}")


def check_size(paths):
    for path in paths:
        limit = MAX_TEST if path.relative_to(ROOT).parts[0] == "tests" else MAX_H if path.suffix == ".h" else MAX_C
        lines = path.read_text("utf-8", "replace").count("\n")
        if lines > limit:
            breach(path, lines, f"{lines} lines, at most {limit}")
    tags = subprocess.run(["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f", "--language-force=C", "-f", "-", *map(str, paths)],
                          capture_output=True, check=True, text=True).stdout
    for tag in map(json.loads, tags.splitlines()):
        length = tag.get("end", tag["line"]) - tag["line"] + 1
        if length > MAX_FUNCTION:
            breach(pathlib.Path(tag["path"]), tag["line"], f"function {tag['name']} has {length} lines, at most {MAX_FUNCTION}")


def check_calls(path, code):
    relative = path.relative_to(ROOT / "src")
    if str(relative) in BOUNDED_CHILD:
        return
    rules = [(JUMPS, "no goto in src/: scoped cleanup")]
    if relative.parts[0] not in ("cmd", "main.c"):
        rules.append((PRINTS, "only cmd/ and main.c print or end the process"))
    if relative.parts[0] != "collect":
        rules.append((WAITS, "only collect/ waits"))
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, rule in rules:
            found = re.search(pattern, line)
            if found and not re.search(r"\bpoll\([^;]*, 0\)", line):  # a look without a wait
                breach(path, number, f"{found.group(0).strip('( ')}: {rule}")


def check_state(path, code):
    if path.suffix != ".c" or path.name == "main.c":
        return
    depth = 0
    for number, line in enumerate(code.splitlines(), 1):
        if depth == 0 and (STATE.match(line.rstrip()) or POINTER.match(line)):
            breach(path, number, "file-scope data that can change; pass a context")
        depth += line.count("{") - line.count("}")


def check_spdx(path):
    with path.open("rb") as file:
        head = file.read(400).decode("utf-8", "replace").splitlines()[:3]
    if not any(SPDX in line for line in head):
        breach(path, 1, f"no line {SPDX!r} at the top")


def main():
    files = tracked()
    sources = [path for path in files if path.suffix in (".c", ".h") and path.relative_to(ROOT).parts[0] in
               ("src", "bpf", "wire", "agent", "tests", "demo", "bench") and "targets" not in path.parts]
    rank, extra = read_layers()
    for path in files:
        if path.suffix in (".c", ".h", ".py", ".sh", ".def", ".cc", ".cpp") or path.name in ("run",):
            check_spdx(path)
    check_size(sources)
    for path in sources:
        if path.relative_to(ROOT).parts[0] == "src":
            text = path.read_text("utf-8")
            code = strip(text)
            check_layers(path, text, rank, extra)
            check_calls(path, code)
            check_state(path, code)
    for line in sorted(breaches):
        print(line)
    print(f"lint: {len(sources)} C files, {len(breaches)} breaches")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
