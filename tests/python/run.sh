#!/bin/sh
# What we export, read by those it is meant for: ONNX Runtime and TensorBoard.
#
# Usage: tests/python/run.sh [UNITTEST-ARGUMENTS...]
# Exit status: 0 all passed, 1 a test failed, 2 no samples, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 2
requirements=tests/python/requirements.txt
target=${CARGO_TARGET_DIR:-target}
venv=$target/python-venv

stop() { # STATUS MESSAGE
    echo "tests/python: $2" >&2
    exit "$1"
}

# The copy is written last, so a set-up that was cut short is done again.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "tests/python: installing $requirements in $venv" >&2
    python3 -m venv --clear "$venv" >&2 ||
        stop 3 "python3 could not make a virtual environment (see above)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" >&2 ||
        stop 3 "pip could not install $requirements (see above); it needs the network and Python 3.11 or later"
    cp "$requirements" "$venv/requirements.txt"
fi

APPROPO_SAMPLES=$target/python-samples
export APPROPO_SAMPLES
rm -rf "$APPROPO_SAMPLES"
cargo run --quiet --package appropo-run --example sample_exports "$APPROPO_SAMPLES" ||
    stop 2 "the example sample_exports failed (see above)"
"$venv/bin/python" -B -m unittest discover --start-directory tests/python "$@"
