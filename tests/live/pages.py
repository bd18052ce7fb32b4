# SPDX-License-Identifier: Apache-2.0
"""The outputs that docs/ shows are what the tool prints: every block behind a comment `<!-- run PROGRAM: COMMAND | must: WORDS -->` is run
again, on the program it names, and compared by its labels and by the words that it must hold. Figures differ from run to run and are not
compared. `python3 tests/live/pages.py --update` (as the tests are run) writes the outputs of now into the pages.

PROGRAM: `server`, the slow server of demo/ under two clients; `report`, its slow Python program; `loaders`, a trainer that waits for
one of its data loaders; `ranges`, a program with NVTX ranges (left out
where there are no NVTX headers); `none`. In COMMAND, PID is its pid, SERVER the
server's binary, LIBC the C library it maps, NEXT the first spec that the last triage of the page proposed, and FILE.json the JSON block of the page under
`<!-- file FILE.json -->`, for the program that runs.
"""
import contextlib
import glob
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import programs
import xp

PAGES = sorted((xp.SOURCE / "docs").glob("*.md")) + [xp.SOURCE / "README.md"]
BLOCK = re.compile(r"<!-- run (\w+): (.*?)(?: \| must: (.*?))? -->\n```text\n\$ (.*?)\n(.*?)```", re.DOTALL)
FILE = re.compile(r"<!-- file (\S+) -->\n```json\n(.*?)```", re.DOTALL)
NVTX = xp.TARGETS / "nvtx/app"


PROGRAMS = {"server": programs.server, "report": programs.report, "loaders": programs.loaders, "ranges": programs.ranges, "none": programs.none}


def libc_of(pid):
    return re.search(r"/\S*/libc\.so\.6", pathlib.Path(f"/proc/{pid}/maps").read_text())[0]


class Run:
    """The programs that one page needs, kept running, and the files that its commands name."""

    def __init__(self, text, stack, folder):
        self.text, self.stack, self.folder, self.pids = text, stack, folder, {}

    def pid(self, program):
        if program not in self.pids:
            self.pids[program] = self.stack.enter_context(PROGRAMS[program]())
        return self.pids[program]

    def place(self, word, pid):
        if word == "NEXT":
            found = sorted(glob.glob(f"{self.folder}/*/next-1.json"), key=lambda path: pathlib.Path(path).stat().st_mtime)
            assert found, "no triage of this page proposed a spec"
            return found[-1]
        for name, text in FILE.findall(self.text):
            if word == name:
                spec = json.loads(text.replace("SERVER", str(programs.SERVER)))
                spec["target"] = {"pid": pid, "process_start_time": xp.start_time(pid)}
                (pathlib.Path(self.folder) / name).write_text(json.dumps(spec))
                return str(pathlib.Path(self.folder) / name)
        return word.replace("SERVER", str(programs.SERVER)).replace("LIBC", libc_of(pid) if "LIBC" in word else "")

    def shown(self, text):
        for path, instead in ((self.folder, "/tmp"), (str(xp.BUILD), "build"), (f"{xp.SOURCE}/", "")):
            text = text.replace(path, instead)
        return re.sub(r"(Linux \d+\.\d+)\.[^ ,]+", r"\1", text)

    def output(self, program, command):
        """-> the command as a reader would type it, and what it printed."""
        pid = self.pid(program)
        words = [str(pid) if word == "PID" else self.place(word, pid) for word in shlex.split(command)]
        assert words[0] == "xprobe", command
        done = subprocess.run([xp.XPROBE, *words[1:], "--human"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=60, env={**os.environ, "TMPDIR": self.folder}, check=False)
        assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout.decode()}"
        return self.shown(f"sudo {shlex.join(words)}").replace("/tmp/graph", "graph"), re.sub(r" +$", "", self.shown(done.stdout.decode()), flags=re.MULTILINE)


def flags(command):
    return [word for word in command.split() if word.startswith("--")]


def labels(text):
    """First word of every line that begins with one."""
    return {found[0] for line in text.splitlines() if (found := re.match(r"[a-z][a-z_]*\b", line))}


def blocks_of_pages(update):
    seen = 0
    for page in PAGES:
        text = page.read_text("utf-8")
        if not BLOCK.search(text):
            continue
        with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
            run = Run(text, stack, folder)

            def one(found):
                program, command, must, shown, before = found.groups()
                if program == "ranges" and not NVTX.exists():
                    return found[0]
                typed, now = run.output(program, command)
                missing = [word for word in (must or "").split() if word not in now or not update and word not in before]
                assert not missing, f"{page.name}: {command}: {missing}\n{now}"
                if update:
                    return (f"<!-- run {program}: {command}" + (f" | must: {must}" if must else "") +
                            f" -->\n```text\n$ {typed}\n{now.rstrip()}\n```")
                assert flags(shown) == flags(command), f"{page.name} shows `{shown}` for `{command}`"
                assert labels(before) <= labels(now), f"{page.name}: {command}: no longer printed: {labels(before) - labels(now)}\n{now}"
                return found[0]

            changed = BLOCK.sub(lambda found: one(found), text)
            seen += len(BLOCK.findall(text))
        if update and changed != text:
            page.write_text(changed, "utf-8")
    return seen


def test_outputs_in_the_pages_are_what_the_tool_prints():
    xp.need_bpf()
    assert blocks_of_pages(False) >= 8


if __name__ == "__main__":
    if "--update" in sys.argv:
        print(blocks_of_pages(True), "outputs written")
    else:
        xp.main()
