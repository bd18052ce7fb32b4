# SPDX-License-Identifier: Apache-2.0
"""H3: symlinks, FIFOs, folders and sockets at every path that xprobe writes to. The victim stays as it was, the artifact is private and whole."""
import os
import pathlib
import socket
import subprocess
import tempfile

import xp

CALLER = xp.BUILD / "bench/bench_caller"
PAIR = ["--from", "syscall:clock_nanosleep:entry", "--to", "syscall:clock_nanosleep:exit", "--match", "exact"]
SAMPLES = 7


def measure(pid, path, *flags):
    return ["measure", "--pid", pid, *PAIR, "--samples", SAMPLES, "--max-cost", 0, "--events-out", path, *flags]


def check_artifact(doc, path):
    artifact = doc["evidence"]["artifact"]
    info = os.lstat(path)
    assert artifact["path"] == str(path) and os.path.isfile(path) and not os.path.islink(path)
    assert info.st_mode & 0o777 == 0o600 and info.st_size == artifact["bytes"]
    assert artifact["event_count"] == len(xp.read_events(path)) >= 2 * SAMPLES


def test_a_symlink_at_the_path_is_replaced_never_followed():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        victim, path = pathlib.Path(folder, "victim"), pathlib.Path(folder, "events.jsonl")
        victim.write_text("precious")
        path.symlink_to(victim)
        check_artifact(xp.ok(*measure(target.pid, path)), path)
        assert victim.read_text() == "precious"
        check_artifact(xp.ok(*measure(target.pid, path)), path)
        assert sorted(os.listdir(folder)) == ["events.jsonl", "victim"]


def test_a_symlink_at_the_temporary_is_not_followed():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        victim, path = pathlib.Path(folder, "victim"), pathlib.Path(folder, "events.jsonl")
        victim.write_text("precious")
        plant = 'for n in 0 1 2 3; do ln -s "$0" "$1/.events.jsonl.xprobe-$$-$n.tmp"; done; shift; exec "$@"'
        subprocess.run(["sh", "-c", plant, str(victim), folder, xp.XPROBE, *map(str, measure(target.pid, path))], capture_output=True, timeout=60,
                       stdin=subprocess.DEVNULL, check=False)
        assert victim.read_text() == "precious"


def test_what_is_no_file_is_refused_before_any_attach():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/folder")
        os.mkfifo(f"{folder}/fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"{folder}/socket")
            for path in (f"{folder}/folder", f"{folder}/fifo", f"{folder}/socket", "/dev/null", f"{folder}/missing/events.jsonl", f"{folder}/fifo/x"):
                details = xp.fails("TRACE_EXPORT_FAILED", *measure(target.pid, path))
                assert "partial" not in details, f"{path} was found out only after the capture"


def test_the_private_folder_is_new_private_and_unpredictable():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        folders = set()
        for _ in range(3):
            doc = xp.ok("measure", "--pid", target.pid, *PAIR, "--samples", SAMPLES, "--max-cost", 0, env={"TMPDIR": folder})
            path = pathlib.Path(doc["evidence"]["artifact"]["path"])
            assert path.name == "events.jsonl" and path.parent.parent == pathlib.Path(folder)
            assert path.parent.stat().st_mode & 0o777 == 0o700 and path.parent.stat().st_uid == os.geteuid()
            folders.add(path.parent)
        assert len(folders) == 3


def test_a_missing_temporary_folder_is_an_error_before_any_attach():
    xp.need_bpf()
    with xp.Target(CALLER) as target:
        result = xp.run("measure", "--pid", target.pid, *PAIR, "--samples", SAMPLES, "--max-cost", 0, env={"TMPDIR": "/nonexistent/folder"})
        assert result.code == "TRACE_EXPORT_FAILED" and "partial" not in result.details, result


def test_an_empty_capture_leaves_no_file_and_no_folder():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        xp.fails("NO_MATCHED_SAMPLES", "measure", "--pid", target.pid, "--from", "syscall:sched_setscheduler:entry", "--to",
                 "syscall:sched_setscheduler:exit", "--match", "exact", "--duration-ms", 200, env={"TMPDIR": folder})
        assert os.listdir(folder) == []


def test_two_runs_with_one_path_leave_one_whole_file():
    xp.need_bpf()
    with xp.Target(CALLER) as target, tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events.jsonl"
        runs = [xp.start(*measure(target.pid, path)) for _ in range(2)]
        for process in runs:
            process.communicate(timeout=30)
            assert process.returncode == 0
        assert len(xp.read_events(path)) >= 2 * SAMPLES and os.listdir(folder) == ["events.jsonl"]


if __name__ == "__main__":
    xp.main()
