#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every lint, each to its end; exit 1 when one found something.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=()
lint() {
	echo "-- $*"
	"$@" || failed+=("$1")
}
second_compiler() {
	cmake --preset fuzz >/dev/null && cmake --build build-fuzz >/dev/null 2>&1 || { cmake --build build-fuzz -- -k 0 2>&1 | grep -E 'error|warning' | head -40; return 1; }
}
lint tests/lint/source.py
lint tests/lint/format.sh
lint second_compiler
lint tests/lint/add_one.py
[ ${#failed[@]} -eq 0 ] || { echo "lint: failed: ${failed[*]}"; exit 1; }
echo "lint: clean"
