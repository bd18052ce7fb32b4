#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dist/xprobe_VERSION_amd64.deb out of a staged release. In: STAGE VERSION GLIBC (the least that the files ask for).
set -euo pipefail
stage=$1 version=$2 glibc=$3
if ! command -v dpkg-deb >/dev/null; then
	echo "deb: no dpkg-deb here, no Debian package" >&2
	exit 0
fi
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
mkdir -p "$root/usr" "$root/DEBIAN"
cp -r "$stage"/bin "$stage"/lib "$stage"/share "$root/usr/"
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
gzip -9n "$root/usr/share/man/man1/xprobe.1"
cp "$root/usr/share/doc/xprobe/LICENSE" "$root/usr/share/doc/xprobe/copyright"
chmod -R u=rwX,go=rX "$root/usr"
cat >"$root/DEBIAN/control" <<CONTROL
Package: xprobe
Version: $version
Architecture: amd64
Maintainer: The xprobe developers <xprobe@invalid>
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Depends: libc6 (>= $glibc)
Section: devel
Priority: optional
Description: bounded profiler for live processes and NVIDIA GPUs
 Attaches to a process that runs, with nothing prepared, ranks what holds it
 up, and measures exact latencies between two of its events.
CONTROL
(cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum >DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz --build "$root" "dist/xprobe_${version}_amd64.deb" >/dev/null
