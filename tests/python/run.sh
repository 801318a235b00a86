#!/bin/sh
# What we write, read by those it is meant for: ONNX Runtime, TensorBoard, a validator of JSON Schema. The Rust tests of
# problem files come first: they write the problems that the schema is tried on.
#
# Usage: tests/python/run.sh [UNITTEST-ARGUMENTS...]
# Exit status: 0 all passed, 1 a test failed, 2 no samples, 3 no set-up.
set -u

cd "$(dirname "$0")/../.." || exit 2
. tests/environment.sh

APPROPO_SAMPLES=$target/python-samples
export APPROPO_SAMPLES
rm -rf "$APPROPO_SAMPLES"
if ! "$target/debug/examples/sample_exports" "$APPROPO_SAMPLES"; then
    echo "tests/python: the example sample_exports failed (see above); cargo test --workspace --no-run builds it" >&2
    exit 2
fi
PYTHONPATH=tests python -m unittest discover --start-directory tests/python "$@"
