#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cupti_old.sh FOLDER: fetches the libcupti of CUDA 12.6, 12.8, 12.9 and 13.0 from PyPI for tests/gpu/cupti_versions.py; prints XP_CUPTI_LIBS.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd)
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
for wheel in nvidia-cuda-cupti-cu12==12.6.80 nvidia-cuda-cupti-cu12==12.8.90 nvidia-cuda-cupti-cu12==12.9.79 nvidia-cuda-cupti==13.0.48; do
	python3 -m pip download -q --no-deps --only-binary=:all: --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
		--platform manylinux_2_25_x86_64 -d "$wheels" "$wheel" >&2
done
python3 -c 'import glob, os, sys, zipfile
paths = []
for wheel in sorted(glob.glob(sys.argv[1] + "/*.whl")):
    version = os.path.basename(wheel).split("-")[1]
    with zipfile.ZipFile(wheel) as files:
        name = next(name for name in files.namelist() if os.path.basename(name).startswith("libcupti.so"))
        path = os.path.join(sys.argv[2], version, os.path.basename(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as out:
            out.write(files.read(name))
        paths.append(path)
print("XP_CUPTI_LIBS=" + ":".join(paths))' "$wheels" "$folder"
