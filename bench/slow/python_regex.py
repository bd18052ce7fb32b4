# SPDX-License-Identifier: Apache-2.0
"""Slow because a regular expression backtracks over every line."""
import re

PATTERN = re.compile(r"^(\w+\s?)*$")
LINE = "aaaa bbbb cccc dddd ee!"
print("ready", flush=True)
while True:
    PATTERN.match(LINE)
