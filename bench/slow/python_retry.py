# SPDX-License-Identifier: Apache-2.0
"""Slow because the server refuses the connection and the client tries again, with a pause."""
import socket
import time

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]


def connect():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", PORT), timeout=1)
        except ConnectionRefusedError:
            time.sleep(0.02)


print("ready", flush=True)
connect()
