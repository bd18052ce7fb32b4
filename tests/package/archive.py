# SPDX-License-Identifier: Apache-2.0
"""The release archive in a root with nothing in it but a shell and the C library: installs, answers, upgrades, and leaves nothing."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import package
import xp

LIBRARIES = ("libc.so.6", "libm.so.6")


def scratch_root(folder):
    busybox = xp.need_command("busybox")
    if "statically linked" not in subprocess.run(["file", "-L", busybox], capture_output=True, text=True, check=False).stdout and \
            subprocess.run(["ldd", busybox], capture_output=True, check=False).returncode == 0:
        raise xp.Skip("busybox here is not a static program")
    root = pathlib.Path(folder)
    for name in ("bin", "lib64", "proc", "sys", "dev", "tmp", "usr/local"):
        (root / name).mkdir(parents=True)
    shutil.copy(busybox, root / "bin/busybox")
    for name in subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split():
        if not (root / "bin" / name).exists():
            (root / "bin" / name).symlink_to("busybox")
    maps = pathlib.Path("/proc/self/maps").read_text()
    libc = pathlib.Path(re.search(r"/\S*/libc\.so\.6", maps)[0])
    for name in LIBRARIES:
        shutil.copy(libc.parent / name, root / "lib64" / name)
    (root / "lib").symlink_to("lib64")
    shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "lib64/ld-linux-x86-64.so.2")
    shutil.copy(package.file("xprobe-*-x86_64.tar.gz"), root / "tmp/xprobe.tar.gz")
    return root


def inside(root, *command):
    """Runs a command in that root, with /proc, /sys and /dev of this machine bound into a mount namespace of its own."""
    script = 'for place in proc sys dev; do mount --rbind "/$place" "$0/$place"; done; exec chroot "$0" "$@"'
    return package.run("unshare", "-m", "sh", "-ec", script, root, "/bin/env", "-i", "PATH=/usr/local/bin:/bin", "TMPDIR=/tmp",
                       *command)


def test_in_an_empty_root_it_installs_answers_upgrades_and_leaves_nothing():
    xp.need_bpf()
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        root = scratch_root(folder)
        inside(root, "tar", "-xzf", "/tmp/xprobe.tar.gz", "-C", "/tmp")
        unpacked = next(path for path in (root / "tmp").glob("xprobe-*") if path.is_dir())
        installer = f"/tmp/{unpacked.name}/install.sh"
        before = package.files_below(root / "usr")
        inside(root, installer)
        package.first_answer(lambda *words: inside(root, "xprobe", *words))
        # An upgrade removes what the older release had and this one has not.
        stale = root / "usr/local/share/xprobe/schemas/of-an-older-release.json"
        stale.write_text("{}")
        manifest = root / "usr/local/share/xprobe/manifest"
        manifest.write_text(manifest.read_text() + "share/xprobe/schemas/of-an-older-release.json\n")
        mine = root / "usr/local/share/xprobe/mine"
        mine.write_text("a file of the user")
        inside(root, installer)
        assert not stale.exists() and mine.exists() and (root / "usr/local/bin/xprobe").exists()
        mine.unlink()
        assert os.stat(root / "usr/local/bin/xprobe").st_mode & 0o777 == 0o755
        inside(root, installer, "--uninstall")
        assert package.files_below(root / "usr") == before, package.files_below(root / "usr")


def test_a_damaged_archive_is_refused_before_a_file_is_written():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        package.run("tar", "-xzf", package.file("xprobe-*-x86_64.tar.gz"), "-C", folder)
        unpacked = next(pathlib.Path(folder).glob("xprobe-*"))
        with open(unpacked / "share/doc/xprobe/README.md", "a", encoding="utf-8") as page:
            page.write("one more line\n")
        prefix = pathlib.Path(folder) / "prefix"
        done = subprocess.run([unpacked / "install.sh", "--prefix", prefix], capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "MANIFEST" in done.stderr, done
        assert not prefix.exists()


def test_checksums_cover_every_file():
    archive = package.file("xprobe-*-x86_64.tar.gz")
    listed = dict(reversed(line.split("  ")) for line in (package.DIST / "SHA256SUMS").read_text().splitlines())
    assert archive.name in listed and set(listed) == {path.name for path in package.DIST.iterdir()} - {"SHA256SUMS"}
    package.run("sha256sum", "-c", "SHA256SUMS", cwd=package.DIST)


def test_sizes_stay_in_their_budgets_and_old_systems_can_run_it():
    with tempfile.TemporaryDirectory() as folder:
        package.run("tar", "-xzf", package.file("xprobe-*-x86_64.tar.gz"), "-C", folder)
        root = next(pathlib.Path(folder).glob("xprobe-*"))
        assert (root / "bin/xprobe").stat().st_size <= 4 << 20
        assert (root / "lib/xprobe/libxprobe-agent.so").stat().st_size <= 256 << 10
        for file, limit in (("bin/xprobe", None), ("lib/xprobe/libxprobe-agent.so", (2, 17))):
            found = {tuple(map(int, version.split("."))) for version in re.findall(r"GLIBC_([\d.]+)", package.run("objdump", "-T", root / file))}
            assert found, file
            if limit:
                assert max(found) <= limit, f"{file} needs glibc {max(found)}"
            else:
                print(f"bin/xprobe needs glibc {'.'.join(map(str, max(found)))}")
        licenses = {path.name for path in (root / "share/doc/xprobe/licenses").iterdir()}
        assert {"libbpf", "libelf", "libjansson", "libpcre2", "libzydis"} <= licenses, licenses


if __name__ == "__main__":
    xp.main()
