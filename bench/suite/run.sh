#!/bin/sh
# Builds the package and runs the suite with it: see docs/suite.md, and --help for the arguments.
#
# Usage: bench/suite/run.sh [ARGUMENTS...]
# Exit status: 0 it ran, 2 the package could not be built, or wrong arguments, 3 no set-up.
set -u

here=$PWD
cd "$(dirname "$0")/../.." || exit 2
root=$PWD
. bench/venv.sh
set_up
wheels=$(mktemp -d) || exit 2
trap 'rm -rf "$wheels"' EXIT
install_package "$wheels"
cd "$here" && "$venv/bin/python" "$root/bench/suite" "$@"
