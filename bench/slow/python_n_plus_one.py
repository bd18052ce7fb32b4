# SPDX-License-Identifier: Apache-2.0
"""Slow because the database answers after 30 ms, one question at a time."""
import os
import socket
import time

ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    while theirs.recv(64):
        time.sleep(0.03)
        theirs.send(b"row")
    os._exit(0)
theirs.close()


def fetch_row(key):
    ours.send(b"%d" % key)
    return ours.recv(64)


print("ready", flush=True)
key = 0
while True:
    key += 1
    fetch_row(key)
