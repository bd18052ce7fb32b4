#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# minidebug.sh IN OUT: strips IN, and packs the names of its functions that are not exported into section .gnu_debugdata, as distributions do.
set -e
in=$1 out=$2
nm -D "$in" --format=posix --defined-only | awk '{ print $1 }' | sort >"$out.exported"
nm "$in" --format=posix --defined-only | awk '$2 == "T" || $2 == "t" { print $1 }' | sort >"$out.functions"
comm -13 "$out.exported" "$out.functions" >"$out.kept"
objcopy --only-keep-debug "$in" "$out.debug"
objcopy -S --remove-section .comment --keep-symbols="$out.kept" "$out.debug" "$out.mini"
rm -f "$out.mini.xz"
xz --keep "$out.mini"
objcopy --strip-all --add-section .gnu_debugdata="$out.mini.xz" "$in" "$out"
rm -f "$out.exported" "$out.functions" "$out.kept" "$out.debug" "$out.mini" "$out.mini.xz"
