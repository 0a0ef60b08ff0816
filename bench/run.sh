#!/usr/bin/env bash
# Builds the benchmarks and runs all of them; the tables go to standard output.
#
#   bench/run.sh                   everything, about a quarter of an hour on a quiet machine
#   bench/run.sh --smoke [BUILD]   a tiny amount of some, in seconds: do they still run?
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
programs=(bench_vm bench_execution bench_host bench_state bench_replay bench_pipeline
  bench_accounts)

if [ "${1:-}" = --smoke ]; then
  bin=${2:-build/release}/bin
  "$bin/bench_replay" --transactions 200 --block 50 --accounts 200
  "$bin/bench_pipeline" --transactions 200 --accounts 200 --interval 100
  if [ -x "$bin/bench_accounts" ]; then "$bin/bench_accounts" --accounts 200 --transfers 20; fi
  exit
fi

cmake --preset release > /dev/null
cmake --build build/release --target "${programs[@]}" bor-transport-bench bor-node bor-cli bor-wallet contracts
uptime
"$bin/bench_vm"
"$bin/bench_vm" --kernels
"$bin/bench_execution"
"$bin/bench_host"
"$bin/bench_state"
"$bin/bench_replay"
"$bin/bench_pipeline"
"$bin/bench_accounts"
"$bin/bor-transport-bench"
bench/http/bench_http.py build/release
