#!/bin/bash
# Installs the tools that consume what envmill publishes, to check against the real ones (`make peers`): harbor in its own
# environment, and the compose plugin of the docker client. Everything lies in .cache/peers; nothing is installed
# system-wide. Running it again is quick. Exit code 3: something is missing that only the user can install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
peers="$PWD/.cache/peers"
lock=setup/peers.lock

say() { printf 'peers: %s\n' "$*" >&2; }
missing() { say "$*"; exit 3; }

find_python() {
    local candidate
    for candidate in python3.13 python3.12 python3.14 "$HOME"/.pyenv/versions/3.1[234]*/bin/python3 python3; do
        if "$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    missing "harbor needs Python 3.12 or newer with venv and pip, and there is none; install python3.12 (or 3.13) and run make peers again"
}

install_harbor() {
    local stamp python
    stamp="$(sha256sum "$lock" | cut -d' ' -f1)"
    if [ "$(cat "$peers/venv/.stamp" 2>/dev/null)" = "$stamp" ]; then return; fi
    python="$(find_python)"
    say "installing harbor (takes about a minute)"
    rm -rf "$peers/venv"
    "$python" -m venv "$peers/venv"
    "$peers/venv/bin/pip" install -qq --disable-pip-version-check --require-hashes -r "$lock"
    echo "$stamp" > "$peers/venv/.stamp"
}

has_compose() { DOCKER_CONFIG="$peers/docker" docker compose version >/dev/null 2>&1; }

# The first Debian mirror that this machine itself uses, in either form of apt's source lists.
debian_mirror() {
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
        sed -nE 's/^(URIs:|deb( \[[^]]*\])?) +([^ ]+).*/\3/p' | grep -E '/debian/?$' | head -n 1
}

install_compose() {
    command -v docker >/dev/null || missing "there is no docker client; run make setup first"
    mkdir -p "$peers/docker"
    if has_compose; then return; fi
    local mirror apt deb
    mirror="$(debian_mirror || true)"
    if [ -z "$mirror" ] || ! command -v apt-get >/dev/null; then
        missing "the docker client has no compose plugin, and this machine has no Debian mirror to take it from; install Docker's compose plugin (docker compose version must answer)"
    fi
    say "fetching the compose plugin"
    apt="$peers/apt"
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/root"
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" > "$apt/sources.list"
    local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$apt/lists"
        -o "Dir::Cache=$apt" -o "Dir::Cache::Archives=$apt/archives" -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$apt" && apt-get "${options[@]}" download docker-compose)
    deb="$(echo "$apt"/docker-compose_*.deb)"
    dpkg-deb -x "$deb" "$apt/root"
    mkdir -p "$peers/docker/cli-plugins"
    install -m 755 "$(find "$apt/root" -path '*/cli-plugins/docker-compose' -type f | head -n 1)" "$peers/docker/cli-plugins/docker-compose"
    rm -rf "$apt"
    has_compose || missing "the fetched compose plugin does not run on this machine; install Docker's compose plugin"
}

mkdir -p "$peers"
install_harbor
install_compose
say "$("$peers/venv/bin/python" -c 'from importlib.metadata import version; print("harbor", version("harbor"))'), $(DOCKER_CONFIG="$peers/docker" docker compose version)"
