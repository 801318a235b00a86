#!/bin/sh
# What README.md and docs/ show, with the program and the Python package.
#
# Usage: tests/documents/run.sh [--update] [PYTEST-ARGUMENTS...]
# With --update, the outputs in the documents become those that are printed.
# Exit status: 0 all is as shown, 1 something is not, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 3
. tests/environment.sh
# Pages are written by one process.
case "$*" in *--update*) processes=0 ;; *) processes=auto ;; esac
# A process is given its tests one by one, the longest first.
python -m pytest --quiet --numprocesses $processes --dist loadgroup \
    -o cache_dir="$target/pytest" tests/documents "$@"
