#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the headers of CUPTI 12 from PyPI into .cache/cupti12, for tests/contract/cupti_abi.py alone. Without pip or network: nothing.
set -uo pipefail
cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/cupti12
[ -e "$cache/nvidia/cuda_cupti/include/cupti.h" ] && exit 0
command -v python3 >/dev/null && python3 -m pip --version >/dev/null 2>&1 || exit 0
wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
mkdir -p "$cache"
python3 -m pip download -q --no-deps -d "$wheel" nvidia-cuda-cupti-cu12 >/dev/null 2>&1 &&
	python3 -c 'import glob, sys, zipfile
for path in glob.glob(sys.argv[1] + "/*.whl"):
    wheel = zipfile.ZipFile(path)
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if "/include/" in name])' "$wheel" "$cache" &&
	echo "setup: headers of CUPTI 12 for the layout test" || echo "setup: no headers of CUPTI 12; the layout test uses the toolkit's alone"
exit 0
