# SPDX-License-Identifier: Apache-2.0
"""Every command line in a shell block of README, docs/ and the skill runs: on the demo's server, on a Python program, or on the fake CUDA
program where it names GPU events. Pids, paths and specs of the pages are replaced by real ones, and windows are cut to 300 ms."""
import contextlib
import json
import pathlib
import re
import shlex

import programs
import xp

PAGES = [xp.SOURCE / "README.md", *sorted((xp.SOURCE / "docs").glob("*.md")), *sorted((xp.SOURCE / "skills").rglob("*.md"))]
SKILL = xp.SOURCE / "skills/xprobe-measure-latency"
WINDOW_MS = "300"


def lines():
    """(page, words of the command) of every whole command in a shell block; what a page leaves open for other programs is not one."""
    for page in PAGES:
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
            for line in re.sub(r"\\\n\s*", "", block).splitlines():
                found = re.match(r"(?:sudo )?(?:build/)?xprobe (.*)", line.strip())
                if not found or "$(" in line or "SELECTOR" in line:
                    continue
                yield page.name, shlex.split(re.split(r"\s[#>|](?:\s|$)", found[1])[0])


class Places:
    """What the words of a page stand for here."""

    def __init__(self, stack):
        self.stack, self.pids = stack, {}
        self.captured = None

    def pid(self, kind, number=0):
        if (kind, number) not in self.pids:
            self.pids[kind, number] = self.stack.enter_context(getattr(programs, kind)())
        return self.pids[kind, number]

    def spec(self, name):
        pid = self.pid("server")
        spec = {"schema_version": "2.0", "name": name, "target": {"pid": pid, "process_start_time": xp.start_time(pid)},
                "start_selector": "syscall:recvfrom:entry", "end_selector": "syscall:recvfrom:exit", "match_policy": "exact",
                "samples": 20, "duration_ms": None, "timeout_ms": 20000, "max_events": 1000}
        if name == "graph.json":
            spec = json.loads(re.search(r"```json\n(.*?)```", (xp.SOURCE / "docs/graphs.md").read_text(), re.DOTALL)[1])
            spec.update(target={"pid": pid, "process_start_time": xp.start_time(pid)}, samples=20)
        return xp.spec_file(spec, name)

    def capture(self):
        """A kept capture with reads and answers of the server."""
        if not self.captured:
            folder = pathlib.Path(xp.scratch()) / "events.jsonl"
            for name in ("recvfrom", "read"):
                xp.ok("measure", "--pid", self.pid("server"), "--from", f"syscall:{name}:entry", "--to", f"syscall:{name}:exit", "--match", "exact",
                      "--samples", 100, "--events-out", folder.with_suffix(f".{name}"))
            self.captured = folder
        return self.captured

    def words(self, words):
        kind = "launching" if any("cuda:" in word for word in words) else "collecting" if any("python:" in word for word in words) else "server"
        numbers, out = {}, []
        for before, word in zip(["", *words], words):
            if before in ("--pid",):
                word = str(self.pid(kind, numbers.setdefault(word, len(numbers)) if kind == "server" else 0))
            elif before == "--spec":
                word = self.spec(pathlib.Path(word).name)
            elif before == "--input":
                call = next(text for text in words if text.startswith("syscall:")).split(":")[1]
                word = str(self.capture().with_suffix(f".{call}"))
            elif before == "--events-out":
                word = str(pathlib.Path(xp.scratch()) / word)
            elif before == "--duration-ms":
                word = WINDOW_MS
            elif before == "--samples":
                word = str(min(int(word), 100))
            elif word.startswith("uprobe:/"):
                libc = re.search(r"/\S*/libc\.so\.6", pathlib.Path(f"/proc/{self.pid('server')}/maps").read_text())[0]
                word = f"uprobe:{libc}:send:{word.rsplit(':', 1)[1]}"
            out.append(word)
        return out


def test_every_command_line_of_the_pages_runs():
    xp.need_bpf()
    ran, seen = [], set()
    with contextlib.ExitStack() as stack:
        places = Places(stack)
        for page, words in lines():
            # Ranges need a program that marks them: tests/live/pages.py runs those commands on one.
            if tuple(words) in seen or words[0] == "mcp" or any("nvtx" in word for word in words):
                continue
            seen.add(tuple(words))
            result = xp.run(*places.words(words), timeout=40)
            if words[0] == "discover" and result.code == "CUPTI_NOT_AVAILABLE":
                continue  # no NVML on this machine
            assert result.code is None, f"{page}: xprobe {' '.join(words)}\n{result}"
            ran.append(page)
    assert len(ran) >= 20 and {"README.md", "SKILL.md", "deep-dive.md", "triage.md", "cuda.md"} <= set(ran), ran


if __name__ == "__main__":
    xp.main()
