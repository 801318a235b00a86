#!/bin/sh
# Our A2C against Stable-Baselines3's, in environment steps per second on one core.
#
# Usage: bench/stable_baselines3.sh [COMMAND...]
# COMMAND is run in the workspace root and prints our steps per second; without
# one, the example a2c_speed is run.
# Exit status: 0 fast enough, 1 too slow, 2 a measurement failed, 3 no set-up.
set -u

least_ratio=40
repeats=3
cd "$(dirname "$0")/.." || exit 2
. bench/venv.sh

best() { # NAME COMMAND...
    name=$1
    shift
    highest=0
    for _ in $(seq "$repeats"); do
        speed=$($one_core "$@") || stop 2 "$name: '$*' failed"
        highest=$(awk -v speed="$speed" -v highest="$highest" 'BEGIN {
            if (speed !~ /^[0-9]+([.][0-9]+)?$/ || speed + 0 == 0) exit 1
            print (speed + 0 > highest + 0 ? speed : highest)
        }') || stop 2 "$name: '$*' printed '$speed', expected one number, steps per second"
    done
    echo "$highest"
}

set_up
if [ $# -eq 0 ]; then
    set -- cargo run --release --quiet --package appropo --example a2c_speed
    # Built beforehand, on all cores.
    cargo build --release --quiet --package appropo --example a2c_speed ||
        stop 2 "appropo: the example a2c_speed does not build"
fi

export OMP_NUM_THREADS=1
one_core=
if taskset -c 0 true 2>/dev/null; then
    one_core="taskset -c 0"
else
    echo "bench: no taskset here; held to one thread but not to one core" >&2
fi

theirs=$(best "Stable-Baselines3" "$venv/bin/python" bench/a2c_speed.py) || exit
ours=$(best "appropo" "$@") || exit

awk -v theirs="$theirs" -v ours="$ours" -v least="$least_ratio" 'BEGIN {
    printf "%-18s %14s\n", "A2C, one core", "steps/second"
    printf "%-18s %14.0f\n", "Stable-Baselines3", theirs
    printf "%-18s %14.0f\n", "appropo", ours
    printf "ratio %.1f, at least %s wanted\n", ours / theirs, least
    exit ours < least * theirs
}' || stop 1 "appropo is less than $least_ratio times as fast as Stable-Baselines3"
