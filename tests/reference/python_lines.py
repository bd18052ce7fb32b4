# SPDX-License-Identifier: Apache-2.0
"""Line tables as a CPython makes them, and the lines that its own decoder reads out of them; run it under each release and collect the output:
    for p in python3.8 ... python3.14; do $p tests/reference/python_lines.py; done >tests/unit/elf_python_lines.txt
A line is: release, function, first line, table in hex, spans END:LINE over the bytecode (END in bytes, LINE -1: none)."""
import ctypes
import sys
import types

SOURCE = '''
def plain(a):
    b = a + 1
    return b


def far(a):
''' + "\n" * 300 + '''
    x = a
    return (x +
            a +
''' + "\n" * 140 + '''
            x)


def backwards(a, b):
    return f(
        a,
        b,
        [i
         for i in a],
    )


def caught(a):
    try:
        with a as b:
            yield b
    except (KeyError,
            ValueError) as e:
        raise e from None
    finally:
        a.close()


async def waits(a):
    async for x in a:
        await x
    return [y async for y in a]


class Holder(
    object,
):
    """text"""
    field = 1
    def method(self): return lambda: (
        self)


def wide(a):
''' + "".join("    a%d = a + %d; b%d = a\n" % (i, i, i) for i in range(60)) + '''
    return a
'''


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def main():
    line_of = ctypes.pythonapi.PyCode_Addr2Line
    line_of.argtypes = [ctypes.py_object, ctypes.c_int]
    release = "%d.%d.%d" % sys.version_info[:3]
    for code in codes(compile("\n" * 41 + SOURCE, "sample.py", "exec")):
        table = code.co_linetable if sys.version_info >= (3, 10) else code.co_lnotab
        spans = []
        for offset in range(0, len(code.co_code), 2):
            line = line_of(code, offset)
            if spans and spans[-1][1] == line:
                spans[-1][0] = offset + 2
            else:
                spans.append([offset + 2, line])
        print(release, code.co_name, code.co_firstlineno, table.hex(), ",".join("%d:%d" % tuple(span) for span in spans))


main()
