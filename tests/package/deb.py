# SPDX-License-Identifier: Apache-2.0
"""The Debian package installs into a root of its own, holds what the archive holds, and is removed whole."""
import pathlib
import tempfile

import package
import xp


def test_it_installs_into_a_root_and_is_removed_whole():
    xp.need_root()
    dpkg, deb = xp.need_command("dpkg"), package.file("*.deb")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = pathlib.Path(folder)
        for name in ("var/lib/dpkg/info", "var/lib/dpkg/updates"):
            (root / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").write_text("")
        package.run(dpkg, f"--root={root}", "--force-depends", "--force-not-root", "-i", deb)
        xprobe = root / "usr/bin/xprobe"
        package.first_answer(lambda *words: package.run(xprobe, *words, env={"TMPDIR": folder, "PATH": "/bin"}))
        assert (root / "usr/share/man/man1/xprobe.1.gz").exists()
        package.run(dpkg, f"--root={root}", "--force-not-root", "-P", "xprobe")
        assert not [path for path in package.files_below(root) if path.startswith("usr/") and "xprobe" in path]


def test_it_depends_on_the_c_library_it_was_linked_with():
    xp.need_command("dpkg-deb")
    fields = package.run("dpkg-deb", "-f", package.file("*.deb"))
    assert "Depends: libc6 (>= 2." in fields and "Architecture: amd64" in fields, fields


if __name__ == "__main__":
    xp.main()
