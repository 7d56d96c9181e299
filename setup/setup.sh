#!/usr/bin/env bash
# Everything this machine needs: .venv, a container engine, the base and runtime images. Quick where it is all there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. setup/common.sh

setup/venv.sh
status=0
.venv/bin/python -m blocks.engine.prepare 2>/tmp/envmill-setup.$$ || status=$?
first="$(cat /tmp/envmill-setup.$$)"
rm -f /tmp/envmill-setup.$$
if [ "$status" -eq 3 ]; then
    setup/engine.sh
    exec .venv/bin/python -m blocks.engine.prepare
fi
printf '%s\n' "$first" >&2
exit "$status"
