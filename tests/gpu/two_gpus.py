#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One process on two GPUs, and two processes on one each: device, context and stream are told apart, with exact counts (primes).

Needs two NVIDIA GPUs and a Python that can import torch with CUDA (XP_TORCH_PYTHON, else python3); skipped with the reason elsewhere.
"""
import collections
import glob
import json
import os
import pathlib
import time

import torch_process  # brings tests/lib, too
import xp


class Torch(torch_process.Torch):
    script, window_s = pathlib.Path(__file__).resolve().parents[1] / "targets/torch_two.py", 3.0

    def __init__(self):
        if len(glob.glob("/dev/nvidia[0-9]*")) < 2:
            raise xp.Skip("fewer than two NVIDIA GPUs here")
        super().__init__()


def test_groups_tell_devices_apart():
    with Torch() as torch:
        document, _ = torch.between("cuda:kernel_start", "cuda:kernel_end", "--aggregate", lines=["add 101 211"])
        counts = collections.Counter()
        for group in document["inventory"]["groups"]:
            counts[group["device_id"]] += group["count"]
        assert counts == {0: 101, 1: 211}, counts
        assert document["collection"]["cuda"]["contexts_seen"] == 2, document["collection"]["cuda"]
        document, _ = torch.between("cuda:memcpy_start", "cuda:memcpy_end", "--aggregate", lines=["copy 53"])
        groups = [group for group in document["inventory"]["groups"] if group["count"] == 53]
        print("copies between devices:", [(g["memcpy_kind"], g["src_memory"], g["dst_memory"], g["device_id"], g["total_bytes"]) for g in groups])
        assert len(groups) == 1 and groups[0]["total_bytes"] == 53 << 22 and groups[0]["src_memory"] == groups[0]["dst_memory"] == "device", groups


def test_events_carry_device_context_and_stream():
    with Torch() as torch:
        out = os.path.join(xp.scratch(), "two.jsonl")
        document, _ = torch.between("cuda:driver_api:@launch:entry", "cuda:kernel_start", "--events-out", out, lines=["add 103 109"])
        samples = document["measurement"]["samples"]
        assert samples["matched"] == 212 and samples["unmatched_start"] == samples["unmatched_end"] == 0, samples
        with open(out, encoding="utf-8") as lines:
            events = [event for event in map(json.loads, lines) if event.get("cuda") and event["cuda"].get("kernel_name")]
        places = collections.Counter((e["cuda"]["device_id"], e["cuda"]["context_id"], e["cuda"]["stream_id"]) for e in events)
        print("device, context, stream:", dict(places))
        assert sorted(places.values()) == [54, 55, 103], places
        assert len({context for _, context, _ in places}) == 2, places


def test_triage_names_the_busy_device():
    with Torch() as torch:
        mine, = xp.ok("discover", "--pid", torch.pid)["candidates"]
        assert len(mine["gpu_uuids"]) == 2, mine
        torch.tell("busy 1")
        time.sleep(1)
        document = xp.ok("measure", "--pid", torch.pid, "--triage", "--duration-ms", 2000)
        assert torch.tell("idle") > 0
        kernels, health = document["summary"]["cuda_kernels"], document["summary"]["gpu"]
        print([(f["code"], f["subject"][:40], f["window_share"]) for f in document["findings"][:5]], "busy", kernels["busy_share"])
        assert {entry["device_id"] for entry in kernels["top"]} == {1} and kernels["busy_share"] > 0.5, kernels
        assert [device["index"] for device in health["devices"]] == [0, 1], health


def test_two_processes_on_one_device_each():
    with Torch() as first, Torch() as second:
        first.tell("busy 0"), second.tell("busy 1")
        time.sleep(1)
        document = xp.ok("measure", "--pid", first.pid, "--pid", second.pid, "--triage", "--duration-ms", 2000)
        first.tell("idle"), second.tell("idle")
        tops = {entry["target"]["pid"]: {top["device_id"] for top in entry["summary"]["cuda_kernels"]["top"]} for entry in document["processes"]}
        assert tops == {first.pid: {0}, second.pid: {1}}, tops


if __name__ == "__main__":
    xp.main()
