#!/usr/bin/env bash
# Builds and runs what measures the agreement; the tables go to standard output. Five minutes on a
# quiet machine.
#
#   bench/consensus/run.sh [--built BUILD]      with --built: of this build, without building
set -euo pipefail
cd "$(dirname "$0")/../.."

build=build/release
if [ "${1:-}" = --built ]; then
  build=$2
else
  cmake --preset release > /dev/null
  cmake --build build/release --target bench_consensus bor-node bor-cli bor-wallet bor-sim \
    contracts
fi
uptime
"$build/bin/bench_consensus" --validators 4
"$build/bin/bench_consensus" --validators 4 --sync-delay 1
"$build/bin/bench_consensus" --validators 21 --interval 500 --blocks 60
bench/consensus/load.py "$build"

# rate PROFILE SEEDS   of the simulator, on two workers.
rate() {
  local start=$SECONDS
  "$build/bin/bor-sim" --profile "$1" --seeds "$2" --from 1 --workers 2 > /dev/null
  local took=$((SECONDS - start))
  [ "$took" -gt 0 ] || took=1
  echo "simulator, profile $1: $2 seeds in $took s, $(($2 * 3600 / took)) an hour"
}
rate consensus 600
rate full 20
