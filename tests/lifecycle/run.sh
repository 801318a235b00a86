#!/bin/sh
# The program through a run's whole life, and what its verify refuses.
#
# Usage: tests/lifecycle/run.sh
# Exit status: 0 all is well, 1 something is not, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 3
. tests/environment.sh
python -m pytest --quiet --numprocesses auto -o cache_dir="$target/pytest" tests/lifecycle && python bench/verify.py --quick
