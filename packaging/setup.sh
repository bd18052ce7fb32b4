#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs, by package name, what building and testing xprobe needs: Debian and Ubuntu (apt), Fedora (dnf).
# In: `build`, for what building and the demo need alone, or nothing. Out: one line a step; nothing to do is one line. Asks for nothing. Exit 1
# names what is still missing.
set -uo pipefail

# What is looked for | apt package | dnf package | what it is for. "need" must be there, "want" makes a test or benchmark skip.
# cmd: a command   file: a glob of files   pc: a pkg-config module   py: a module of a Python 3
needs() {
	cat <<-'LIST'
	need|cmd:gcc|gcc|gcc|compiler
	need|file:/usr/lib*/libc.so /usr/lib/*/libc.so|libc6-dev|glibc-devel|C library headers
	need|file:/usr/include/linux/bpf.h|linux-libc-dev|kernel-headers|kernel headers
	need|cmd:clang|clang|clang|BPF compiler, second compiler, fuzzers
	need|cmd:llvm-strip|llvm|llvm|stripping of BPF objects
	need|bpftool:|bpftool|bpftool|BPF skeletons
	need|cmd:cmake|cmake|cmake|build
	need|cmd:ninja|ninja-build|ninja-build|build
	need|cmd:make|make|make|entry points
	need|cmd:pkg-config|pkg-config|pkgconf-pkg-config|build
	need|cmd:git|git|git-core|scratch copies in lints
	need|pc:libbpf|libbpf-dev|libbpf-devel|BPF loading
	need|pc:libelf|libelf-dev|elfutils-libelf-devel|ELF files
	need|pc:jansson|libjansson-dev|jansson-devel|JSON input
	need|pc:libpcre2-8|libpcre2-dev|pcre2-devel|regular expressions
	need|file:/usr/include/Zydis/Zydis.h|libzydis-dev|zydis-devel|instruction decoding
	need|file:/usr/include/libiberty/demangle.h|libiberty-dev|binutils-devel|demangling
	need|pc:zlib|zlib1g-dev|zlib-devel|compressed debug sections
	need|pc:liblzma|liblzma-dev|xz-devel|mini debug data
	need|pc:libzstd|libzstd-dev|libzstd-devel|compressed debug sections
	need|pc:cmocka|libcmocka-dev|libcmocka-devel|unit tests
	need|cmd:python3|python3|python3|tests
	need|py:jsonschema|python3-jsonschema|python3-jsonschema|schema checks of every document
	need|cmd:objdump|binutils|binutils|tests, releases
	want|cmd:g++|g++|gcc-c++|C++ test programs
	want|cmd:go|golang-go|golang|Go test programs
	want|cmd:rustc|rustc|rust|Rust test programs
	want|cmd:musl-gcc|musl-tools|musl-gcc|musl test programs
	want|cmd:ld.lld|lld|lld|test programs of another linker
	want|cmd:busybox|busybox-static|busybox|a static program to look at, a scratch root
	want|cmd:strace|strace|strace|a tracer that is in the way
	want|cmd:xz|xz-utils|xz|mini debug data of test programs
	want|cmd:setpriv|util-linux|util-linux|tests without rights
	want|cmd:capsh|libcap2-bin|libcap|tests without rights
	want|chromium:|CHROMIUM|chromium-headless|tests of the html report
	want|cmd:clang-format|clang-format|clang-tools-extra|make lint
	want|cmd:ctags|universal-ctags|ctags|make lint
	want|file:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a /usr/lib/clang/*/lib/*/libclang_rt.fuzzer*.a /usr/lib64/clang/*/lib/*/libclang_rt.fuzzer*.a|FUZZER|compiler-rt|make fuzz
	want|file:/usr/lib/python3*/ensurepip /usr/lib64/python3*/ensurepip|python3-venv|python3|a clean environment for the wheel
	want|cmd:zsh|zsh|zsh|tests of completions
	want|cmd:fish|fish|fish|tests of completions
	want|cmd:mandoc|mandoc|mandoc|test of the manual page
	want|py:pip|python3-pip|python3-pip|what tests take from PyPI
	want|py:wheel|python3-wheel|python3-wheel|make dist
	want|cmd:bpftrace|bpftrace|bpftrace|make bench
	want|perf:|PERF|perf|make bench
	LIST
}

# A wrapper that only prints "not found for this kernel" is no tool: the command must answer.
runs() { "$@" >/dev/null 2>&1; }
tool_of_kernel() {
	local name=$1 path
	for path in "$(command -v "$name")" /usr/sbin/"$name" /usr/lib/linux-tools/*/"$name" /usr/lib/linux-tools-*/"$name"; do
		[ -x "$path" ] && runs "$path" version && return 0
	done
	return 1
}

present() {
	local kind=${1%%:*} what=${1#*:} glob python browser
	case $kind in
	cmd) PATH="$PATH:/usr/sbin:/sbin" command -v "$what" >/dev/null ;;
	pc) runs pkg-config --exists "$what" ;;
	py) for python in python3 /usr/bin/python3; do runs "$python" -c "import $what" && return 0; done; return 1 ;;
	bpftool | perf) tool_of_kernel "$kind" ;;
	chromium) for browser in chromium-headless-shell chromium google-chrome /usr/lib64/chromium-browser/headless_shell; do
		command -v "$browser" >/dev/null && return 0; done; return 1 ;;
	file) for glob in $what; do compgen -G "$glob" >/dev/null && return 0; done; return 1 ;;
	esac
}

# Names that differ between releases of one distribution.
package_name() {
	case $1 in
	bpftool | PERF)
		if [ "${ID:-}" = ubuntu ]; then echo linux-tools-common linux-tools-generic; elif [ "$1" = PERF ]; then echo linux-perf; else echo bpftool; fi ;;
	# 98 MB with all that it needs. Ubuntu has only a snap, which no test can drive.
	CHROMIUM)
		if apt-cache show chromium-headless-shell >/dev/null 2>&1; then echo chromium-headless-shell
		elif [ "${ID:-}" != ubuntu ]; then echo chromium; fi ;;
	FUZZER)
		local version
		version=$(clang --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -1)
		if apt-cache show "libclang-rt-${version:-0}-dev" >/dev/null 2>&1; then echo "libclang-rt-$version-dev"
		elif apt-cache show libclang-rt-dev >/dev/null 2>&1; then echo libclang-rt-dev
		else echo "libclang-common-${version:-14}-dev"; fi ;;
	*) echo "$1" ;;
	esac
}

install_packages() {
	if [ "$manager" = apt ]; then
		DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" </dev/null
	else
		dnf install -y -q --setopt=install_weak_deps=False "$@" </dev/null
	fi
}

# Fills the array missing with lines of the list whose thing is absent; $1 filters by need or want.
look() {
	missing=()
	local line level check
	while IFS= read -r line; do
		IFS='|' read -r level check _ <<<"$line"
		[[ $level == $1 ]] && ! present "$check" && missing+=("$line")
	done <<<"$(needs)"
}

describe() {
	local line level check apt dnf purpose
	for line in "${missing[@]}"; do
		IFS='|' read -r level check apt dnf purpose <<<"$line"
		echo "  ${check%% *}  ($purpose; package: $([ "$manager" = dnf ] && echo "$dnf" || package_name "$apt"))"
	done
}

ID=unknown
[ -r /etc/os-release ] && . /etc/os-release
manager=none
command -v apt-get >/dev/null && manager=apt
[ $manager = none ] && command -v dnf >/dev/null && manager=dnf

case ${1:-} in
build) levels=need ;;
'') levels='*' ;;
*) echo "usage: setup.sh [build]" >&2; exit 2 ;;
esac
# What tests take from PyPI, into .cache/; each is silent when it is there.
from_pypi() {
	[ "$levels" = need ] || for script in cupti12 mcp_client nvtx; do "$(dirname "$0")/$script.sh"; done
}
look "$levels"
if [ ${#missing[@]} -eq 0 ]; then
	from_pypi
	echo "setup: everything that $([ "$levels" = need ] && echo the build needs || echo build and tests need) is here"
	exit 0
fi
if [ $manager = none ]; then
	echo "setup: neither apt-get nor dnf here; install by hand:" >&2
	describe >&2
	exit 1
fi
if [ "$(id -u)" -ne 0 ]; then
	echo "setup: these are missing, and installing them takes root (sudo make setup):" >&2
	describe >&2
	look need
	[ ${#missing[@]} -eq 0 ] && { echo "setup: nothing of it is needed to build; tests that want it will say SKIP" >&2; exit 0; }
	exit 1
fi

echo "setup: missing:"
describe
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ $manager = apt ]; then
	echo "setup: apt-get update"
	apt-get update -q </dev/null >"$log" 2>&1 || { tail -5 "$log"; echo "setup: apt-get update failed; going on with the lists that are here" >&2; }
fi

# Two rounds: what must be there in one transaction, then each wish by itself, so that a package that a release lacks stops nothing.
install_round() {
	local line level check apt dnf purpose name names=()
	for line in "${missing[@]}"; do
		IFS='|' read -r level check apt dnf purpose <<<"$line"
		name=$([ "$manager" = dnf ] && echo "$dnf" || package_name "$apt")
		names+=($name)
	done
	[ ${#names[@]} -eq 0 ] && return 0
	echo "setup: installing ${names[*]}"
	install_packages "${names[@]}" >"$log" 2>&1 && return 0
	for name in "${names[@]}"; do
		install_packages "$name" >"$log" 2>&1 || { tail -3 "$log"; echo "setup: could not install $name" >&2; }
	done
}
look need
install_round
if [ "$levels" != need ]; then
	look want
	install_round
	from_pypi
	look want
fi
if [ "$levels" != need ] && [ ${#missing[@]} -gt 0 ]; then
	echo "setup: not available here; tests that want them will say SKIP:"
	describe
fi
look need
if [ ${#missing[@]} -gt 0 ]; then
	echo "setup: still missing:" >&2
	describe >&2
	exit 1
fi
echo "setup: done"
