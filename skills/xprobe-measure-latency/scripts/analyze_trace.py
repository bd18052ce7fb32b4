#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks into an Event JSONL file of xprobe: what happened how often, and what lay around one moment.

In: a file that `measure` or `export` wrote. Out: text. Needs nothing but Python 3.8.
"""
import argparse
import collections
import json
import sys


def events(path):
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                event = json.loads(line)
                event["timestamp_ns"], event["event_type"]
            except (ValueError, KeyError, TypeError):
                sys.exit(f"{path}:{number}: not an Event; this script reads the jsonl format only")
            yield event


def name_of(event):
    cuda, host = event.get("cuda") or {}, event.get("host") or {}
    return cuda.get("kernel_name") or cuda.get("api_name") or host.get("symbol") or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("--around", type=int, metavar="NS", help="show the events next to this timestamp")
    parser.add_argument("--lines", type=int, default=20, help="how many to show (20)")
    args = parser.parse_args()
    found = sorted(events(args.file), key=lambda e: (e["timestamp_ns"], e.get("sequence", 0)))
    if not found:
        sys.exit(f"{args.file}: no event")
    first = found[0]["timestamp_ns"]
    if args.around is not None:
        found.sort(key=lambda e: abs(e["timestamp_ns"] - args.around))
        for event in sorted(found[:args.lines], key=lambda e: e["timestamp_ns"]):
            print(f'{event["timestamp_ns"] - args.around:+14d} ns  tid {event.get("tid")}  {event["event_type"]:22} {name_of(event)}')
        return
    groups = collections.Counter((e["event_type"], name_of(e)) for e in found)
    print(f'{len(found)} events in {(found[-1]["timestamp_ns"] - first) / 1e6:.3f} ms, {len({e.get("tid") for e in found})} threads')
    for (kind, name), count in groups.most_common(args.lines):
        print(f"{count:8d}  {kind:22} {name}")
    gaps = sorted(((b["timestamp_ns"] - a["timestamp_ns"], a["timestamp_ns"]) for a, b in zip(found, found[1:])), reverse=True)
    for gap, at in gaps[:5]:
        print(f"gap {gap / 1e6:10.3f} ms after {at}")


if __name__ == "__main__":
    main()
