#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Model Context Protocol's Python client from PyPI into .cache/mcp, for tests/live/mcp_client.py alone. Without pip or network: nothing.
set -uo pipefail
cache=$(cd "$(dirname "$0")/.." && pwd)/.cache/mcp
[ -e "$cache/mcp/__init__.py" ] && exit 0
for python in python3 /usr/bin/python3; do
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && "$python" -m pip --version >/dev/null 2>&1 || continue
	rm -rf "$cache"
	if "$python" -m pip install -q --disable-pip-version-check --root-user-action=ignore --target "$cache" 'mcp==2.3.0' >/dev/null 2>&1; then
		command -v "$python" >"$cache/python"
		echo "setup: client of the Model Context Protocol"
		exit 0
	fi
done
rm -rf "$cache"
echo "setup: no client of the Model Context Protocol; its test will say SKIP"
exit 0
