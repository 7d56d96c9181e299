#!/usr/bin/env bash
# A browser without a window, for the tests that look at the Prefect UI as a person does: Debian's chromium-headless-shell
# (or a Chromium that is there already), and a font. Prints its path; with --find only looks. Exit code 3: none here, and it
# cannot be installed; those tests are then skipped and say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. setup/common.sh

find_browser() {
    local name
    for name in ${ENVMILL_BROWSER:-chromium-headless-shell chromium chromium-browser google-chrome-stable google-chrome}; do
        if command -v "$name"; then return; fi
    done
    return 1
}

install_browser() {
    local packages=(chromium-headless-shell)
    if ! apt-cache show chromium-headless-shell >/dev/null 2>&1; then packages=(chromium); fi
    if [ ! -d /usr/share/fonts/truetype/dejavu ]; then packages+=(fonts-dejavu-core); fi
    apt_install "${packages[@]}"
}

if find_browser; then exit 0; fi
if [ "${1:-}" = --find ]; then missing "no Chromium on this machine; run setup/browser.sh"; fi
can_install || missing "no Chromium on this machine; install one (Debian: as root, apt-get install chromium-headless-shell), or name yours in ENVMILL_BROWSER"
install_browser || missing "Chromium could not be installed (apt-get); the tests of the UI are skipped"
find_browser || missing "Chromium was installed and is not found; name it in ENVMILL_BROWSER"
