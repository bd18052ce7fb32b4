# SPDX-License-Identifier: Apache-2.0
"""Slow because it commits every row by itself."""
import sqlite3
import tempfile

folder = tempfile.TemporaryDirectory(dir="/var/tmp", prefix="xprobe-slow-")
database = sqlite3.connect(f"{folder.name}/rows")
database.execute("create table rows (number integer, text text)")


def save_row(number):
    database.execute("insert into rows values (?, ?)", (number, "x" * 50))
    database.commit()


print("ready", flush=True)
row = 0
while True:
    row += 1
    save_row(row % 1000)
