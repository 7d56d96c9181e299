#!/usr/bin/env bash
# A container engine on this machine, for when none answers: on Debian and Ubuntu, as root or with sudo, Docker from the
# distribution and mmdebstrap, started by systemd or, where there is no init system, as a process of its own that listens on
# the local socket only. Exit code 3: says what to install or do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. setup/common.sh

socket="${ENVMILL_DOCKERD_SOCKET:-/var/run/docker.sock}"
state="${ENVMILL_HOME:-.envmill}"
log="$state/dockerd.log"

answers() {
    .venv/bin/python - "$socket" <<'PY' 2>/dev/null
import sys

from docker import APIClient

APIClient(base_url=f"unix://{sys.argv[1]}", version="auto", timeout=5).ping()
PY
}

wait_for_answer() {
    local tries
    for tries in $(seq "$1"); do
        if answers; then return 0; fi
        if [ -n "${2:-}" ] && ! kill -0 "$2" 2>/dev/null; then return 1; fi
        sleep 0.5
    done
    return 1
}

refuse_where_another_is_named() {
    local named="${ENVMILL_ENGINE__HOST:-${DOCKER_HOST:-}}"
    if [ -n "$named" ] && [ "$named" != "unix://$socket" ]; then
        missing "the container engine named in ENVMILL_ENGINE__HOST or DOCKER_HOST does not answer; start it, or unset the variable to use one on this machine"
    fi
}

refuse_where_the_socket_is_closed() {
    if [ -S "$socket" ] && [ ! -w "$socket" ]; then
        missing "a container engine is there, but this user may not use $socket; join its group (usermod -aG docker, then log in again), or run as root"
    fi
}

install_packages() {
    local packages=()
    command -v dockerd >/dev/null || packages+=(docker.io)
    command -v mmdebstrap >/dev/null || packages+=(mmdebstrap)
    [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || packages+=(debian-archive-keyring)
    if [ ! -e /sys/fs/cgroup/cgroup.controllers ] && [ ! -d /sys/fs/cgroup/memory ]; then packages+=(cgroupfs-mount); fi
    if [ "${#packages[@]}" -eq 0 ]; then return; fi
    can_install || missing "no container engine answers at $socket; install Docker or an engine with its interface (Debian, Ubuntu: as root, apt-get install ${packages[*]}), start it, and run this again"
    apt_install "${packages[@]}"
}

# A daemon that was killed leaves its number behind; where another process has that number now, or nobody has waited for the
# dead one yet, the next one would not start.
forget_the_dead() {
    local file process
    for file in /var/run/docker.pid /var/run/docker/containerd/containerd.pid; do
        if [ ! -f "$file" ]; then continue; fi
        process="/proc/$(cat "$file")"
        if ! grep -qsE '^(dockerd|containerd)$' "$process/comm" || grep -qs '^State:[[:space:]]*Z' "$process/status"; then
            as_root rm -f "$file"
        fi
    done
}

# Both are needed where no init system has done it: control groups, and a daemon that outlives this script.
start_daemon() {
    local flags="$1"
    mkdir -p "$state"
    say "starting dockerd $flags(log: $log)"
    # shellcheck disable=SC2086 # flags are words
    as_root setsid nohup dockerd --host "unix://$socket" $flags ${ENVMILL_DOCKERD_FLAGS:-} >>"$log" 2>&1 </dev/null &
    wait_for_answer 90 "$!"
}

start_engine() {
    if wait_for_answer 1; then return; fi
    as_root true || missing "no container engine answers at $socket and it cannot be started without root; start Docker, or run this as root"
    if [ -d /run/systemd/system ]; then
        as_root systemctl enable --now docker >&2 || true
        if wait_for_answer 40; then return; fi
    fi
    if command -v cgroupfs-mount >/dev/null; then as_root cgroupfs-mount || true; fi
    forget_the_dead
    start_daemon "" || start_daemon "--iptables=false --ip6tables=false --bridge=none " ||
        missing "dockerd does not start on this machine; the end of $log says why: $(tail -n 3 "$log" | tr '\n' ' ')"
}

refuse_where_another_is_named
refuse_where_the_socket_is_closed
install_packages
start_engine
refuse_where_the_socket_is_closed
