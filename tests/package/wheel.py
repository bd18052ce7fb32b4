# SPDX-License-Identifier: Apache-2.0
"""The Python wheel puts the same tool and agent into a clean environment, and pip takes both away again."""
import pathlib
import subprocess
import tempfile

import package
import xp


def environment(folder):
    """A fresh virtual environment -> its folder."""
    for python in ("/usr/bin/python3", "python3"):
        if subprocess.run([python, "-m", "venv", folder], capture_output=True, check=False).returncode == 0:
            return pathlib.Path(folder)
    raise xp.Skip("no Python here makes a virtual environment (python3-venv)")


def test_in_a_clean_environment_it_answers_and_is_removed_whole():
    xp.need_bpf()
    wheel = package.file("*.whl")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        env = environment(f"{folder}/env")
        before = package.files_below(env)
        package.run(env / "bin/pip", "install", "--quiet", "--no-index", wheel)
        assert (env / "lib/xprobe/libxprobe-agent.so").exists()
        package.first_answer(lambda *words: package.run(env / "bin/xprobe", *words, env={"TMPDIR": folder, "PATH": "/bin"}))
        package.run(env / "bin/pip", "uninstall", "--quiet", "--yes", "xprobe")
        left = set(package.files_below(env)) - set(before)
        assert not [path for path in left if (env / path).is_file() and "__pycache__" not in path], left


def test_the_same_agent_is_found_as_from_the_archive():
    wheel = package.file("*.whl")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        package.run("tar", "-xzf", package.file("xprobe-*-x86_64.tar.gz"), "-C", folder)
        package.run("/usr/bin/python3", "-m", "zipfile", "-e", wheel, f"{folder}/wheel")
        released = next(pathlib.Path(folder).glob("xprobe-*-x86_64"))
        inside = next(pathlib.Path(folder).glob("wheel/*.data"))
        assert (inside / "scripts/xprobe").read_bytes() == (released / "bin/xprobe").read_bytes()
        for path in (released / "lib/xprobe").iterdir():
            assert (inside / "data/lib/xprobe" / path.name).read_bytes() == path.read_bytes()


if __name__ == "__main__":
    xp.main()
