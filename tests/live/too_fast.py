# SPDX-License-Identifier: Apache-2.0
"""D4, D9: a probe on a hot function ruined the target for the whole window, and a full ring lost most records without a word."""
import pathlib
import struct
import threading
import time

import xp

CALLS = str(xp.TARGETS / "calls")
HOT = str(xp.TARGETS / "hot")
BURST = 1_000_007
STOP_NS = 100_000_000  # of contract 15.2: probes are off that long after the limit was seen
SHARE_OF_FULL_SPEED = 0.7


def burst(ring_bytes, **options):
    """One million calls that nobody could write down in time, into a ring of that size; the run's outcome."""
    env = {"XPROBE_TEST_RING_BYTES": str(ring_bytes)} if ring_bytes else {}
    entry = f"uprobe:{CALLS}:begins_push:entry"
    with xp.Target("calls", "burst", BURST) as target:
        run = xp.start("measure", "--pid", target.pid, "--from", entry, "--to", entry, "--match", "first-after", "--duration-ms", 100_000,
                       "--timeout-ms", 110_000, "--max-events", 3_000_000, "--max-cost", 0, env=env)
        xp.wait_armed(run)
        target.tell("")
        assert target.read_line() == "done"
        run.send_signal(2)
        result = xp.finish(run, 120)
        assert target.alive()
        target.tell("")
    return result


def test_a_ring_that_overflows_is_accounted_to_the_last_record():
    xp.need_bpf()
    result = burst(4096)
    assert result.code == "EVENTS_DROPPED" and result.exit == 1, result
    partial = result.details["partial"]
    account, = partial["collection"]["sources"]
    assert account["source"] == "ebpf_uprobe" and account["emitted"] == BURST and account["filtered"] == 0, account
    assert account["delivered"] + account["dropped"] == BURST and account["dropped"] > 0, account
    assert account["dropped_reasons"] == {"ring_full": account["dropped"]}, account
    assert partial["collection"]["dropped_events"] == account["dropped"] == result.details["dropped_events"], partial["collection"]
    assert partial["measurement"]["samples"]["dropped"] == account["dropped"], partial["measurement"]
    assert partial["collection"]["host_events"] == account["delivered"] == result.details["artifact_event_count"], partial["collection"]
    assert [exemplar["rank"] for exemplar in partial["evidence"]["exemplars"]] == ["min", "p50", "p90", "p99", "max"]
    assert partial["quality"]["verdict"] == "caution", partial["quality"]


class Speed(threading.Thread):
    """Calls and CPU time of the hot target, some 100 times a second."""

    def __init__(self, pid, path):
        super().__init__(daemon=True)
        self.file, self.cpu, self.points, self.ended = open(path, "rb", buffering=0), f"/proc/{pid}/schedstat", [], False

    def run(self):
        while not self.ended:
            self.file.seek(0)
            calls, = struct.unpack("<Q", self.file.read(8))
            ran = int(pathlib.Path(self.cpu).read_text().split()[0])
            self.points.append((time.monotonic_ns(), calls, ran))
            time.sleep(0.01)

    def between(self, begin, end):
        """Calls a ns of CPU time, so that what else runs on the machine does not count."""
        inside = [point for point in self.points if begin <= point[0] <= end]
        return (inside[-1][1] - inside[0][1]) / (inside[-1][2] - inside[0][2])

    def wait(self, after, cpu_ns=200_000_000):
        """Until the target ran that long behind a moment."""
        give_up = time.monotonic() + 60
        while True:
            seen = [point[2] for point in self.points if point[0] >= after]
            if seen and seen[-1] - seen[0] >= cpu_ns:
                return
            assert time.monotonic() < give_up, "the target gets no CPU time"
            time.sleep(0.05)


def test_a_hot_function_is_given_up_at_once():
    xp.need_bpf()
    counted = pathlib.Path(xp.scratch()) / "counted"
    with xp.Target(HOT, counted) as target:
        speed = Speed(target.pid, counted)
        speed.start()
        speed.wait(0)
        began = time.monotonic_ns()
        result = xp.run("measure", "--pid", target.pid, "--from", f"uprobe:{HOT}:hot:entry", "--to", f"uprobe:{HOT}:hot:return", "--match",
                        "stack-nested", "--duration-ms", 20_000, "--max-events", 20_011, "--max-cost", 0)
        assert result.code == "EVENT_RATE_TOO_HIGH" and result.details["max_events"] == 20_011, result
        events = xp.read_events(xp.artifact_of(result.doc))
        # One end whose start lies before the window is kept out of the capacity (contract 6.3).
        assert len(events) - 20_011 in (0, 1) and result.seconds < 20, (len(events), result.seconds)
        settled = events[-1]["timestamp_ns"] + STOP_NS
        speed.wait(settled)
        speed.ended = True
        speed.join()
        assert target.alive()
    full, after = speed.between(0, began), speed.between(settled, time.monotonic_ns())
    assert after > SHARE_OF_FULL_SPEED * full, f"{after / full:.2f} of its speed {STOP_NS / 1e6} ms behind the stop"


def test_the_cost_limit_ends_the_window():
    """Both outcomes of contract 6.3: with pairs a result of the shorter window, without an error that still tells the cost."""
    xp.need_bpf()
    with xp.Target(xp.BUILD / "bench/bench_caller") as target:
        pair = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:exit", "--match", "exact"]
        doc = xp.ok("measure", "--pid", target.pid, *pair, "--duration-ms", 20_000, "--max-cost", "1e-9")
        assert doc["status"] == "cancelled" and doc["cost"]["limit_reached"] and doc["cost"]["limit"] == 1e-9, doc["cost"]
        assert "cost_limit_reached" in [issue["code"] for issue in doc["quality"]["issues"] if issue["severity"] == "caution"]
        assert doc["collection"]["window_ns"] < 10e9, doc["collection"]
        details = xp.fails("EVENT_RATE_TOO_HIGH", "measure", "--pid", target.pid, *pair[:2], "--to", "syscall:sched_setscheduler:exit", "--match",
                           "first-after", "--duration-ms", 20_000, "--max-cost", "1e-9")
        assert details["partial"]["cost"]["limit_reached"], details["partial"]["cost"]
        for mode in ("--syscall-aggregate", "--triage"):
            doc = xp.ok("measure", "--pid", target.pid, mode, "--duration-ms", 20_000, "--max-cost", "1e-9")
            assert doc["status"] == "cancelled", (mode, doc["status"])
            assert "cost_limit_reached" in [issue["code"] for issue in doc["quality"]["issues"]], (mode, doc["quality"])
        assert target.alive()


if __name__ == "__main__":
    xp.main()
