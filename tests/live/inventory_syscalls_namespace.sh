#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# xprobe and target in a nested PID namespace: the kernel's own ids are not theirs, and every count is still exact.
set -uo pipefail
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
unshare --pid --fork --mount-proc true 2>/dev/null || { echo "SKIP: no PID namespaces here"; exit 77; }
for part in "" _process; do
	unshare --pid --fork --mount-proc "$XP_BUILD_DIR/tests/live_inventory_syscalls$part" || exit $?
done
