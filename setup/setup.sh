#!/usr/bin/env bash
# Everything this machine needs: .venv, a container engine, the base and runtime images. Quick where it is all there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. setup/common.sh

setup/venv.sh
status=0
.venv/bin/python -m blocks.engine.prepare || status=$?
if [ "$status" -ne 3 ]; then exit "$status"; fi
say "setting up what is missing"
setup/engine.sh
exec .venv/bin/python -m blocks.engine.prepare
