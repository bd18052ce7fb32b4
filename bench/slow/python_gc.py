# SPDX-License-Identifier: Apache-2.0
"""Slow because it collects garbage after every small batch, and each time the collector walks all that the program keeps."""
import gc


class Node:
    def __init__(self):
        self.me = self


kept = [[i] for i in range(400000)]
print("ready", flush=True)
while True:
    for _ in range(500):
        Node()
    gc.collect()
