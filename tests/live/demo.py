# SPDX-License-Identifier: Apache-2.0
"""The demo finds the slow call of its server and the slow line of its Python program, as root and without, and leaves neither a process nor a file."""
import os
import pathlib
import subprocess
import tempfile

import xp


def programs_of_demo():
    names = []
    for path in pathlib.Path("/proc").glob("[0-9]*/exe"):
        try:
            names.append(os.readlink(path))
        except OSError:
            continue
    return [name for name in names if name.startswith(str(xp.BUILD / "demo/"))]


def run_demo(*prefix):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        done = subprocess.run([*prefix, str(xp.SOURCE / "demo/run.sh")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=100, env={**os.environ, "TMPDIR": folder}, check=False)
        text = done.stdout.decode()
        assert done.returncode == 0, text
        assert os.listdir(folder) == [], f"left in the temporary folder: {os.listdir(folder)}"
    assert not programs_of_demo(), programs_of_demo()
    return text


def test_as_root_the_slow_call_is_found_and_measured():
    xp.need_bpf()
    text = run_demo()
    assert "syscall_blocked" in text and "syscall:recvfrom:exit" in text and "p99" in text, text
    line = next(i for i, line in enumerate((xp.SOURCE / "demo/report.py").read_text().splitlines(), 1) if "not in seen" in line)
    assert f"also_bought (report.py:{line})" in text, text


def test_without_rights_it_says_what_is_missing_and_still_tells_the_threads():
    xp.need_root()
    path = pathlib.Path(xp.XPROBE)
    if any(parent.stat().st_mode & 0o5 != 0o5 for parent in path.parents):
        raise xp.Skip("the build folder is not readable for other users")
    text = run_demo(xp.need_command("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups")
    assert "CAP_BPF" in text and "worker-0" in text, text


if __name__ == "__main__":
    xp.main()
