# SPDX-License-Identifier: Apache-2.0
"""The skill goes where agents look: a folder that is named, or the usual ones of a user; from the source and from the archive."""
import pathlib
import subprocess
import tempfile

import package
import xp

NAME = "xprobe-measure-latency"
SCRIPT = xp.SOURCE / "packaging/install-skill.sh"


def same(folder):
    source = xp.SOURCE / "skills" / NAME
    assert package.files_below(source) == package.files_below(folder), package.files_below(folder)
    assert (folder / "SKILL.md").read_bytes() == (source / "SKILL.md").read_bytes()


def test_a_named_folder_and_again_over_an_older_one():
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder) / "skills"
        package.run(SCRIPT, place)
        (place / NAME / "of-an-older-version.md").write_text("old")
        package.run(SCRIPT, place)
        same(place / NAME)
        assert [path.name for path in place.iterdir()] == [NAME]


def test_usual_folders_of_a_user_and_none():
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run([SCRIPT], env={"HOME": home, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and home in done.stderr and not list(pathlib.Path(home).iterdir()), done
        (pathlib.Path(home) / ".agents").mkdir()
        package.run(SCRIPT, env={"HOME": home, "PATH": "/usr/bin:/bin"})
        same(pathlib.Path(home) / ".agents/skills" / NAME)


def test_from_the_unpacked_archive():
    with tempfile.TemporaryDirectory() as folder:
        package.run("tar", "-xzf", package.file("xprobe-*-x86_64.tar.gz"), "-C", folder)
        package.run(next(pathlib.Path(folder).glob("xprobe-*")) / "install-skill.sh", pathlib.Path(folder) / "skills")
        same(pathlib.Path(folder) / "skills" / NAME)


if __name__ == "__main__":
    xp.main()
