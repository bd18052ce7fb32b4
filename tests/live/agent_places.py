#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole GPU measurements of programs in other namespaces, roots and users, as containers are made of; the agent needs no path of theirs.

Exact counts everywhere, host process ids in the events, the same call a second time without a second injection. Fake CUDA, real injection.
"""
import pathlib
import shutil
import subprocess

import xp
from fake_cuda import FAKE, LAUNCHES, App, warnings

N = 101


def check(app, captures=1):
    doc = xp.ok("validate", "--pid", app.pid, *LAUNCHES)
    assert doc["valid"] and doc["requirements"]["agent_activation"] == "injection_required", doc
    for i in range(captures):
        result, _ = app.measure(*LAUNCHES, lines=[f"launch 2 {N} k 300"], seconds=1.5)
        assert result.exit == 0, result
        assert result.doc["measurement"]["samples"]["matched"] == 2 * N, result
        assert result.doc["target"]["pid"] == app.pid
        events = xp.read_events(result.doc["evidence"]["artifact"]["path"])
        assert {event["pid"] for event in events} == {app.pid}
        threads = {event["tid"] for event in events if event["source"] == "cupti_callback"}
        assert len(threads) == 2 and app.pid not in threads, threads
        assert ("CUPTI_AGENT_INJECTED" in warnings(result.doc)) == (i == 0), warnings(result.doc)


def need(*prefix):
    xp.need_bpf()
    probe = subprocess.run([*map(str, prefix), "true"], capture_output=True, check=False)
    if probe.returncode:
        raise xp.Skip(f"{prefix[0]} {prefix[1]}: {probe.stderr.decode().strip()}")
    return prefix


def place(*prefix, captures=1, **options):
    with App(prefix=need(*prefix), **options) as app:
        check(app, captures)


def shell(setup):
    """A command that runs this setup, then the program."""
    return ["sh", "-c", f'{setup} && exec "$0" "$@"']


def test_pid_mount_network_and_uts_namespaces():
    place("unshare", "--pid", "--fork", "--mount-proc", "--net", "--uts", "--ipc", captures=2)


def test_a_user_namespace_of_its_own():
    place("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def test_an_old_cupti_in_a_user_namespace():
    place("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", major=12)


def test_a_cgroup_namespace():
    place("unshare", "--cgroup", "--mount")


def test_another_user():
    place("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


def test_another_user_without_any_right():
    place("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set=-all", "--no-new-privs")


def test_proc_hides_other_processes():
    """hidepid=2 in the target's view and another user in it: we read our own /proc, not that one."""
    place("unshare", "--mount", "--pid", "--fork", *shell("mount -t proc -o hidepid=2 proc /proc"), "setpriv", "--reuid", "65534", "--regid", "65534",
          "--clear-groups")


def test_a_view_without_proc_is_refused_by_name():
    """The dynamic linker of the target takes the agent from /proc/self/fd, the only path that every container has. Nearly."""
    with App(prefix=need("unshare", "--mount", *shell("mount -t tmpfs none /proc"))) as app:
        doc = xp.ok("validate", "--pid", app.pid, *LAUNCHES)
        assert not doc["valid"] and [issue["code"] for issue in doc["issues"]] == ["UNSUPPORTED_TARGET"], doc["issues"]
        xp.fails("UNSUPPORTED_TARGET", "measure", "--pid", app.pid, *LAUNCHES, "--duration-ms", "100")


def test_a_time_namespace_is_refused_by_name():
    """Its monotonic clock is another one; the agent's times would be an hour off."""
    with App(prefix=need("unshare", "--time", "--monotonic", "3600", "--fork")) as app:
        xp.fails("UNSUPPORTED_TARGET", "measure", "--pid", app.pid, *LAUNCHES, "--duration-ms", "100")


def test_a_root_of_its_own():
    """Another root, read-only, that holds the program and its libraries under other names, and nothing of ours."""
    root = pathlib.Path(xp.scratch()) / "root"
    files = {FAKE / "app13": "app", FAKE / "libcuda.so.1": "lib/libcuda.so.1", FAKE / "13/libcudart.so.13": "lib/libcudart.so.13",
             FAKE / "13/libcupti.so.13": "lib/libcupti.so.13"}
    if not pathlib.Path("/lib/x86_64-linux-gnu/libdl.so.2").exists():
        raise xp.Skip("libraries lie elsewhere here")
    for word in subprocess.run(["ldd", FAKE / "app13"], capture_output=True, text=True, check=True).stdout.split():
        if word.startswith("/") and str(xp.BUILD) not in word:
            files[pathlib.Path(word)] = word.lstrip("/")
    for name in ("libpthread.so.0", "libdl.so.2"):  # which every libcuda needs, so every CUDA container has them
        files[pathlib.Path("/lib/x86_64-linux-gnu") / name] = f"lib/{name}"
    for source, name in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, root / name)
    (root / "proc").mkdir()
    setup = f"mount --bind {root} {root} && mount -t proc proc {root}/proc && mount -o remount,ro,bind {root}"
    inside = need("unshare", "--mount", "--pid", "--fork", *shell(setup))
    with App(prefix=[*inside, "env", "LD_LIBRARY_PATH=/lib:/lib/x86_64-linux-gnu:/lib64", "chroot", root], program="/app",
             cupti="/lib/libcupti.so.13") as app:
        check(app)


if __name__ == "__main__":
    xp.main()
