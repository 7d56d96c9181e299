#!/usr/bin/env bash
# The virtual environment .venv with what requirements.lock names, every file checked against its hash, and the command
# `envmill` that runs from this checkout. Nothing is done where the lock has not changed. Exit code 3: something is missing
# that only the user can install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. setup/common.sh

find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    missing "envmill needs Python 3.11 or newer and found none; install python3, or name one: make setup PYTHON=/path/to/python3"
}

# Debian ships the module venv without ensurepip; the package python3-venv completes it.
complete_venv() {
    if "$python" -c 'import ensurepip, venv' 2>/dev/null; then return; fi
    can_install || missing "$python cannot make virtual environments; install python3-venv (as root: apt-get install python3-venv)"
    apt_install "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || missing "$python has no ensurepip even with its venv package; name another Python: make setup PYTHON=..."
}

python="$(find_python)"
stamp="$(sha256sum requirements.lock setup/venv.sh | sha256sum | cut -d' ' -f1) $PWD $("$python" -c 'import sys; print(sys.version.split()[0])')"
if [ "$(cat .venv/.stamp 2>/dev/null)" = "$stamp" ]; then exit 0; fi

complete_venv
say "making .venv (one or two minutes)"
if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    rm -rf .venv
    "$python" -m venv .venv
fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
site="$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
echo "$PWD" > "$site/envmill.pth"
cat > .venv/bin/envmill <<SCRIPT
#!$PWD/.venv/bin/python
import sys

from flows.cli import main

sys.exit(main())
SCRIPT
chmod +x .venv/bin/envmill
echo "$stamp" > .venv/.stamp
