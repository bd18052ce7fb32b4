# SPDX-License-Identifier: Apache-2.0
# bash completion of xprobe, made from its command tables by `make generate`.
_xprobe() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} flags
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "discover doctor mcp measure validate --help --version" -- "$cur")
		return
	fi
	case $prev in
	--limit|--from|--to|--samples|--duration-ms|--timeout-ms|--max-events|--max-groups|--name|--frequency-hz|--max-samples|--stack-depth|--max-threads|--max-inflight|--min-block-us|--threads|--max-cost|--max-unmatched|--cuda-major)
		COMPREPLY=()
		return
		;;
	--input|--spec|--events-out|--agent)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--pid)
		mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur")
		return
		;;
	--match)
		mapfile -t COMPREPLY < <(compgen -W "exact first-after nearest stack-nested stream-order" -- "$cur")
		return
		;;
	--format)
		mapfile -t COMPREPLY < <(compgen -W "chrome folded html jsonl speedscope" -- "$cur")
		return
		;;
	--evidence)
		mapfile -t COMPREPLY < <(compgen -W "summary full" -- "$cur")
		return
		;;
	esac
	case ${COMP_WORDS[1]} in
	discover) flags="--pid --limit" ;;
	doctor) flags="" ;;
	mcp) flags="" ;;
	measure) flags="--pid --input --spec --from --to --match --samples --duration-ms --timeout-ms --max-events --max-groups --name --aggregate --cpu-sample --syscall-aggregate --triage --frequency-hz --max-samples --stack-depth --max-threads --max-inflight --off-cpu --min-block-us --tree --threads --events-out --format --evidence --agent --max-cost --max-unmatched --cuda-major --records-only --allow-cxx-return" ;;
	validate) flags="--pid --from --to --match --cpu-sample --off-cpu --syscall-aggregate --spec --triage --tree --threads --agent --cuda-major --records-only --allow-cxx-return" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$flags --json --human --no-color --non-interactive --help --version" -- "$cur")
}
complete -F _xprobe xprobe
