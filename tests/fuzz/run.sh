#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzzer (clang, address and undefined-behaviour sanitizers) and runs each from its seeds in tests/fuzz/seeds/NAME for $1 seconds, those
# that read what a foreign process maps for $2.
set -euo pipefail
cd "$(dirname "$0")/../.."
short=${1:-10} long=${2:-${1:-10}}
cmake --preset fuzz >/dev/null
cmake --build build-fuzz
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ran=0
for source in tests/fuzz/*.c; do
	[ -e "$source" ] || continue
	name=$(basename "$source" .c)
	case $name in
	eh_frame | elf_image | nvtx | perf_map | python_lines) seconds=$long ;;
	*) seconds=$short ;;
	esac
	mkdir "$scratch/$name"
	seeds=()
	[ -d "tests/fuzz/seeds/$name" ] && seeds=("tests/fuzz/seeds/$name")
	echo "fuzz $name: $seconds s"
	if ! "build-fuzz/tests/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$scratch/" "$scratch/$name" "${seeds[@]}" >"$scratch/log" 2>&1; then
		tail -40 "$scratch/log"
		for input in "$scratch"/crash-* "$scratch"/timeout-* "$scratch"/oom-*; do [ -e "$input" ] && { echo "input in base64:"; base64 "$input"; }; done
		echo "fuzz $name: FAILED"
		exit 1
	fi
	sed -n 's/^stat::number_of_executed_units: */  runs: /p' "$scratch/log"
	ran=$((ran + 1))
done
echo "fuzz: $ran fuzzers, no failure"
