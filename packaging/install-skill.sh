#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the agent skill where agents look. In: a folder of skills, or nothing: then every usual folder of this user whose parent exists.
set -eu
unset CDPATH
name=xprobe-measure-latency
here=$(cd "$(dirname "$0")" && pwd)
for source in "$here/../skills/$name" "$here/share/xprobe/skills/$name" "$here/../share/xprobe/skills/$name"; do
	[ -f "$source/SKILL.md" ] && break
done
[ -f "$source/SKILL.md" ] || { echo "install-skill: no $name near $here" >&2; exit 1; }
case ${1:-} in
--help | -h) echo "usage: install-skill.sh [FOLDER]"; exit 0 ;;
esac

put() {
	mkdir -p "$1"
	new=$(mktemp -d "$1/.$name.XXXXXX")
	cp -r "$source/." "$new/"
	chmod 755 "$new"
	rm -rf "${1:?}/$name"
	mv "$new" "$1/$name"
	echo "install-skill: $1/$name"
}
if [ $# -gt 0 ]; then
	put "$1"
	exit 0
fi
found=
for folder in "$HOME/.claude" "$HOME/.codex" "$HOME/.agents" "$HOME/.config/agents"; do
	[ -d "$folder" ] || continue
	found=yes
	put "$folder/skills"
done
[ -n "$found" ] || { echo "install-skill: none of the usual folders is below $HOME; name one: install-skill.sh FOLDER" >&2; exit 1; }
