#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The files of a release as they lie below a prefix. In: a finished build-release/, the source tree, a folder. Out: that folder with bin/, lib/,
# share/, the installer, and MANIFEST with the checksum of every file. Fails when the tool needs a library that is neither linked in nor bundled.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=$1
rm -rf "$stage"
mkdir -p "$stage"/bin "$stage"/lib/xprobe "$stage"/share/{doc/xprobe/licenses,xprobe/skills,man/man1,bash-completion/completions} \
	"$stage"/share/{zsh/site-functions,fish/vendor_completions.d}
install -m 755 build-release/xprobe "$stage/bin/xprobe"
strip "$stage/bin/xprobe"
install -m 755 build-release/libxprobe-agent.so "$stage/lib/xprobe/libxprobe-agent.so"
strip "$stage/lib/xprobe/libxprobe-agent.so"
cp README.md LICENSE "$stage/share/doc/xprobe/"
cp -r docs "$stage/share/doc/xprobe/docs"
cp -r schemas "$stage/share/xprobe/schemas"
cp -r skills/xprobe-measure-latency "$stage/share/xprobe/skills/"
install -m 644 packaging/xprobe.1 "$stage/share/man/man1/xprobe.1"
install -m 644 packaging/completions/xprobe.bash "$stage/share/bash-completion/completions/xprobe"
install -m 644 packaging/completions/_xprobe "$stage/share/zsh/site-functions/_xprobe"
install -m 644 packaging/completions/xprobe.fish "$stage/share/fish/vendor_completions.d/xprobe.fish"

# The terms of what is linked in or bundled, as its package states them.
for package in libbpf-dev libelf-dev libjansson-dev libpcre2-dev zlib1g-dev liblzma-dev libzstd-dev libiberty-dev libzydis-dev; do
	if [ -r "/usr/share/doc/$package/copyright" ]; then
		cp -L "/usr/share/doc/$package/copyright" "$stage/share/doc/xprobe/licenses/${package%-dev}"
	else
		echo "stage: no copyright file of $package here" >&2
	fi
done

# Shared objects that are not part of glibc and not the kernel's travel with the tool.
while read -r library path; do
	case $library in
	libc.so.* | libm.so.* | ld-linux-* | linux-vdso.*) ;;
	libZydis.so.* | libZycore.so.*) install -m 644 "$(readlink -f "$path")" "$stage/lib/xprobe/$library" ;;
	*) echo "stage: $library is not linked in and not bundled" >&2; exit 1 ;;
	esac
done < <(ldd "$stage/bin/xprobe" | awk '$2 == "=>" { print $1, $3 } $2 != "=>" { print $1, $1 }' | sed 's,^/.*/,,')
LD_LIBRARY_PATH= "$stage/bin/xprobe" --version >/dev/null

install -m 755 packaging/install.sh packaging/install-skill.sh "$stage/"
find "$stage" -name '__pycache__' -prune -exec rm -rf {} +
(cd "$stage" && find bin lib share -type f | LC_ALL=C sort | xargs sha256sum >MANIFEST)
