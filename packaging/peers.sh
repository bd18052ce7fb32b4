#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings the tools that benchmarks compare with and distributions do not have to .cache/peers/bin, for this checkout alone.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -x .cache/peers/bin/py-spy ] && exit 0
python3 -m venv .cache/peers
.cache/peers/bin/pip install --quiet --disable-pip-version-check py-spy==0.4.1
