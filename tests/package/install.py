# SPDX-License-Identifier: Apache-2.0
"""install.sh over a release of three small files: who owns what it writes, failures half way, hostile lists, odd prefixes."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import package
import xp

FILES = {"bin/xprobe": "#!/bin/sh\necho xprobe 0.0.1\n", "lib/xprobe/agent.so": "agent\n", "share/doc/xprobe/README.md": "read me\n"}


def unpack(folder, files=None):
    """An unpacked release as a user's tar leaves it: everything is of uid 1000 where the test may say so."""
    place = pathlib.Path(folder)
    for name, content in (files or FILES).items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(content)
        (place / name).chmod(0o777 if name.startswith("bin/") else 0o666)
        if os.geteuid() == 0:
            os.chown(place / name, 1000, 1000)
    shutil.copy(xp.SOURCE / "packaging/install.sh", place / "install.sh")
    names = "\n".join(sorted(files or FILES))
    (place / "MANIFEST").write_text(subprocess.run(["xargs", "sha256sum"], input=names, cwd=place, capture_output=True, text=True, check=True).stdout)
    return place / "install.sh"


def install(script, *words, fails=None, **options):
    done = subprocess.run([script, *map(str, words)], capture_output=True, text=True, check=False, timeout=60, **options)
    assert (done.returncode == 0) == (fails is None) and (fails or "") in done.stderr, done
    return done


def scratch():
    return tempfile.TemporaryDirectory(dir="/tmp")


def test_what_it_writes_is_of_who_installs_and_everybody_may_read_it():
    with scratch() as folder:
        script = unpack(pathlib.Path(folder) / "a release")
        prefix = pathlib.Path(folder) / "a prefix"
        install(script, "--prefix", prefix, preexec_fn=lambda: os.umask(0o077), env={**os.environ, "CDPATH": "/"})
        for name in FILES:
            status = (prefix / name).stat()
            assert status.st_uid == os.geteuid() and status.st_mode & 0o777 == (0o755 if name.startswith("bin/") else 0o644), (name, status)
            assert (prefix / name).parent.stat().st_mode & 0o777 == 0o755
        install(script, "--prefix", prefix, "--uninstall")
        assert package.files_below(prefix) == []
        install(script, "--prefix", prefix, "--uninstall", fails="no installation")


def test_a_failure_half_way_leaves_a_list_to_uninstall_by():
    with scratch() as folder:
        script, prefix = unpack(pathlib.Path(folder) / "release"), pathlib.Path(folder) / "prefix"
        (prefix / "share/doc/xprobe/README.md").mkdir(parents=True)
        (prefix / "share/doc/xprobe/README.md/mine").write_text("of the user")
        before = package.files_below(prefix)
        install(script, "--prefix", prefix, fails="README.md is a folder")
        assert (prefix / "bin/xprobe").exists()
        shutil.move(prefix / "share/doc/xprobe/README.md", pathlib.Path(folder) / "aside")
        install(script, "--prefix", prefix, "--uninstall")
        shutil.move(pathlib.Path(folder) / "aside", prefix / "share/doc/xprobe/README.md")
        assert package.files_below(prefix) == before


def test_an_upgrade_takes_away_what_the_new_release_has_not():
    with scratch() as folder:
        prefix = pathlib.Path(folder) / "prefix"
        install(unpack(pathlib.Path(folder) / "old", {**FILES, "share/xprobe/old/old.json": "{}"}), "--prefix", prefix)
        script = unpack(pathlib.Path(folder) / "new")
        install(script, "--prefix", prefix)
        assert not (prefix / "share/xprobe/old/old.json").exists() and (prefix / "bin/xprobe").exists()
        install(script, "--prefix", prefix, "--uninstall")
        assert package.files_below(prefix) == []


def test_a_list_that_leads_out_of_the_prefix_removes_nothing():
    with scratch() as folder:
        script, prefix = unpack(pathlib.Path(folder) / "release"), pathlib.Path(folder) / "prefix"
        install(script, "--prefix", prefix)
        (pathlib.Path(folder) / "mine").write_text("of the user")
        manifest = prefix / "share/xprobe/manifest"
        for line in ("../mine", "bin/../../mine"):
            manifest.write_text(f"{line}\nbin/xprobe\n")
            for words in ((), ("--uninstall",)):
                install(script, "--prefix", prefix, *words, fails="outside")
                assert (pathlib.Path(folder) / "mine").exists() and (prefix / "bin/xprobe").exists() and manifest.exists(), (line, words)


def test_prefixes_that_cannot_be():
    with scratch() as folder:
        script = unpack(pathlib.Path(folder) / "release")
        for words in (("--prefix", "relative"), ("--prefix", ""), ("--prefix",), ("--destdir", "x"), ("--wrong",)):
            install(script, *words, fails="install: ")
        (pathlib.Path(folder) / "file").write_text("")
        install(script, "--prefix", pathlib.Path(folder) / "file/below", fails="cannot be written")
        (pathlib.Path(folder) / "link").symlink_to(pathlib.Path(folder) / "real")
        (pathlib.Path(folder) / "real").mkdir()
        install(script, "--prefix", pathlib.Path(folder) / "link")
        install(script, "--prefix", pathlib.Path(folder) / "link", "--uninstall")
        assert package.files_below(pathlib.Path(folder) / "real") == [] and (pathlib.Path(folder) / "link").is_symlink()


if __name__ == "__main__":
    xp.main()
