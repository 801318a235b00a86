#!/bin/sh
# The Python package as a user installs it: its size, its speed beside Stable-Baselines3's and the command line's, and
# the cart-pole with two constraints, learnt by our PPO and by theirs.
#
# Usage: bench/package.sh
# Exit status: 0 all as it should be, 1 something is not, 2 a measurement failed, 3 no set-up.
set -u

cd "$(dirname "$0")/.." || exit 2
. bench/venv.sh
set_up
wheels=$(mktemp -d) || exit 2
trap 'rm -rf "$wheels"' EXIT
install_package "$wheels"
OMP_NUM_THREADS=1 "$venv/bin/python" bench/package.py "$wheels"/*.whl
