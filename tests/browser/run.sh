#!/bin/sh
# The report's pages in a real browser.
#
# Usage: tests/browser/run.sh [FOLDER]
# FOLDER holds pages with their data beside them, as the example sample_pages
# writes them; without one, they are written to target/browser-pages, and the
# program's own runs and their reports to target/browser-runs.
# Exit status: 0 all is well, 1 a test failed, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 3
. tests/environment.sh

stop() { # MESSAGE
    echo "browser test: $1" >&2
    exit 3
}

if [ -n "${1-}" ]; then
    PAGES=$1 python -m unittest tests/browser/test_page.py
    exit
fi

PAGES=$target/browser-pages RUNS=$target/browser-runs
export PAGES RUNS
"$target/debug/examples/sample_pages" "$PAGES" >&2 ||
    stop "the example sample_pages failed (see above); cargo test --workspace --no-run builds it"
appropo=${APPROPO_PROGRAM:-$target/debug/appropo}

solve() { # NAME PROBLEM [OPTION...]
    name=$1
    shift
    "$appropo" solve "$@" --run "$RUNS/$name" --quiet >"$RUNS/$name.txt"
    # Infeasible and undecided are results too.
    case $? in 0 | 3 | 4) ;; *) stop "solve $* failed (see above)" ;; esac
    "$appropo" report "$RUNS/$name" >&2 || stop "report $name failed (see above)"
}

rm -rf "$RUNS"
mkdir -p "$RUNS"
solve exact mars-rover-diverse
solve infeasible mars-rover-infeasible
solve treasure deep-sea-treasure
solve lake frozen-lake
solve ppo mars-rover-diverse --oracle ppo --samples 25000
solve cart-pole cart-pole --oracle ppo
solve long mars-rover-diverse --player ogd --rounds 10000 --tolerance 1e-12
"$appropo" report "$RUNS/exact" "$RUNS/ppo" "$RUNS/long" --out "$RUNS/comparison.html" >&2 ||
    stop "the comparison failed (see above)"

python -m unittest tests/browser/test_page.py tests/browser/test_runs.py tests/browser/test_watch.py
