# SPDX-License-Identifier: Apache-2.0
"""Programs that tests of pages, commands and servers measure: the shop server of demo/ under two clients, its nightly report in Python, one
that collects garbage, a trainer with slow data loaders, and the fake CUDA program that launches without a pause. Each is a context manager that yields a pid."""
import contextlib
import itertools
import os
import subprocess
import time

import xp

SERVER = xp.BUILD / "demo/demo_server"
FAKE = xp.BUILD / "tests/fake"
_numbers = itertools.count()


@contextlib.contextmanager
def quiet(*command):
    """A program whose output nobody reads."""
    process = subprocess.Popen([*map(str, command)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def server():
    name, client = f"xprobe-test-{os.getpid()}-{next(_numbers)}", xp.BUILD / "demo/demo_client"
    with xp.Target(SERVER, name) as target, quiet(client, name, "60"), quiet(client, name, "60"):
        time.sleep(0.5)
        yield target.pid


@contextlib.contextmanager
def report():
    with quiet("/usr/bin/python3", xp.SOURCE / "demo/report.py", "60") as pid:
        time.sleep(1)
        yield pid


@contextlib.contextmanager
def collecting():
    """A Python program that collects garbage all the time."""
    with xp.Target("/usr/bin/python3", xp.SOURCE / "bench/slow/python_gc.py") as target:
        yield target.pid


@contextlib.contextmanager
def loaders():
    """A trainer and four data-loader workers, of which the third is slow."""
    with xp.Target("/usr/bin/python3", xp.SOURCE / "tests/targets/loaders.py", 4, 2) as target:
        yield target.pid


@contextlib.contextmanager
def launching():
    """Two threads that launch kernels of the fake CUDA 13 and copy nothing."""
    with xp.Target(FAKE / "app13", ready=None) as target:
        for line in (f"cupti {FAKE}/13/libcupti.so.13", "loop 2 1000"):
            target.tell(line)
            target.read_line()
        yield target.pid


@contextlib.contextmanager
def ranges():
    """An NVTX range around a sleep of 200 us, for ever."""
    process = subprocess.Popen([xp.TARGETS / "nvtx/app"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    process.stdin.write(b"sleeps 200 step\n")
    process.stdin.flush()
    try:
        time.sleep(0.3)
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def none():
    yield 0
