#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist/xprobe-VERSION-py3-none-manylinux_*.whl out of a staged release: the same binary and agent, put into an environment by pip.
# In: STAGE VERSION GLIBC. The package `wheel` writes the archive and its record.
set -euo pipefail
stage=$1 version=$2 glibc=$3
python=
for candidate in python3 /usr/bin/python3; do
	if "$candidate" -c 'import wheel' 2>/dev/null; then python=$candidate; break; fi
done
if [ -z "$python" ]; then
	echo "wheel: no Python package wheel here (python3-wheel), no wheel" >&2
	exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
data=$root/xprobe-$version.data
info=$root/xprobe-$version.dist-info
mkdir -p "$data/scripts" "$data/data/share/man" "$info/licenses"
cp "$stage/bin/xprobe" "$data/scripts/"
cp -r "$stage/lib" "$data/data/"
cp -r "$stage/share/xprobe" "$data/data/share/"
cp -r "$stage/share/man/man1" "$data/data/share/man/"
cp "$stage/share/doc/xprobe/LICENSE" "$stage"/share/doc/xprobe/licenses/* "$info/licenses/"
cat >"$info/METADATA" <<METADATA
Metadata-Version: 2.1
Name: xprobe
Version: $version
Summary: bounded profiler for live processes and NVIDIA GPUs
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Requires-Python: >=3.8
Description-Content-Type: text/markdown

METADATA
cat "$stage/share/doc/xprobe/README.md" >>"$info/METADATA"
cat >"$info/WHEEL" <<WHEEL
Wheel-Version: 1.0
Generator: xprobe-packaging
Root-Is-Purelib: false
Tag: py3-none-manylinux_${glibc/./_}_x86_64
WHEEL
"$python" -m wheel pack --dest-dir dist "$root" >/dev/null
