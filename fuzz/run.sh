#!/bin/sh
# Fuzzes each target for so many seconds within 512 MiB, and prints how often it ran.
# usage: fuzz/run.sh [SECONDS] [TARGET...]
set -eu
cd "$(dirname "$0")"
seconds=${1:-600}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- problem dataset drn umb prism manifest policies checkpoint
# The instrumentation needs an unstable flag, which a stable compiler takes too when told so.
export RUSTC_BOOTSTRAP=1
# What is found on the way is kept out of the seeds.
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
for target in "$@"; do
    mkdir -p "$found/$target"
    # No crate of ours has unsafe code, so an address sanitizer would only slow it down.
    cargo fuzz run --sanitizer none "$target" "$found/$target" "$PWD/corpus/$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=512 -timeout=10 -max_len=16384 -print_final_stats=1 \
        2> "$found/$target.log" || { tail -n 40 "$found/$target.log" >&2; exit 1; }
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$target.log")
    memory=$(sed -n 's/^stat::peak_rss_mb: *//p' "$found/$target.log")
    echo "$target: $executions executions in $seconds s, no crash, at most $memory MiB"
done
