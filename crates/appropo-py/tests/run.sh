#!/bin/sh
# Builds the Python package into the tests' virtual environment, and runs its tests there.
#
# Usage: crates/appropo-py/tests/run.sh [PYTEST-ARGUMENTS...]
#        crates/appropo-py/tests/run.sh build | test
# Exit status: 0 all passed, 1 something did not, 3 no set-up.
set -u

cd "$(dirname "$0")/../../.." || exit 3
. tests/environment.sh
package=crates/appropo-py

stop() { # MESSAGE
    echo "$package/tests: $1" >&2
    exit 1
}

build() {
    maturin develop --quiet || stop "the package could not be built (see above)"
    maturin generate-stubs --quiet --out "$target/stubs" || stop "the stubs could not be made (see above)"
    cmp "$target/stubs/appropo/_appropo.pyi" $package/python/appropo/_appropo.pyi ||
        stop "the stubs are not those of the extension; copy the first file over the second"
}

test() { # [PYTEST-ARGUMENTS...]
    mypy --cache-dir "$target/mypy" || stop "mypy found something (see above)"
    # A process is given its tests one by one, so that none is left with many at the end.
    python -m pytest --quiet --numprocesses auto --dist loadgroup --doctest-modules \
        --ignore $package/tests/acted_ray $package/python/appropo $package/tests -o cache_dir="$target/pytest" "$@"
}

case ${1-} in
build) build ;;
test) test ;;
*) build && test "$@" ;;
esac
