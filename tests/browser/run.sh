#!/bin/sh
# The report's pages in a real browser.
#
# Usage: tests/browser/run.sh [FOLDER]
# FOLDER holds pages with their data beside them, as the example sample_pages
# writes them; without one, they are written to target/browser-pages.
# Exit status: 0 all is well, 1 a test failed, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 3
venv=target/browser-venv
needs=tests/browser/requirements.txt

stop() { # MESSAGE
    echo "browser test: $1" >&2
    exit 3
}

[ -x /usr/bin/chromium ] || stop "/usr/bin/chromium is missing; install it with: apt-get install chromium"

# The copy is written last, so a set-up that was cut short is done again.
if ! cmp -s "$needs" "$venv/requirements.txt"; then
    python3 -m venv --clear "$venv" >&2 || stop "python3 could not make a virtual environment (see above)"
    "$venv/bin/python" -m pip install --quiet --requirement "$needs" >&2 ||
        stop "pip could not install $needs (see above); it needs the network"
    cp "$needs" "$venv/requirements.txt"
fi

pages=${1-}
if [ -z "$pages" ]; then
    pages=target/browser-pages
    cargo run --quiet --package appropo-run --example sample_pages "$pages" >&2 ||
        stop "the example sample_pages failed (see above)"
fi
PAGES=$pages exec "$venv/bin/python" -B -m unittest tests/browser/test_page.py
