#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs every executable of bench/ on build/xprobe, one after the other. Each prints ratios of things measured side by side; exit 77 is a skip.
set -uo pipefail
cd "$(dirname "$0")/.."
export XPROBE=$PWD/build/xprobe XP_BUILD_DIR=$PWD/build XP_SOURCE_DIR=$PWD PYTHONPATH=$PWD/tests/lib
missed=0
for program in bench/*; do
	[ -f "$program" ] && [ -x "$program" ] && [ "$program" != bench/run.sh ] || continue
	echo "== $(basename "$program")"
	"$program" </dev/null
	status=$?
	[ $status -eq 0 ] || [ $status -eq 77 ] || { missed=$((missed + 1)); echo "$(basename "$program"): outside its budget or failed (exit $status)"; }
done
echo "bench: $missed outside their budget"
[ $missed -eq 0 ]
