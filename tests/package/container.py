# SPDX-License-Identifier: Apache-2.0
"""The container file makes an image whose `xprobe doctor` answers. Wants a builder of images and the base image, from a registry or at hand."""
import json
import shutil
import subprocess

import package
import xp

IMAGE = "localhost/xprobe-test"


BUILDAH = ["buildah", "--storage-driver", "vfs"]


def builder():
    """-> how to call the first builder that works here, and the options it builds with."""
    for name in ("podman", "docker"):
        if shutil.which(name) and subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0:
            return [name], []
    if shutil.which("buildah"):
        return BUILDAH, ["--isolation", "chroot"]
    raise xp.Skip("no builder of images works here (buildah, podman, docker)")


def doctor(tool):
    """Stdout of `xprobe doctor` inside the image."""
    if tool != BUILDAH:
        return package.run(*tool, "run", "--rm", "--privileged", IMAGE, "xprobe", "doctor", "--json")
    work = package.run(*tool, "from", IMAGE).strip()
    try:
        return package.run(*tool, "run", "--isolation", "chroot", work, "xprobe", "doctor", "--json")
    finally:
        subprocess.run([*tool, "rm", work], capture_output=True, check=False)


def test_the_image_runs_doctor():
    xp.need_root()
    package.file("xprobe-*-x86_64.tar.gz")
    tool, options = builder()
    command = [*tool, "build", *options, "-t", IMAGE, "-f", str(xp.SOURCE / "packaging/Containerfile"), str(package.DIST)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=200)
    if done.returncode != 0 and any(word in done.stderr for word in ("pinging container registry", "no such host", "toomanyrequests", "i/o timeout")):
        raise xp.Skip("the base image cannot be pulled here")
    assert done.returncode == 0, done.stderr[-3000:]
    try:
        assert json.loads(doctor(tool))["ok"] is True
    finally:
        subprocess.run([*tool, "rmi", IMAGE], capture_output=True, check=False)


if __name__ == "__main__":
    xp.main()
