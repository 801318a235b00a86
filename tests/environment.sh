#!/bin/sh
# The virtual environment of all tests, target/venv; made anew when tests/requirements.txt has changed. Run by itself to
# make it, or sourced in the workspace root to use it.
requirements=tests/requirements.txt
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
VIRTUAL_ENV=$target/venv

# The copy is written last, so a set-up that was cut short is done again.
if ! cmp -s "$requirements" "$VIRTUAL_ENV/requirements.txt"; then
    echo "tests: installing $requirements in $VIRTUAL_ENV" >&2
    if ! python3 -m venv --clear "$VIRTUAL_ENV" >&2; then
        echo "tests: python3 could not make a virtual environment (see above)" >&2
        exit 3
    fi
    # Compiled when first used: most of what is installed never is.
    if ! "$VIRTUAL_ENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
        --requirement "$requirements" >&2; then
        echo "tests: pip could not install $requirements (see above); it needs the network and Python 3.11 or later" >&2
        exit 3
    fi
    cp "$requirements" "$VIRTUAL_ENV/requirements.txt"
fi

PATH=$VIRTUAL_ENV/bin:$PATH
# Python's own caches stay out of the sources.
PYTHONPYCACHEPREFIX=$target/pycache
export VIRTUAL_ENV PATH PYTHONPYCACHEPREFIX
