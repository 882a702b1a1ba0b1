#!/usr/bin/env bash
# A step whose deadline passes: status 2, the report names the rank, within deadline + 15 s.
# usage: test_measure_deadline.sh MPIEXEC PROGRAM
set -euo pipefail

mpiexec=$1
program=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
host=$(hostname -s)
deadline_s=3

fail() {
    echo "FAILED: $*" >&2
    cat "$scratch/out" >&2
    exit 1
}

# play MODE CULPRIT: run three ranks, expect status 2 in time, leave the output in $scratch/out
play() {
    local status=0 begin=$SECONDS
    # an older campaign's records must not count as answers
    printf 'step stall: rank %d on %s left over\n' "$2" "$host" >"$scratch/late"
    timeout 60 "$mpiexec" --oversubscribe --bind-to none -n 3 "$program" "$1" "$2" \
        "$scratch/late" >"$scratch/out" 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$1 $2: status $status, expected 2"
    [ $((SECONDS - begin)) -le $((deadline_s + 15)) ] ||
        fail "$1 $2: took $((SECONDS - begin)) s"
    grep -q "step 'stall' did not end within its deadline of $deadline_s s" "$scratch/out" ||
        fail "$1 $2: no report"
}

expect() {
    grep -qE "$1" "$scratch/out" || fail "expected: $1"
}

play stop 2
expect 'did not answer \(stopped, dead or unreachable\):'
expect "^    rank 2 on $host$"
expect "^    rank 0 on $host waits in start barrier of repetition|decision after a batch"
expect 'saved by rank 0'

# rank 0 is the silent one: another rank speaks for it
play stop 0
expect "^    rank 0 on $host$"
expect 'saved by rank 1'

# nobody is dead, one rank works on: it is told apart from those that wait
play loop 1
expect 'answered and still at work'
expect "^    rank 1 on $host is inside run of repetition 3, section 0"
if grep -q 'did not answer' "$scratch/out"; then
    fail "loop 1: all ranks answered"
fi
echo "three stalled steps reported and ended with status 2"
