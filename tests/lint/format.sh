#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# clang-format 14 decides the layout of C files; other versions lay out some lines differently and are not asked. `fix` writes, default checks.
set -euo pipefail
cd "$(dirname "$0")/../.."
format=
for name in clang-format-14 clang-format; do
	command -v "$name" >/dev/null && "$name" --version | grep -q 'version 14\.' && { format=$name; break; }
done
if [ -z "$format" ]; then
	echo "SKIP format: wants clang-format 14"
	exit 0
fi
files=()
while IFS= read -r -d '' name; do
	[ -f "$name" ] && files+=("$name")
done < <(git ls-files -z --cached --others --exclude-standard -- '*.c' '*.h' '*.cc' '*.cpp')
if [ "${1:-}" = fix ]; then
	"$format" -i "${files[@]}"
	exit
fi
bad=$("$format" --dry-run -Werror "${files[@]}" 2>&1 | grep -E ': error:' | cut -d: -f1 | sort | uniq -c || true)
if [ -n "$bad" ]; then
	echo "$bad"
	echo "format: \`make format\` mends these"
	exit 1
fi
echo "format: ${#files[@]} files"
