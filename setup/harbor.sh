#!/bin/bash
# The harbor that `make peers` installed, as a command: setup/harbor.sh run -p TASKDIR -a oracle
# `run` gets the environment that keeps the network off without images from a public registry, unless -e says otherwise.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
peers="$(dirname "$here")/.cache/peers"
if [ ! -e "$peers/venv/.stamp" ]; then
    echo "harbor is not installed here; run: make peers" >&2
    exit 3
fi
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" HARBOR_TELEMETRY=0 DOCKER_CONFIG="$peers/docker"
if [ "${1:-}" = run ] && ! printf '%s\n' "$@" | grep -qxE -- '-e|--env'; then
    shift
    set -- run -e offline_docker:OfflineDocker "$@"
fi
exec "$peers/venv/bin/harbor" "$@"
