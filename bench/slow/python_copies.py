# SPDX-License-Identifier: Apache-2.0
"""Slow because it builds a large text by adding to its front."""


def prepend_lines():
    text = ""
    for i in range(20000):
        text = f"line {i}\n" + text
    return len(text)


print("ready", flush=True)
while True:
    prepend_lines()
