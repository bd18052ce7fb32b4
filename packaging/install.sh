#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the release that this file lies in, upgrades an older one, or takes it away again. Needs no network, only a POSIX shell with
# sha256sum. Every file is checked against MANIFEST before the first one is written, and replaces its predecessor in one step.
set -eu
usage() {
	cat <<'USAGE'
usage: install.sh [--prefix DIR] [--destdir DIR] [--uninstall]

  --prefix DIR    where to install (/usr/local)
  --destdir DIR   a root that is put before the prefix (packagers)
  --uninstall     remove what an installation there has written, nothing else
USAGE
}
fail() { echo "install: $*" >&2; exit 1; }

here=$(cd "$(dirname "$0")" && pwd)
prefix=/usr/local destdir= uninstall=
while [ $# -gt 0 ]; do
	case $1 in
	--prefix | --destdir)
		[ $# -ge 2 ] || { usage >&2; fail "$1 wants a folder"; }
		case $2 in /*) ;; *) fail "$1 wants an absolute path, not $2" ;; esac
		if [ "$1" = --prefix ]; then prefix=$2; else destdir=$2; fi
		shift 2 ;;
	--uninstall) uninstall=yes; shift ;;
	--help | -h) usage; exit 0 ;;
	*) usage >&2; fail "unknown argument $1" ;;
	esac
done
root=$destdir$prefix
installed=$root/share/xprobe/manifest

# The manifest of an installation: a path below the prefix a line; a folder that the installation made ends in "/".
# Removes what stdin lists, files first, then the folders that are empty by then, the deepest first.
remove() {
	LC_ALL=C sort -r | while read -r path; do
		case /$path/ in */../*) fail "$installed names $path; nothing more was removed" ;; esac
		case $path in
		*/) rmdir "$root/$path" 2>/dev/null || true ;;
		?*) rm -f "$root/$path" ;;
		esac
	done
}

# Makes the folder of a path below the prefix, and tells every folder that was not there.
make_folder() {
	[ "$1" = . ] || [ -d "$root/$1" ] && return 0
	make_folder "$(dirname "$1")"
	mkdir "$root/$1" && echo "$1/"
}

if [ -n "$uninstall" ]; then
	[ -f "$installed" ] || fail "no installation below $root ($installed is not there)"
	list=$(cat "$installed")
	rm -f "$installed"
	printf '%s\n' "$list" | remove
	echo "install: removed xprobe from $root"
	exit 0
fi

cd "$here"
[ -f MANIFEST ] || fail "MANIFEST is not beside install.sh: run it from the unpacked archive"
sha256sum -c MANIFEST >/dev/null 2>&1 || fail "files do not match MANIFEST: unpack the archive again (sha256sum -c MANIFEST names them)"
./bin/xprobe --version >/dev/null 2>&1 || fail "bin/xprobe does not run here: it takes x86_64 and glibc 2.34 or newer"
mkdir -p "$root" 2>/dev/null && [ -w "$root" ] || fail "$root cannot be written: use sudo, or --prefix with a folder of yours"

paths=$(sed 's/^[0-9a-f]*  //' MANIFEST)
folders=$(printf '%s\nshare/xprobe/manifest\n' "$paths" | while read -r path; do make_folder "$(dirname "$path")"; done)
printf '%s\n' "$paths" | while read -r path; do
	cp -p "$path" "$root/$path.new" && mv -f "$root/$path.new" "$root/$path" || { rm -f "$root/$path.new"; fail "cannot write $root/$path"; }
done
# An older release's folders stay in the list; the files that this one does not have go.
{ printf '%s\n' "$paths" "$folders"; [ ! -f "$installed" ] || grep '/$' "$installed"; } | LC_ALL=C sort -u | grep . >"$installed.new"
[ ! -f "$installed" ] || { grep -vxF -f "$installed.new" "$installed" || true; } | remove
mv -f "$installed.new" "$installed"
echo "install: $("$root/bin/xprobe" --version) in $root; --uninstall takes it away again"
