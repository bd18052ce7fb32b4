#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Profiles the bundled slow server in two commands, the way xprobe is meant to be used on a process that nobody has looked into, and a slow
# Python program in one. In: build/. Out: human reports, each behind one line that explains it, and one of them as a page, build/demo-report.html.
# Leaves nothing running and nothing else on disk.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
pids=()
finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT TERM
export TMPDIR=$scratch
build=${XP_BUILD_DIR:-build}
xprobe=$build/xprobe
say() { printf '\n\033[1m%s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
show() { # a command as a reader would type it, then its report
	printf '$ %s\n\n' "${*/$scratch/\$TMPDIR}"
	"$@" --human
}

# Three steps of a request, between system calls that both ends of a step share; the target is the one of the proposed spec.
write_graph() {
	python3 - "$next" >"$scratch/request.json" <<-'PYTHON'
	import json, sys
	print(json.dumps({
	    "schema_version": "3.0", "name": "request", "target": json.load(open(sys.argv[1]))["target"],
	    "endpoints": {"arrived": "syscall:read:exit", "asked": "syscall:recvfrom:entry", "allowed": "syscall:recvfrom:exit",
	                  "answered": "syscall:sendto:entry"},
	    "edges": [{"name": "ask", "start": "arrived", "end": "asked", "match_policy": "first_after"},
	              {"name": "permission", "start": "asked", "end": "allowed", "match_policy": "exact"},
	              {"name": "page", "start": "allowed", "end": "answered", "match_policy": "first_after"}],
	    "samples": 100, "duration_ms": None, "timeout_ms": 20000, "max_events": 10000}))
	PYTHON
}

show_python() {
	python3 demo/report.py 60 &
	pids+=("$!")
	sleep 1
	say "$1. The shop's nightly report (pid $!, Python) takes a whole CPU. Which line is it?"
	show $xprobe measure --pid $! --triage --duration-ms 1000
	say "Nearly all of it is one line of also_bought() in demo/report.py: it searches a list where a set would know."
}

socket=xprobe-demo-$$
$build/demo/demo_server "$socket" >"$scratch/ready" &
server=$!
pids+=("$server")
for _ in $(seq 50); do [ -s "$scratch/ready" ] && break; sleep 0.1; done
grep -q ready "$scratch/ready" || { echo "the demo server did not start" >&2; exit 1; }
for _ in 1 2; do
	$build/demo/demo_client "$socket" 60 >/dev/null &
	pids+=("$!")
done
sleep 1

say "A shop server (pid $server) renders pages for two clients, and is slower than it should be. Nobody knows why."
if [ "$(id -u)" -ne 0 ]; then
	say "Without root: what this user may see, and the least change that shows more."
	show $xprobe doctor
fi

say "1. Where did two seconds of its time go? Findings are ranked by the share of the window that they held the program up."
page=()
[ -w "$build" ] && page=(--events-out "$build/demo-report.html")
show $xprobe measure --pid $server --triage --duration-ms 2000 "${page[@]}"

# The index of the triage names the specs that its findings propose, best first.
next=$(python3 -c 'import glob, json, sys
for index in glob.glob(sys.argv[1] + "/xprobe-*/triage.json"):
    for spec in json.load(open(index))["specs"][:1]:
        print(spec["path"])' "$scratch")
if [ -z "$next" ]; then
	say "No finding came with a measurement: its sources were not to be had here (see the lines under \"not told\"). As root there is a second step."
	show_python 2
	exit 0
fi
say "2. The best finding comes with a measurement that is ready to run. Every call is timed, none is sampled:"
show $xprobe measure --spec "$next"
say "The server waits for its permission service: most answers take 2 to 5 ms, one user in thirty-one 25 ms. See authorize() in demo/server.c."
write_graph
say "3. Is that all of a request? Three of its steps, measured between events that they share, in one capture:"
show $xprobe measure --spec "$scratch/request.json"
show_python 4
[ ${#page[@]} -eq 0 ] || say "The first report as a page, with flame graphs, without network: $(realpath "$build")/demo-report.html"
