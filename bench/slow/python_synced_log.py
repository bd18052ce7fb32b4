# SPDX-License-Identifier: Apache-2.0
"""Slow because its log handler forces every line to the disk."""
import logging
import os
import tempfile


class SyncedHandler(logging.FileHandler):
    def emit(self, record):
        super().emit(record)
        os.fsync(self.stream.fileno())


with tempfile.NamedTemporaryFile(dir="/var/tmp") as file:
    handler = SyncedHandler(file.name)
log = logging.getLogger("orders")
os.unlink(file.name) if os.path.exists(file.name) else None
log.addHandler(handler)
log.setLevel(logging.INFO)
print("ready", flush=True)
number = 0
while True:
    number += 1
    log.info("order %d accepted", number)
