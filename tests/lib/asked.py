# SPDX-License-Identifier: Apache-2.0
"""A program that obeys lines of its standard input, answers each with a line of numbers, and ends unharmed when the input does; and what
xprobe says of it while lines are told. A context manager."""
import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import threading
import time

import xp


def pair(start, end, policy="exact"):
    return ["--from", start, "--to", end, "--match", policy]


@contextlib.contextmanager
def beside(work):
    """work in a thread while the block runs -> its future. What fails is raised; a failed block does not wait for a thread that may hang."""
    pool = concurrent.futures.ThreadPoolExecutor(1)
    future = pool.submit(work)
    pool.shutdown(wait=False)
    try:
        yield future
    except Exception as problem:
        if future.done() and future.exception():
            raise AssertionError(f"{future.exception()}; and {type(problem).__name__}: {problem}") from problem
        raise
    future.result()


class Asked:
    """prefix: a command that runs it. environment: set beside ours. greets: it says 0 when it is ready. end_s: it ends within. options: of Popen."""

    start_s = 1.0  # from a command's start until its window is surely open
    window_s = 4.0

    def __init__(self, command, prefix=(), environment=None, greets=False, end_s=60, **options):
        self.command, self.prefix, self.greets, self.end_s = [*prefix, *command], prefix, greets, end_s
        self.options = {**options, "env": {**os.environ, **(environment or {})}}

    def __enter__(self):
        self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **self.options)
        with contextlib.ExitStack() as stack:
            stack.push(self)
            if self.greets:
                assert self.process.stdout.readline() == "0\n", "the program did not load"
            self.begin()
            self.pid = self._find(self.process.pid) if self.prefix else self.process.pid
            stack.pop_all()
        return self

    def begin(self):
        """What it is told before the test begins."""

    def __exit__(self, kind, *_):
        try:
            if kind is None:  # else the test's own failure is what counts
                self.process.stdin.close()
                status = self.process.wait(self.end_s)
                assert status == 0, f"the program was harmed: it ended with {status}"
        finally:
            self.process.kill()
            self.process.wait()
            with contextlib.suppress(BrokenPipeError):  # with the input ends what a killed prefix leaves
                self.process.stdin.close()

    def _find(self, pid):
        """The program itself: whoever stands before it waits for a child."""
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            return self._find(int(child))
        return pid

    def tell(self, line):
        """-> its number, or a tuple of them"""
        numbers = ()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            numbers = tuple(map(int, self.process.stdout.readline().split()))
        assert numbers, f"the program ended at `{line}`"
        return numbers[0] if len(numbers) == 1 else numbers

    def during(self, act, lines, start_s=None):
        """-> (what act returns, answers of these lines, told start_s after its begin)"""
        def work():
            time.sleep(self.start_s if start_s is None else start_s)
            return [self.tell(line) for line in lines]

        if not lines:
            return act(), []
        with beside(work) as answers:
            result = act()
        return result, answers.result()

    @contextlib.contextmanager
    def busy(self, *lines):
        """Tells these lines over and over while the block runs."""
        done = threading.Event()

        def work():
            while not done.is_set():
                for line in lines:
                    self.tell(line)

        with beside(work):
            try:
                yield
            finally:
                done.set()

    def measure(self, *flags, lines=(), seconds=None, start_s=None, **options):
        """`measure`, and these lines inside its window. -> (result, answers)"""
        length_ms = int((seconds or self.window_s) * 1000)
        return self.during(lambda: xp.run("measure", "--pid", self.pid, *flags, "--duration-ms", length_ms, "--max-cost", "0", **options), lines, start_s)

    def between(self, start, end, *more, match="exact", **options):
        return self.measure(*pair(start, end, match), *more, **options)
