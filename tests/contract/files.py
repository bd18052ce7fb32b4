# SPDX-License-Identifier: Apache-2.0
"""Files in and out, cases H3 and H5: `export`, `dev cupti` and `measure --input` on captures that are written here, byte by byte."""
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

import xp

UNKNOWN = 0xFFFFFFFF


def place(name):
    return pathlib.Path(xp.scratch()) / name


def fresh(name):
    """An empty folder of that name."""
    folder = place(name)
    folder.mkdir()
    return folder


def event(sequence, t, kind, tid=43, pid=41, **more):
    return {"schema_version": "2.0", "session_id": "xp_old_1_00000000", "event_id": f"evt_{sequence}", "sequence": sequence, "source": "ebpf",
            "event_type": kind, "pid": pid, "tid": tid, "cpu": 0, "timestamp_raw": t, "timestamp_ns": t, "clock_domain": "host_monotonic",
            "timestamp_error_ns": None, "process_start_time": 8812345, "cuda": None, "attributes": {},
            "host": {"probe_kind": "syscall", "binary_path": None, "build_id": None, "symbol": "mmap", "symbol_demangled": None, "offset": None,
                     "return_value": 0 if kind == "syscall_exit" else None, "arguments": []}, **more}


def calls(count, start=1000):
    """`count` calls of 7 ns, one every 100 ns."""
    for i in range(count):
        yield event(2 * i, start + 100 * i, "syscall_entry")
        yield event(2 * i + 1, start + 100 * i + 7, "syscall_exit")


def jsonl(name, events):
    path = place(name)
    path.write_text("".join(json.dumps(one) + "\n" for one in events), "utf-8")
    return path


def cupti(name, pairs, dropped=0, unknown=0, state=3):
    """An ABI 4 capture of `pairs` kernels of 11 ns."""
    records = b""
    for i in range(pairs):
        for kind, t in ((3, 1000 + 100 * i), (4, 1011 + 100 * i)):
            words = [kind, 41, 0, 0, 1, 7, i + 1, 0, 0, 1, 1, 1, 32, 1, 1, 0]
            records += struct.pack("<Q16I128s", t, *words, b"_Z3addPf")
    head = struct.pack("<8s6I7Q", b"XPCUPTI\0", 4, 88, 200, 1, state, 1, 2 * pairs, 4099, 2 * pairs + dropped, dropped, 0, unknown, 0)
    assert len(head) == 88
    path = place(name)
    path.write_bytes(head + records)
    return path


def listing(folder):
    return sorted(entry.name for entry in pathlib.Path(folder).iterdir())


def export(inputs, output, form="jsonl"):
    arguments = [word for path in inputs for word in ("--input", path)]
    return ["export", *arguments, "--format", form, "--output", output]


def test_export_merges_and_renumbers():
    first, second = jsonl("a.jsonl", calls(101)), jsonl("b.jsonl", calls(103, start=1050))
    doc = xp.ok(*export([first, second], place("merged.jsonl")))
    assert (doc["format"], doc["event_count"]) == ("jsonl", 408), doc
    assert doc["output"] == str(place("merged.jsonl"))
    events = xp.read_events(doc["output"])
    assert [one["sequence"] for one in events] == list(range(408))
    assert [one["event_id"] for one in events] == [f"evt_{i}" for i in range(408)]
    times = [one["timestamp_ns"] for one in events]
    assert times == sorted(times)
    assert len({one["session_id"] for one in events}) == 1 and events[0]["session_id"] != "xp_old_1_00000000"
    assert os.stat(doc["output"]).st_mode & 0o777 == 0o600


def test_export_chrome():
    doc = xp.ok(*export([cupti("k.bin", 13)], place("k.json"), "chrome"))
    trace = xp.parse(place("k.json").read_text("utf-8"))
    assert doc["event_count"] == len(trace["traceEvents"]) == 26
    assert {(one["ph"], one["s"], one["cat"], one["tid"]) for one in trace["traceEvents"]} == {("i", "t", "cuda.activity", 7)}


def test_dev_cupti_prints_events_and_counts():
    path = cupti("lossy.bin", 17, dropped=5, unknown=3)
    for command in ("dev", "capture"):
        result = xp.run(command, "cupti", "--input", path, "--session-id", "mine", exit=0, text=True)
        lines = result.out.decode().splitlines()
        assert len(lines) == 34
        for line in lines:
            one = xp.parse(line)
            xp.check_schema(one, "event")
            assert one["session_id"] == "mine"
        assert b"34 events, 5 dropped, 3 unknown" in result.err, result


def test_envelopes_decide():
    out = place("never.jsonl")
    details = xp.fails("EVENTS_DROPPED", *export([cupti("d.bin", 3, dropped=5, unknown=1, state=2)], out))
    assert details["dropped_records"] == 5 and details["retained_records"] == 6
    xp.fails("EVENT_RATE_TOO_HIGH", *export([cupti("l.bin", 3, unknown=1, state=2)], out))
    assert xp.fails("TRACE_EXPORT_FAILED", *export([cupti("u.bin", 3, unknown=2, state=1)], out))["unknown_records"] == 2
    assert xp.fails("CUPTI_NOT_AVAILABLE", *export([cupti("s.bin", 3, state=1)], out))["capture_state"] == "active"
    assert xp.fails("CUPTI_NOT_AVAILABLE", *export([cupti("f.bin", 3, state=4)], out))["capture_state"] == "failed"
    assert not out.exists()


def test_command_line_errors():
    good = jsonl("good.jsonl", calls(2))
    out = place("cl.jsonl")
    for arguments in (["export"], ["export", "--input", good], ["export", "--input", good, "--format", "jsonl"],
                      export([good], out, "folded"), export([good], out, "pprof"), export([good], out, "x"), ["dev"], ["dev", "cupti"],
                      ["dev", "cupti", "--input", good], ["dev", "cupti", "--input", good, "--session-id", ""],
                      ["dev", "cupti", "--input", good, "--session-id", "x" * 129], ["dev", "lists", "--session-id"]):
        xp.run(*arguments, code="INVALID_ARGUMENT", exit=2)
    xp.fails("TRACE_EXPORT_FAILED", "dev", "cupti", "--input", good, "--session-id", "x")
    xp.fails("SESSION_LIMIT_EXCEEDED", *export([good] * 65, out))
    assert not out.exists()


def test_odd_inputs_are_refused_without_waiting():
    folder = fresh("odd-in")
    os.mkfifo(folder / "fifo")
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(folder / "socket"))
    (folder / "empty").touch()
    for path in (folder, folder / "fifo", folder / "socket", folder / "empty", folder / "missing", "/dev/zero", "/proc/self/mem"):
        result = xp.run(*export([path], place("odd.jsonl")), code="TRACE_EXPORT_FAILED", exit=1)
        assert result.seconds < 20, result
    bound.close()
    assert not place("odd.jsonl").exists()


def test_planted_things_at_the_destination():
    good, folder = jsonl("h3.jsonl", calls(5)), fresh("planted")
    victim = folder / "victim"
    victim.write_text("precious")
    (folder / "link").symlink_to(victim)
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(folder / "socket"))
    before = listing(folder)
    for name in ("fifo", "folder", "socket", "missing/out", "victim/out", "folder/"):
        xp.fails("TRACE_EXPORT_FAILED", *export([good], f"{folder}/{name}"))
    xp.fails("TRACE_EXPORT_FAILED", *export([good], "/dev/null"))
    xp.fails("TRACE_EXPORT_FAILED", *export([good], ""))
    assert listing(folder) == before
    xp.ok(*export([good], folder / "link"))
    bound.close()
    assert victim.read_text() == "precious"
    assert not (folder / "link").is_symlink() and len(xp.read_events(folder / "link")) == 10
    assert listing(folder) == before


def test_an_input_may_be_the_output():
    path = jsonl("same.jsonl", calls(11))
    xp.ok(*export([path], path))
    assert len(xp.read_events(path)) == 22


def test_a_signal_leaves_no_temporary():
    big, folder = place("big.jsonl"), fresh("signals")
    with open(big, "w", encoding="utf-8") as lines:
        for one in calls(100003):
            lines.write(json.dumps(one) + "\n")
    for delay in (0.05, 0.3, 0.9, 1.7):
        process = xp.start(*export([big], folder / "out"))
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        result = xp.finish(process)
        assert result.code in (None, "CANCELLED"), result
        assert listing(folder) == ([] if result.code else ["out"]), listing(folder)
        (folder / "out").unlink(missing_ok=True)


def test_a_full_disk_leaves_no_file():
    xp.need_root()
    folder, good = fresh("small"), jsonl("full.jsonl", calls(1009))
    script = 'mount -t tmpfs -o size=64k none "$1" && "$0" export --input "$2" --format jsonl --output "$1/out"; code=$?; ls -A "$1" >&2; exit $code'
    done = subprocess.run(["unshare", "-m", "sh", "-c", script, xp.XPROBE, folder, good], stdin=subprocess.DEVNULL, capture_output=True)
    if b"mount" in done.stderr or b"unshare" in done.stderr:
        raise xp.Skip("no private mount namespace here")
    error = xp.parse_stdout(done.stdout)["error"]
    assert (done.returncode, error["code"], error["details"]["errno"]) == (1, "TRACE_EXPORT_FAILED", "ENOSPC"), done
    assert done.stderr == b"", done


def test_full_stdout():
    path = cupti("stdout.bin", 5)
    with open("/dev/full", "wb") as full:
        for arguments in (["dev", "cupti", "--input", path, "--session-id", "x"], export([path], place("stdout.jsonl"))):
            done = subprocess.run([xp.XPROBE, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
            assert done.returncode == 1 and b"OUTPUT_FAILED" in done.stderr, done


if __name__ == "__main__":
    xp.main()
