# Sourced by the scripts beside it: messages, exit code 3, and the one way in which packages are installed.

say() { printf 'setup: %s\n' "$*" >&2; }

missing() {
    say "$*"
    exit 3
}

# How commands become root: nothing as root, sudo where it asks for no password; fails where neither is.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        return 126
    fi
}

can_install() { command -v apt-get >/dev/null && as_root true; }

apt_install() {
    say "installing $* (apt-get)"
    as_root apt-get -qq update >/dev/null
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null
}
