# SPDX-License-Identifier: Apache-2.0
"""Slow because it turns its whole state into JSON for every change."""
import json

STATE = {f"node-{i}": {"load": i / 7, "tags": ["a", "b", str(i)], "parent": None, "alive": True} for i in range(20000)}


def publish_state():
    return len(json.dumps(STATE, indent=1))


print("ready", flush=True)
while True:
    publish_state()
