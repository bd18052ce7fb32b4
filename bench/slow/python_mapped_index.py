# SPDX-License-Identifier: Apache-2.0
"""Slow because the index that it maps leaves the page cache, so that a look-up reads from the disk."""
import mmap
import os
import random
import tempfile

SIZE, PAGE = 64 << 20, 4096
with tempfile.TemporaryFile(dir="/var/tmp") as file:
    for _ in range(SIZE >> 20):
        file.write(bytes(1 << 20))
    file.flush()
    os.fsync(file.fileno())
    fd = os.dup(file.fileno())
index = mmap.mmap(fd, SIZE, prot=mmap.PROT_READ)
index.madvise(mmap.MADV_RANDOM)


def find_posting(key):
    return index[key * PAGE % SIZE]


print("ready", flush=True)
total = 0
while True:
    for _ in range(2000):
        total += find_posting(random.randrange(SIZE // PAGE))
    index.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
