#!/bin/sh
# Multi-objective queries on models of probabilistic model checking: Storm's answers and times beside ours. See --help.
#
# Usage: bench/models/run.sh [ARGUMENTS...]
# Exit status: 0 all answers agree, 1 some do not, 2 the program could not be built, or wrong arguments, 3 no set-up.
set -u

here=$PWD
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/models-venv
requirements=bench/models/requirements.txt
# The copy is written last, so a set-up that was cut short is done again.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "bench: installing $requirements in $venv" >&2
    python3 -m venv --clear "$venv" >&2 || exit 3
    "$venv/bin/python" -m pip install --quiet --requirement "$requirements" >&2 || exit 3
    cp "$requirements" "$venv/requirements.txt"
fi
cargo build --release --quiet --package appropo-cli || exit 2
cd "$here" && APPROPO="$target/release/appropo" exec "$venv/bin/python" "$root/bench/models" "$@"
