# SPDX-License-Identifier: Apache-2.0
"""What a CUDA process looks like from outside: it maps a libcuda and holds device files. Arguments: LIBRARY or "", then device nodes.

Lines on stdin: "child" starts a process like this one and says its pid; "end PID" ends that child.
"""
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def hold():
    if sys.argv[1]:
        ctypes.CDLL(sys.argv[1])
    for node in sys.argv[2:]:
        os.open(node, os.O_PATH)


def main():
    hold()
    print("ready", os.getpid(), flush=True)
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "child":
            pid = os.fork()
            if not pid:
                ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
                signal.pause()
            print(pid, flush=True)
        elif word == "end":
            os.kill(int(rest[0]), signal.SIGKILL)
            os.waitpid(int(rest[0]), 0)
            print("ended", flush=True)


main()
