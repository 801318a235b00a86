#!/bin/sh
# What apprentices are worth in ten random gridworlds, iteration by iteration: projection, MWAL and LPAL.
#
# Usage: bench/apprenticeship.sh [FIGURE.svg]
# Exit status: 0 LPAL is exact and MWAL within its theorem in every iteration, 1 one of them is not.
set -u

case ${1-} in
"" | /*) figure=${1-} ;;
*) figure=$PWD/$1 ;;
esac
cd "$(dirname "$0")/.." || exit 1
exec cargo run --release --quiet --package appropo-experiments --example apprenticeship -- ${figure:+"$figure"}
