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

# Everybody may read and run what root installs, and nobody but root may write it: the unpacked files are of who unpacked them.
umask 022
unset CDPATH
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
# Both read such lines. Files first; then the folders that are empty by then, the deepest first.
remove_files() {
	while read -r path; do
		case $path in
		*/ | '') ;;
		*) rm -f "$root/$path" || fail "cannot remove $root/$path; the rest is still there" ;;
		esac
	done
}
remove_folders() {
	LC_ALL=C sort -r | while read -r path; do
		case $path in ?*/) rmdir "$root/$path" 2>/dev/null || true ;; esac
	done
}
# An installation's list is believed only when it stays below the prefix.
check_list() {
	if sed 's,.*,/&/,' "$installed" | grep -q '/\.\./'; then fail "$installed names a path outside of $root; nothing was removed"; fi
}

# Makes the folder of a path below the prefix, and tells every folder that was not there.
make_folder() {
	[ "$1" = . ] || [ -d "$root/$1" ] && return 0
	make_folder "$(dirname "$1")"
	mkdir "$root/$1" && echo "$1/"
}

if [ -n "$uninstall" ]; then
	[ -f "$installed" ] || fail "no installation below $root ($installed is not there)"
	check_list
	list=$(cat "$installed")
	printf '%s\n' "$list" | remove_files
	rm -f "$installed"
	printf '%s\n' "$list" | remove_folders
	echo "install: removed xprobe from $root"
	exit 0
fi

cd "$here"
[ -f MANIFEST ] || fail "MANIFEST is not beside install.sh: run it from the unpacked archive"
sha256sum -c MANIFEST >/dev/null 2>&1 || fail "files do not match MANIFEST: unpack the archive again (sha256sum -c MANIFEST names them)"
./bin/xprobe --version >/dev/null 2>&1 || fail "bin/xprobe does not run here: it takes x86_64 and glibc 2.34 or newer"
mkdir -p "$root" 2>/dev/null && [ -w "$root" ] || fail "$root cannot be written: use sudo, or --prefix with a folder of yours"

[ ! -f "$installed" ] || check_list

paths=$(sed 's/^[0-9a-f]*  //' MANIFEST)
folders=$(printf '%s\nshare/xprobe/manifest\n' "$paths" | while read -r path; do make_folder "$(dirname "$path")"; done)
# Until every file is there the list has those of both releases, so that what a failure leaves can be taken away. An older release's folders
# stay in it; the files that this release does not have go.
old=$([ ! -f "$installed" ] || cat "$installed")
write_list() { LC_ALL=C sort -u | grep . >"$installed.new" && mv -f "$installed.new" "$installed"; }
printf '%s\n' "$paths" "$folders" "$old" | write_list || fail "cannot write $installed"
printf '%s\n' "$paths" | while read -r path; do
	mode=644
	[ ! -x "$path" ] || mode=755
	[ ! -d "$root/$path" ] || fail "$root/$path is a folder"
	cp "$path" "$root/$path.new" && chmod "$mode" "$root/$path.new" && mv -f "$root/$path.new" "$root/$path" ||
		{ rm -f "$root/$path.new"; fail "cannot write $root/$path"; }
done
{ printf '%s\n' "$paths" "$folders"; printf '%s\n' "$old" | grep '/$' || true; } | write_list
printf '%s\n' "$old" | grep -vxF -f "$installed" | remove_files
echo "install: $("$root/bin/xprobe" --version) in $root; --uninstall takes it away again"
