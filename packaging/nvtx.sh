#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the NVTX headers of CUDA 12 and 13 from PyPI into .cache/nvtx/12 and 13, for tests alone. Without pip or network: nothing.
set -uo pipefail
cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/nvtx
command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || exit 0

fetch() {
	local major=$1 package=$2 wheel
	[ -e "$cache/$major/nvtx3/nvToolsExt.h" ] && return 0
	wheel=$(mktemp -d)
	mkdir -p "$cache/$major"
	python3 -m pip download -q --no-deps --platform manylinux2014_x86_64 --only-binary=:all: -d "$wheel" "$package" >/dev/null 2>&1 &&
		python3 -c 'import glob, os, sys, zipfile
for path in glob.glob(sys.argv[1] + "/*.whl"):
    wheel = zipfile.ZipFile(path)
    for name in wheel.namelist():
        if "/include/nvtx3/" in name and not name.endswith("/"):
            to = os.path.join(sys.argv[2], name.split("/include/", 1)[1])
            os.makedirs(os.path.dirname(to), exist_ok=True)
            open(to, "wb").write(wheel.read(name))' "$wheel" "$cache/$major"
	rm -rf "$wheel"
	[ -e "$cache/$major/nvtx3/nvToolsExt.h" ]
}
fetch 12 nvidia-nvtx-cu12==12.9.79 && fetch 13 nvidia-nvtx==13.5.25 || echo "setup: no headers of NVTX; the tests that build with them will say SKIP"
exit 0
