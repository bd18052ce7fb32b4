# SPDX-License-Identifier: Apache-2.0
"""Slow because it keeps millions of objects and makes cyclic garbage, so that the collector walks them all again and again."""
import gc


class Node:
    def __init__(self):
        self.me = self


kept = [[i] for i in range(400000)]
gc.set_threshold(700, 2, 2)
print("ready", flush=True)
while True:
    for _ in range(50):
        Node()
