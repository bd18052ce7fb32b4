#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Release archive. In: the source tree. Out: dist/xprobe-VERSION-x86_64.tar.gz with bin/, lib/xprobe/, share/. libbpf and friends are linked
# in; Zydis, packaged as a shared library only, lies in lib/xprobe. Says which glibc it takes, and fails when a symbol newer than 2.34 is one
# that a build on an older system would have avoided.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=2.34
shopt -s nullglob
cmake --preset release >/dev/null
cmake --build build-release --target xprobe xprobe-agent
version=$(build-release/xprobe --version | cut -d' ' -f2)
name=xprobe-$version-x86_64
stage=build-release/stage/$name
rm -rf build-release/stage
mkdir -p "$stage/bin" "$stage/lib/xprobe" "$stage/share/doc/xprobe" "$stage/share/xprobe" dist
install -m 755 build-release/xprobe "$stage/bin/xprobe"
strip "$stage/bin/xprobe"
install -m 755 build-release/libxprobe-agent.so "$stage/lib/xprobe/libxprobe-agent.so"
strip "$stage/lib/xprobe/libxprobe-agent.so"
cp README.md LICENSE docs/*.md "$stage/share/doc/xprobe/"
cp -r schemas "$stage/share/xprobe/"
# The terms of what is linked in or bundled, as its package states them.
mkdir "$stage/share/doc/xprobe/licenses"
for package in libbpf-dev libelf-dev libjansson-dev libpcre2-dev zlib1g-dev liblzma-dev libzstd-dev libiberty-dev libzydis-dev; do
	if [ -r "/usr/share/doc/$package/copyright" ]; then
		cp -L "/usr/share/doc/$package/copyright" "$stage/share/doc/xprobe/licenses/${package%-dev}"
	else
		echo "dist: no copyright file of $package here" >&2
	fi
done

# Shared objects that are not part of glibc and not the kernel's travel with the tool.
while read -r library path; do
	case $library in
	libc.so.* | libm.so.* | ld-linux-* | linux-vdso.*) ;;
	libZydis.so.* | libZycore.so.*) install -m 644 "$(readlink -f "$path")" "$stage/lib/xprobe/$library" ;;
	*) echo "dist: $library is not linked in and not bundled" >&2; exit 1 ;;
	esac
done < <(ldd "$stage/bin/xprobe" | awk '$2 == "=>" { print $1, $3 } $2 != "=>" { print $1, $1 }' | sed 's,^/.*/,,')
LD_LIBRARY_PATH= "$stage/bin/xprobe" --version >/dev/null

# Which symbol asks for more than the limit, per file.
newer=$(for file in "$stage/bin/xprobe" "$stage"/lib/xprobe/*.so*; do
	objdump -T "$file" | sed -n 's/.*GLIBC_\([0-9.]*\))\? *\([A-Za-z_0-9]*\)$/\1 \2/p' | sort -u | while read -r need symbol; do
		[ "$(printf '%s\n%s\n' "$limit" "$need" | sort -V | tail -1)" = "$limit" ] || echo "  $(basename "$file"): $symbol needs glibc $need"
	done
done)
tar -C build-release/stage --sort=name --owner=0 --group=0 --numeric-owner -czf "dist/$name.tar.gz" "$name"
(cd dist && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "dist: dist/$name.tar.gz, $(stat -c %s "dist/$name.tar.gz") bytes; xprobe $(stat -c %s "$stage/bin/xprobe") bytes"
if [ -n "$newer" ]; then
	echo "dist: this build system's glibc binds symbols above $limit, so the archive asks for a newer one:"
	echo "$newer"
	[ "${XPROBE_DIST_STRICT:-}" != 1 ]
fi
