#!/usr/bin/env bash
# Run a fuzz target for a bounded time on a copy of its corpus: run_fuzz.sh TARGET CORPUS WORK
# Its words are those of CORPUS.dict beside this script.
# What it finds on the way stays in WORK; an input that breaks the reader is left there as crash-*.
set -euo pipefail
target=$1
corpus=$2
work=$3

rm -rf "${work:?}"
mkdir -p "$work/corpus"
cp "$corpus"/* "$work/corpus"
exec "$target" -max_total_time=10 -rss_limit_mb=1024 -timeout=10 -max_len=8192 -seed=1 \
  -dict="$(dirname "$0")/$(basename "$corpus").dict" -artifact_prefix="$work/" "$work/corpus"
