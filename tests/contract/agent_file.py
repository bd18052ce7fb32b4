#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The agent's file can be loaded into any glibc program from 2.17 on, and brings nothing that could end or change one."""
import os
import re
import subprocess
import sys
import tempfile

AGENT = os.path.join(os.environ["XP_BUILD_DIR"], "libxprobe-agent.so")
LIMIT = 256 * 1024
ALLOWED = {"libc.so.6", "libpthread.so.0", "libdl.so.2"}  # the last two are parts of libc, and empty since 2.34
FORBIDDEN = {"malloc", "calloc", "realloc", "printf", "fprintf", "snprintf", "puts", "exit", "_exit", "abort", "fopen", "signal", "sigaction",
             "pthread_mutex_lock", "setenv", "fork", "dlclose", "__tls_get_addr", "__stack_chk_fail"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    symbols = output("objdump", "-T", AGENT)
    undefined = re.findall(r"\*UND\*\s+\S+\s+(?:\(?GLIBC_([0-9.]+)\)?\s+)?(\w+)$", symbols, re.MULTILINE)
    assert len(undefined) > 20, "objdump listed no imports"
    late = [(name, version) for version, name in undefined if version and tuple(map(int, version.split("."))) > (2, 17)]
    assert not late, f"newer than glibc 2.17: {late}"
    used = FORBIDDEN & {name for _, name in undefined}
    assert not used, f"imports {used}"
    exported = set(re.findall(r"^\S+ g\s+DF \.text\s+\S+\s+\S+\s+(\w+)$", symbols, re.MULTILINE))
    assert exported == {"xprobe_agent_start", "InitializeInjection", "InitializeInjectionNvtx2"}, exported
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", AGENT)))
    assert needed <= ALLOWED, needed
    segments = output("readelf", "-lW", AGENT)
    assert re.search(r"GNU_STACK\s.*\sRW\s", segments), "executable stack"
    assert not re.search(r"^\s+TLS\s", segments, re.MULTILINE), "thread-local storage"
    assert "GNU_PROPERTY" in segments or "NOTE" in segments
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, AGENT], check=True)
        size = os.path.getsize(stripped.name)
    assert size <= LIMIT, f"{size} bytes stripped, at most {LIMIT}"
    print(f"{size} bytes stripped, imports of glibc {max(tuple(map(int, v.split('.'))) for v, _ in undefined if v)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
