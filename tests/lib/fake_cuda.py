# SPDX-License-Identifier: Apache-2.0
"""The program with the fake CUDA (tests/fake/app.c) as a context manager, also behind commands that put it into another place."""
import os
import pathlib
import subprocess
import threading
import time

import xp

FAKE = xp.BUILD / "tests" / "fake"
WINDOW_S = 1.0  # from the command's start until its window is surely open


class App:
    """prefix: a command that runs it. version: what its libcupti says of itself. library: mapped first, by path. cupti: its path, "" none."""

    def __init__(self, major=13, version=None, prefix=(), program=None, cupti=None, library=None, environment=None):
        self.major, self.version, self.prefix, self.library = major, version, [*map(str, prefix)], library
        self.environment = {**os.environ, **(environment or {})}
        self.program = str(program or FAKE / f"app{major}")
        self.cupti = cupti if cupti is not None else f"{FAKE}/{major}/libcupti.so.{major}"

    def __enter__(self):
        self.process = subprocess.Popen([*self.prefix, self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self.environment)
        if self.library:
            assert self.tell(f"cupti {self.library}") == 0
        assert not self.cupti or self.tell(f"cupti {self.cupti}") == 0, "libcupti was not mapped"
        if self.version:
            self.tell(f"set version {self.version}")
        self.pid = self._find(self.process.pid)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(20) == 0, "the program was harmed"

    def _find(self, pid):
        """The program itself: whoever stands before it waits for a child."""
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return self._find(int(child))
        return pid

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the program ended at `{line}`"
        return int(answer)

    def measure(self, *flags, lines=(), seconds=1.7, **options):
        """Runs `measure`, and these lines inside its window. -> (result, answers)"""
        answers = []

        def work():
            time.sleep(WINDOW_S)
            answers.extend(self.tell(line) for line in lines)

        worker = threading.Thread(target=work)
        if lines:
            worker.start()
        result = xp.run("measure", "--pid", self.pid, *flags, "--duration-ms", int(seconds * 1000), "--max-cost", "0", **options)
        if lines:
            worker.join()
        return result, answers


def pair(start, end, policy="exact"):
    return ["--from", start, "--to", end, "--match", policy]


KERNELS = pair("cuda:kernel_start", "cuda:kernel_end")
LAUNCHES = pair("cuda:driver_api:cuLaunchKernel:entry", "cuda:kernel_start")


def warnings(doc):
    return {warning["code"]: warning["details"] for warning in doc["warnings"]}


def issues(doc):
    return {issue["code"] for issue in doc["quality"]["issues"]}
