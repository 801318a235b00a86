#!/bin/sh
# Builds the Python package into a virtual environment of its own, and runs its tests there.
#
# Usage: crates/appropo-py/tests/run.sh [PYTEST-ARGUMENTS...]
# Exit status: 0 all passed, 1 something did not, 3 no set-up.
set -u

cd "$(dirname "$0")/../../.." || exit 3
package=crates/appropo-py
requirements=$package/tests/requirements.txt
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/package-venv

stop() { # STATUS MESSAGE
    echo "$package/tests: $2" >&2
    exit "$1"
}

# The copy is written last, so a set-up that was cut short is done again.
if ! cmp -s "$requirements" "$venv/requirements.txt"; then
    echo "$package/tests: installing $requirements in $venv" >&2
    python3 -m venv --clear "$venv" >&2 ||
        stop 3 "python3 could not make a virtual environment (see above)"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements" >&2 ||
        stop 3 "pip could not install $requirements (see above); it needs the network and Python 3.11 or later"
    cp "$requirements" "$venv/requirements.txt"
fi
VIRTUAL_ENV=$venv
PATH=$venv/bin:$PATH
export VIRTUAL_ENV PATH

ruff format --quiet --check $package || stop 1 "run: ruff format $package"
ruff check --quiet $package || stop 1 "ruff found something (see above)"
maturin generate-stubs --quiet --out "$target/stubs" || stop 1 "the stubs could not be made (see above)"
cmp "$target/stubs/appropo/_appropo.pyi" $package/python/appropo/_appropo.pyi ||
    stop 1 "the stubs are not those of the extension; copy the first file over the second"
mypy || stop 1 "mypy found something (see above)"
maturin develop --quiet || stop 1 "the package could not be built (see above)"
python -B -m pytest --quiet --doctest-modules $package/python/appropo $package/tests "$@"
