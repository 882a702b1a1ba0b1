#!/usr/bin/env bash
# A scaling study of many launches: one job per number of nodes, then a job that merges them.
#
#   slurm/scaling.sh -n "1 2 4 8" -o study.h5 configs/scaling-strong.yaml -- --partition=cpu
#
# Each size runs in a job of its own size, as a user's job of that size would. What follows
# `--` goes to every sbatch. The study is made even if a job fails; the missing size is told.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'TXT'
usage: slurm/scaling.sh [-n "1 2 4"] [-r REPEATS] [-o STUDY.h5] [-t] CONFIG [-- SBATCH OPTIONS]

  -n   numbers of nodes, one job each (default "1 2")
  -r   launches of each size (default 1); 5 or more give the spread from launch to launch
  -o   the study to make (default study.h5); must not exist
  -t   only let Slurm check the jobs (sbatch --test-only)
TXT
}

sizes="1 2"
repeats=1
study=study.h5
test_only=no
while getopts 'n:r:o:th' flag; do
  case $flag in
  n) sizes=$OPTARG ;;
  r) repeats=$OPTARG ;;
  o) study=$OPTARG ;;
  t) test_only=yes ;;
  h)
    usage
    exit 0
    ;;
  *)
    usage >&2
    exit 3
    ;;
  esac
done
shift $((OPTIND - 1))
config=${1:-}
if [[ -z $config ]]; then
  usage >&2
  exit 3
fi
shift
[[ ${1:-} == -- ]] && shift
for n in $sizes $repeats; do
  if [[ ! $n =~ ^[1-9][0-9]*$ ]]; then
    printf 'scaling.sh: %s is not a number from 1\n' "$n" >&2
    exit 3
  fi
done
if [[ ! -r $config ]]; then
  printf 'scaling.sh: cannot read the config %s\n' "$config" >&2
  exit 3
fi
if [[ -e $study ]]; then
  printf 'scaling.sh: %s exists and is never overwritten; name another with -o\n' "$study" >&2
  exit 3
fi

export SEATRIAL_SLURM=$here
if [[ $test_only == yes ]]; then
  for n in $sizes; do
    sbatch --test-only --nodes="$n" "$@" "$here/run.sbatch" "$config" "$study"
  done
  exit 0
fi

ids=()
files=()
for n in $sizes; do
  for ((k = 1; k <= repeats; k++)); do
    file=${study%.h5}-n$n-$k.h5
    id=$(sbatch --parsable --nodes="$n" "$@" "$here/run.sbatch" "$config" "$file")
    ids+=("${id%%;*}")
    files+=("$file")
    printf 'job %s: %s node(s), %s\n' "${id%%;*}" "$n" "$file"
  done
done

# The merge runs when all have ended, however they ended.
dependency=afterany:$(IFS=:; printf '%s' "${ids[*]}")
id=$(sbatch --parsable --nodes=1 --ntasks=1 --time=10 --job-name=seatrial-merge \
  --dependency="$dependency" --output="${study%.h5}-merge.out" "$@" \
  "$here/merge.sbatch" "$study" "${files[@]}")
printf 'job %s: merges them into %s\n' "${id%%;*}" "$study"
