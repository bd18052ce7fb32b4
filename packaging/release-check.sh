#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a release must pass, step by step, on a clean clone of what is committed. In: the source tree; as root, for the live tests. Out: a line a
# step with its seconds, then the sizes, the word counts and the time from clone to the first answer. Exit 1 names the step that failed.
set -uo pipefail
cd "$(dirname "$0")/.."
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "release: commit first" >&2; exit 1; }
clone=$(mktemp -d)
log=$clone/log
finish() { cd / && rm -rf "$clone"; }
trap finish EXIT
chmod 755 "$clone"
begin=$SECONDS
step() {
	local name=$1 started=$SECONDS
	shift
	if ! "$@" >"$log" 2>&1 </dev/null; then
		tail -40 "$log"
		echo "release: FAILED at: $name" >&2
		exit 1
	fi
	printf 'release: %-34s %5d s\n' "$name" $((SECONDS - started))
}
first_answer() { build/xprobe measure --pid $$ --triage --duration-ms 1000 --json | grep -q '"findings"'; }

step "clean clone" git clone -q . "$clone/xprobe"
cd "$clone/xprobe"
step "setup" make setup
step "build" make build
step "first answer" first_answer
printf 'release: %-34s %5d s\n' "from clone to the first answer" $((SECONDS - begin))
step "archive, package, wheel" make dist
grep '^dist:' "$log"
step "installs, answers, leaves nothing" tests/run.py build package
grep '^SKIP' "$log"
step "words, flags, schemas, links" tests/run.py build contract
step "lint" make lint
step "every test" make test
tail -1 "$log"
wc -w skills/xprobe-measure-latency/SKILL.md | awk '{ print "release: SKILL.md has " $1 " words" }'
git status --porcelain | grep . && { echo "release: the build changed tracked files or left others" >&2; exit 1; }
echo "release: everything holds for $(build/xprobe --version)"
