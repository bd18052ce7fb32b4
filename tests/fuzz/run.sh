#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds every fuzzer (clang, address and undefined-behaviour sanitizers) and runs each from its seeds in tests/fuzz/seeds/NAME for $1 seconds, those
# that read what a foreign process maps for $2. As many at a time as there are CPUs.
set -euo pipefail
cd "$(dirname "$0")/../.."
export SHORT=${1:-10} LONG=${2:-${1:-10}}
cmake --preset fuzz >/dev/null
sources=(tests/fuzz/*.c)
names=("${sources[@]#tests/fuzz/}")
names=("${names[@]%.c}")
cmake --build build-fuzz --target "${names[@]/#/fuzz_}"
SCRATCH=$(mktemp -d)
export SCRATCH
trap 'rm -rf "$SCRATCH"' EXIT

one() {
	local name=$1 seconds=$SHORT own=$SCRATCH/$1 seeds=()
	case $name in
	eh_frame | elf_image | nvtx | perf_map | python_lines) seconds=$LONG ;;
	esac
	mkdir -p "$own/corpus"
	[ -d "tests/fuzz/seeds/$name" ] && seeds=("tests/fuzz/seeds/$name")
	if ! "build-fuzz/tests/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$own/" "$own/corpus" "${seeds[@]}" >"$own/log" 2>&1; then
		tail -40 "$own/log"
		for input in "$own"/crash-* "$own"/timeout-* "$own"/oom-*; do [ -e "$input" ] && { echo "input in base64:"; base64 "$input"; }; done
		echo "fuzz $name: FAILED"
		return 1
	fi
	sed -n "s/^stat::number_of_executed_units: */fuzz $name: $seconds s, runs: /p" "$own/log"
}
export -f one

# The long ones first.
printf '%s\n' eh_frame elf_image nvtx perf_map python_lines "${names[@]}" | awk '!seen[$0]++' |
	xargs -P "$(nproc)" -I{} bash -c 'one "$1"' - {} || { echo "fuzz: failed, see above"; exit 1; }
echo "fuzz: ${#sources[@]} fuzzers, no failure"
