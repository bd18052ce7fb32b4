# SPDX-License-Identifier: Apache-2.0
"""Slow because it compresses everything with the highest level."""
import random
import zlib

random.seed(7)
BLOCK = b" ".join(random.choice((b"alpha", b"beta", b"gamma", b"delta", b"%d" % random.randrange(10**6))) for _ in range(200000))


def archive_block():
    return len(zlib.compress(BLOCK, 9))


print("ready", flush=True)
while True:
    archive_block()
