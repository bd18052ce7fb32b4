# SPDX-License-Identifier: Apache-2.0
"""Threads that stand in known Python frames for ever; prints for each its id and the frames that the interpreter itself tells.
Lines: `T tid`, then leaf first `F name<TAB>file<TAB>line`, at the end `READY`. Runs on every CPython from 3.8 on."""
import asyncio
import functools
import sys
import threading
import time

FOREVER = 10000
NAME_CHARS = 256
LOCK = threading.Lock()


def cut(text):
    return text if len(text) <= NAME_CHARS else text[:NAME_CHARS] + "\u2026"


def tell(tid, frame):
    lines = ["T %d" % tid]
    while frame:
        code = frame.f_code
        lines.append("F %s\t%s\t%s" % (cut(getattr(code, "co_qualname", code.co_name)), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    with LOCK:
        sys.stdout.buffer.write(("\n".join(lines) + "\n").encode())
        sys.stdout.buffer.flush()


def sleep():
    time.sleep(FOREVER)


class Shape:
    class Inner:
        def method(self, depth):
            if depth:
                return self.method(
                    depth
                    - 1,
                )
            inner = lambda: sleep()
            return inner()


def zähle(n):
    def größe_計算():
        return sorted(
            [3, 1, 2],
            key=functools.partial(lambda a, x: sleep(), 7),
        )

    return größe_計算()


def generate(n):
    for i in range(n):
        if i == 3:
            sleep()
        yield i


def delegate():
    yield 0
    yield from generate(5)


def use_generators():
    total = 0
    for value in (x for x in delegate()):
        total += value
    return total


async def leaf_task():
    sleep()


async def outer_task():
    await asyncio.sleep(0)
    await leaf_task()


def use_asyncio():
    loop = asyncio.new_event_loop()
    loop.run_until_complete(outer_task())


class Built:
    def __init__(self, n):
        self.n = n
        if n == 400:
            sleep()


def build_many():
    return [Built(i) for i in range(500)]


class Operators:
    def __add__(self, other):
        return self[other]

    def __getitem__(self, key):
        try:
            raise KeyError(key)
        except KeyError:
            with open(__file__):
                sleep()


def use_operators():
    return Operators() + "x"


def far_lines():
    """Code whose lines lie far apart and whose names need four bytes a character."""
    name = "f_" + "n" * 300
    source = "\n" * 70000 + "def %s(sleep):\n%s    return (sleep(),\n%s)\n%s(sleep)\n" % (name, "\n" * 300, "\n" * 200, name)
    exec(compile(source, "weit \U0001f600 \u00e4.py", "exec"), {"sleep": sleep})


def large_table():
    """A line table of more than a page."""
    body = "".join("    x = [a\n        for a in range(2)]\n" for _ in range(1500))
    space = {"sleep": sleep}
    exec(compile("def wide(sleep):\n" + body + "    sleep()\n", "wide.py", "exec"), space)
    space["wide"](sleep)


def recurse(n):
    return recurse(n - 1) + 1 if n else sleep()


SUB = """
import sys, threading, time
def tell(frame):
    out = ["T %d" % threading.get_native_id()]
    while frame:
        code = frame.f_code
        out.append("F %s\\t%s\\t%s" % (getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno))
        frame = frame.f_back
    sys.stdout.buffer.write(("\\n".join(out) + "\\n").encode())
    sys.stdout.buffer.flush()
def inside_sub(): tell(sys._getframe()); time.sleep(10000)
inside_sub()
"""


def sub_interpreters():
    """Two: one that the thread makes which runs it, and one that this thread makes for another."""
    try:
        import _interpreters as interpreters
        run = interpreters.exec
    except ImportError:
        import _xxsubinterpreters as interpreters
        run = interpreters.run_string
    # Before 3.11 nothing tells whose these frames are: they must be nowhere.
    source = SUB if sys.version_info >= (3, 11) else "import time; time.sleep(10000)"
    made_here = interpreters.create()
    return [lambda: run(interpreters.create(), source), lambda: run(made_here, source)]


WORK = [
    lambda: Shape.Inner().method(5),
    lambda: zähle(1),
    use_generators,
    use_asyncio,
    build_many,
    use_operators,
    far_lines,
    large_table,
    lambda: recurse(230),
]


def main():
    threads = [threading.Thread(target=work, daemon=True) for work in WORK]
    if "--sub" in sys.argv:
        for work in sub_interpreters():
            threading.Thread(target=work, daemon=True).start()
    for thread in threads:
        thread.start()
    time.sleep(1)
    frames = sys._current_frames()
    for thread in threads:
        tell(thread.native_id, frames[thread.ident])
    # one line: what is told is what stands there afterwards
    tell(threading.get_native_id(), sys._getframe()); sys.stdout.buffer.write(b"READY\n"); sys.stdout.buffer.flush(); time.sleep(FOREVER)


main()
