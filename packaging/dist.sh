#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A release. In: the source tree. Out: dist/ with the archive, the Debian package, the Python wheel and their checksums. libbpf and friends are
# linked in; Zydis, packaged as a shared library only, lies in lib/xprobe. Says which glibc it takes: a symbol newer than 2.34 is told, and
# fails with XPROBE_DIST_STRICT=1 (a build on a system of that age or older has none).
set -euo pipefail
cd "$(dirname "$0")/.."
limit=2.34
shopt -s nullglob
cmake --preset release >/dev/null
cmake --build build-release --target xprobe xprobe-agent
version=$(build-release/xprobe --version | cut -d' ' -f2)
name=xprobe-$version-x86_64
stage=build-release/stage/$name
rm -rf dist
mkdir dist
packaging/stage.sh "$stage"

# Which symbol asks for more than the limit, per file; the highest version that any asks for.
needs() {
	for file in "$stage/bin/xprobe" "$stage"/lib/xprobe/libZ*.so*; do
		objdump -T "$file" | sed -n "s,.*GLIBC_\([0-9.]*\))\? *\([A-Za-z_0-9]*\)\$,\1 $(basename "$file") \2,p" | sort -u
	done
}
newest=$(needs | cut -d' ' -f1 | sort -V | tail -1)
glibc=$(printf '%s\n%s\n' "$limit" "$newest" | sort -V | tail -1)

tar -C build-release/stage --sort=name --owner=0 --group=0 --numeric-owner -czf "dist/$name.tar.gz" "$name"
packaging/deb.sh "$stage" "$version" "$glibc"
packaging/wheel.sh "$stage" "$version" "$glibc"
(cd dist && sha256sum -- * >SHA256SUMS)
for file in dist/*.*; do
	[ "$file" = dist/SHA256SUMS ] || echo "dist: $file, $(stat -c %s "$file") bytes"
done
echo "dist: xprobe $(stat -c %s "$stage/bin/xprobe") bytes, agent $(stat -c %s "$stage/lib/xprobe/libxprobe-agent.so") bytes, glibc $glibc or newer"
if [ "$glibc" != "$limit" ]; then
	echo "dist: this build system's glibc binds symbols above $limit, so the release asks for a newer one:"
	needs | awk -v limit="$limit" '{ split($1, v, "."); split(limit, l, "."); if (v[2] + 0 > l[2] + 0) print "  " $2 ": " $3 " needs glibc " $1 }'
	[ "${XPROBE_DIST_STRICT:-}" != 1 ]
fi
