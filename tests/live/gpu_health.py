# SPDX-License-Identifier: Apache-2.0
"""The triage's source `gpu` with an NVML that says what the test wants: its numbers, every way to fail, and findings out of the states.

Fault: a GPU that was throttled between two looks of a monitor showed as unthrottled; a driver that hung held up the whole tool.
"""
import json
import pathlib
import time

import gpus
import xp

WINDOW_MS = 500


def triage(target, nvml, *more, window=WINDOW_MS, **options):
    return xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", window, "--max-cost", 0, *more, env=nvml.env(), exit=0, **options).doc


def source(doc):
    return next(one for one in doc["sources"] if one["name"] == "gpu")


def findings(doc):
    return {one["code"]: one for one in doc["findings"] if one["code"] in ("gpu_clock_limited", "gpu_link_degraded", "gpu_memory_pressure", "gpu_errors")}


def artifact(doc):
    return json.loads(pathlib.Path(source(doc)["artifact"]["path"]).read_text())


def test_numbers_and_counters():
    nvml = gpus.Nvml(3).healthy(0).healthy(1, **{"rate.74": 0.29, "rate.270": 0.07, "power": 699000}).healthy(2)
    with gpus.holder(0, 1, 2) as target:
        nvml.set(processes_of_1=f"{target.pid}:1048576")
        doc = triage(target, nvml)
        one, = doc["summary"]["gpu"]["devices"]  # the one that it uses
        assert (one["index"], one["uuid"], one["process_memory"], one["power_mw"], one["utilization"]) == (1, gpus.UUIDS[1], 1048576, 699000, 0.83), one
        whole = artifact(doc)
        assert whole["use_known"] and whole["devices_seen"] == 3 and whole["devices"][0]["use"] == "nvml", whole
        span = whole["devices"][0]["span_ns"]
        assert 0.95 * WINDOW_MS * 1e6 <= span, whole
        # The counter grows by a known part of the time between the two readings.
        assert abs(one["clock_event_ns"]["sw_power_cap"] - 0.29 * span) <= 0.01 * span, (one, span)
        assert abs(one["clock_event_ns"]["hw_thermal"] - 0.07 * span) <= 0.01 * span, (one, span)
        found = findings(doc)
        assert list(found) == ["gpu_clock_limited"] and found["gpu_clock_limited"]["confidence"] == "measured", found
        assert abs(found["gpu_clock_limited"]["window_share"] - 0.29) < 0.02 and found["gpu_clock_limited"]["subject"] == "1", found
        text = xp.run("measure", "--pid", target.pid, "--triage", "--duration-ms", 300, "--max-cost", 0, "--human", env=nvml.env(), text=True).out.decode()
        assert "gpu 1" in text and "699 of 700 W" in text, text


def test_which_devices():
    nvml = gpus.Nvml(3).healthy(0).healthy(1).healthy(2)
    with gpus.holder(0, 2) as target:  # a namespace whose numbers NVML does not know: the open files tell
        doc = triage(target, nvml)
        assert [one["index"] for one in doc["summary"]["gpu"]["devices"]] == [0, 2], doc["summary"]["gpu"]
        assert {one["use"] for one in artifact(doc)["devices"]} == {"device_open"} and doc["summary"]["gpu"]["devices"][0]["process_memory"] is None
        nvml.set(minor_of_0=None, minor_of_1=None, minor_of_2=None)
        doc = triage(target, nvml)
        assert len(doc["summary"]["gpu"]["devices"]) == 3 and not artifact(doc)["use_known"] and source(doc)["detail"], doc["summary"]["gpu"]
    with gpus.holder() as target:
        assert source(triage(target, nvml))["reason"] == "no_context"
    with xp.sleeper() as target:
        assert source(triage(target, nvml))["reason"] == "not_cuda"
        checked = {one["name"]: one for one in xp.ok("validate", "--pid", target.pid, "--triage", env=nvml.env())["sources"]}
        assert checked["gpu"]["reason"] == "not_cuda", checked["gpu"]


def test_snapshots_where_the_driver_has_no_counters():
    """An edition before 12.2: other names of calls, no field values."""
    with gpus.holder(0) as target:
        nvml = gpus.Nvml(edition=2).healthy(reasons=0x24 | 1)
        doc = triage(target, nvml)
        one, = artifact(doc)["devices"]
        told = {event["reason"]: (event["source"], event["hits"]) for event in one["clock_events"]}
        assert told["sw_power_cap"] == told["sw_thermal"] == ("snapshots", one["readings"]) and told["hw_thermal"] == ("snapshots", 0), told
        found = findings(doc)["gpu_clock_limited"]
        assert found["confidence"] == "estimated" and found["window_share"] == 1, found
        assert (one["memory_used"], one["temperature_c"]) == (3 << 30, 61), "by the calls that this edition has"
        # The ids of thermal counters mean other things to a driver before 580.
        doc = triage(target, gpus.Nvml().healthy(**{"rate.270": 0.5}).set(version="570.172.08"))
        assert {event["reason"]: event["source"] for event in artifact(doc)["devices"][0]["clock_events"]}["hw_thermal"] == "snapshots"


def test_states_become_findings():
    with gpus.holder(0) as target:
        doc = triage(target, gpus.Nvml().healthy(gen=3, width=8, used=93 << 30, remap=1))
        assert set(findings(doc)) == {"gpu_link_degraded", "gpu_memory_pressure", "gpu_errors"}, findings(doc)
        assert findings(triage(target, gpus.Nvml().healthy())) == {}
        assert findings(triage(target, gpus.Nvml().healthy(gen=1, utilization=3))) == {}, "an idle GPU lowers its link"


def test_errors_that_rise_in_the_window():
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().healthy(ecc=5)
        assert findings(triage(target, nvml)) == {}
        process = xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", 1500, "--max-cost", 0, env=nvml.env())
        xp.wait_armed(process)
        nvml.set(ecc_of_0=12)
        found = findings(xp.finish(process).doc)["gpu_errors"]
        assert found["evidence"]["ecc_uncorrected_new"] == 7 and found["evidence"]["ecc_uncorrected"] == 12, found


def test_what_is_not_supported_is_null():
    with gpus.holder(0) as target:
        doc = triage(target, gpus.Nvml())
        one, = doc["summary"]["gpu"]["devices"]
        assert all(value is None for key, value in one.items() if key not in ("index", "uuid", "clock_event_ns", "mig")), one
        assert one["clock_event_ns"] == {} and source(doc)["status"] == "available", one
        instances = "MIG-11111111-1111-1111-1111-111111111111:3:0"
        nvml = gpus.Nvml().healthy(utilization=None).set(mig_of_0=instances, processes_of_0=f"{target.pid}:4096:3:0")
        doc = triage(target, nvml)
        one, = artifact(doc)["devices"]
        assert one["mig"] and one["mig_uuids"] == [instances.split(":")[0]] and one["utilization"] is None and one["process_memory"] == 4096, one


def test_every_way_to_fail():
    with gpus.holder(0) as target:
        for call, status, reason in (("nvmlInit_v2", 9, "absent"), ("nvmlInit_v2", 4, "not_permitted"), ("nvmlDeviceGetCount_v2", 3, "unsupported"),
                                     ("nvmlInit_v2", 10, "timeout"), ("nvmlDeviceGetCount_v2", 999, "failed")):
            nvml = gpus.Nvml().set(**{f"fail__{call}": status})
            told = source(triage(target, nvml, window=200))
            assert (told["status"], told["reason"], told["call"], told["errno"]) == ("unavailable", reason, call, str(status)), told
            assert told["object"] == "libnvidia-ml.so.1" and told["artifact"] is None, told
        told = source(triage(target, gpus.Nvml().healthy().set(crash__nvmlDeviceGetUUID=1), window=200))
        assert told["reason"] == "failed" and "crashed" in told["detail"], told
        told = source(triage(target, gpus.Nvml().healthy().set(fail__nvmlDeviceGetPowerUsage=15, fail__nvmlDeviceGetUtilizationRates=15), window=200))
        assert told["reason"] == "failed" and told["errno"] == "15", told
        told = source(triage(target, gpus.Nvml(0), window=200))
        assert told["reason"] == "absent", told


def test_no_library():
    with gpus.holder(0) as target:
        doc = xp.ok("measure", "--pid", target.pid, "--triage", "--duration-ms", 200, "--max-cost", 0, env={"LD_LIBRARY_PATH": xp.scratch()})
        if source(doc)["status"] == "available":
            raise xp.Skip("this machine has a driver")
        told = source(doc)
        assert (told["reason"], told["call"], told["errno"], told["object"]) == ("absent", "dlopen", None, "libnvidia-ml.so.1"), told
        assert "source_gpu" in [gap["code"] for gap in doc["not_covered"]] and doc["summary"]["gpu"] is None
        checked = {one["name"]: one for one in xp.ok("validate", "--pid", target.pid, "--triage", env={"LD_LIBRARY_PATH": xp.scratch()})["sources"]}
        assert checked["gpu"]["reason"] == "absent", checked["gpu"]


def test_a_driver_that_hangs_costs_two_seconds():
    with gpus.holder(0) as target:
        started = time.monotonic()
        told = source(triage(target, gpus.Nvml().set(sleep__nvmlInit_v2=60000), window=200))
        assert told["reason"] == "timeout" and time.monotonic() - started < 12, told
        slow = gpus.Nvml().healthy().set(sleep__nvmlDeviceGetPowerUsage=450)  # slower than readings are asked for
        doc = triage(target, slow)
        assert source(doc)["status"] == "available" and "too slow" in source(doc)["detail"] and artifact(doc)["readings_missed"] > 0, source(doc)


def test_a_device_is_lost_in_the_window():
    with gpus.holder(0) as target:
        nvml = gpus.Nvml().healthy()
        process = xp.start("measure", "--pid", target.pid, "--triage", "--duration-ms", 1500, "--max-cost", 0, env=nvml.env())
        xp.wait_armed(process)
        nvml.set(fail__nvmlDeviceGetTemperatureV=15, fail__nvmlDeviceGetTemperature=15)
        doc = xp.finish(process).doc
        found = findings(doc)["gpu_errors"]
        assert found["evidence"]["lost"] and "status 15" in found["message"] and source(doc)["detail"], found


def test_several_processes():
    nvml = gpus.Nvml(2).healthy(0).healthy(1, **{"rate.74": 0.9})
    with gpus.holder(0) as one, gpus.holder(1) as two, gpus.holder(0) as three:
        nvml.set(processes_of_0=f"{one.pid}:4096,{three.pid}:4096", processes_of_1=f"{two.pid}:8192")
        doc = xp.ok("measure", *(word for target in (one, two, three) for word in ("--pid", target.pid)), "--triage", "--duration-ms", 500, "--max-cost", 0,
                    env=nvml.env())
        assert [[device["index"] for device in process["summary"]["gpu"]["devices"]] for process in doc["processes"]] == [[0], [1], [0]]
        odd = [entry for entry in doc["odd_one_out"] if entry["metric"] == "clock_limited_share"]
        assert [entry["pid"] for entry in odd] == [two.pid] and abs(odd[0]["value"] - 0.9) < 0.05, odd


if __name__ == "__main__":
    xp.main()
