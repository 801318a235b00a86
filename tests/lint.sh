#!/bin/sh
# The formatter and the linter for Python (those for Rust run with its build).
#
# Usage: tests/lint.sh
# Exit status: 0 nothing found, 1 something, 3 no set-up.
set -u

cd "$(dirname "$0")/.." || exit 3
. tests/environment.sh
code="crates/appropo-py release site tests"

# shellcheck disable=SC2086
if ! ruff format --quiet --check $code; then
    echo "tests: run: ruff format $code" >&2
    exit 1
fi
# shellcheck disable=SC2086
ruff check --quiet $code || exit 1
