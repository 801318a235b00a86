#!/bin/sh
# What checkpoints cost: the part of a run's time that goes into writing them, at the default interval.
#
# Usage: bench/checkpoints.sh
# Exit status: 0 under 2% of the time, 1 more, 2 a measurement failed.
set -u

cd "$(dirname "$0")/.." || exit 2
cargo build --release --quiet --package appropo-cli || exit 2
program=$PWD/${CARGO_TARGET_DIR:-target}/release/appropo
place=$(mktemp -d) || exit 2
trap 'rm -rf "$place"' EXIT

# A run of more than a minute, whose state grows with every round: the dearest kind.
"$program" solve mars-rover-diverse --player ogd --rounds 1600000 --tolerance 1e-12 --quiet --run "$place/run" >/dev/null
[ -f "$place/run/result.json" ] || exit 2
python3 - "$place/run/times.json" <<'PYTHON'
import json, sys

with open(sys.argv[1]) as file:
    times = json.load(file)
total = times["oracle"] + times["player"] + times["writing"]
share = times["writing"] / total
print(f"checkpoints: {times['writing']:.2f} of {total:.1f} s, {100 * share:.2f}% of the time; under 2 wanted")
sys.exit(share >= 0.02)
PYTHON
