# The virtual environment with what we measure ourselves against. Sourced in the workspace root.
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/bench-venv

stop() { # STATUS MESSAGE
    echo "bench: $2" >&2
    exit "$1"
}

set_up() {
    # The copy is written last, so a set-up that was cut short is done again.
    cmp -s bench/requirements.txt "$venv/requirements.txt" && return
    echo "bench: installing bench/requirements.txt in $venv, which takes minutes" >&2
    python3 -m venv --clear "$venv" >&2 ||
        stop 3 "python3 could not make a virtual environment (see above)"
    "$venv/bin/python" -m pip install --quiet --requirement bench/requirements.txt >&2 ||
        stop 3 "pip could not install bench/requirements.txt (see above); it needs the network and Python 3.11 or later"
    cp bench/requirements.txt "$venv/requirements.txt"
}

# Builds the package as a user gets it, and installs it there.
install_package() { # FOLDER for the wheel
    "$venv/bin/maturin" build --release --quiet --interpreter "$venv/bin/python" --out "$1" >&2 ||
        stop 2 "no wheel (see above)"
    "$venv/bin/python" -m pip install --quiet --no-deps --force-reinstall "$1"/*.whl >&2 ||
        stop 2 "it can't be installed"
}
