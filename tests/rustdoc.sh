#!/bin/sh
# Rustdoc for `cargo test`, which calls it for the examples only: the pages are made as well, from what the tests were
# built with, so that a broken link fails. `cargo doc` would go through every dependency once more.
#
# Usage: RUSTDOC=$PWD/tests/rustdoc.sh cargo test
set -eu

case " $* " in
*" --test "*)
    pages=${CARGO_TARGET_DIR:-target}/reference
    skip= arguments=
    for argument; do
        case $skip$argument in
        --test) ;;
        --test-run-directory | --test-args) skip=value: ;;
        value:*) skip= ;;
        *) arguments="$arguments '$argument'" ;;
        esac
    done
    eval "rustdoc $arguments --out-dir '$pages'"
    ;;
esac
exec rustdoc "$@"
