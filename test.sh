#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test; prints what each part took.
#
#   ./test.sh                  everything (what .ci/run calls)
#   ./test.sh --fast           one build, unit tests, guards and clients
#   ./test.sh --campaign NAME  a long one: crash, engine, fuzz, hostile, mutants, patterns, pruning, rdma, reproducible, ring, sanitizers, sim or tidy; noted in tests/CAMPAIGNS.md
set -euo pipefail
cd "$(dirname "$0")"

source tests/tools/install.sh
source tests/tools/parts.sh

mode=all
campaign=
case "${1:-}" in
  "") ;;
  --fast) mode=fast ;;
  --campaign) mode=campaign; campaign=${2:?"which campaign? crash, engine, fuzz, hostile, mutants, patterns, pruning, rdma, reproducible, ring, sanitizers, sim or tidy"} ;;
  *) echo "test.sh: unknown option '$1'; known are --fast and --campaign NAME" >&2; exit 2 ;;
esac

part "install" install_packages
if [ "$mode" = campaign ]; then
  source tests/tools/campaigns.sh
  run_campaign "$campaign"
  exit
fi

part "build release" build_preset release
part "guards" run_guards
part "unit tests" run_unit_tests release
part "clients" run_clients
part "vectors" run_vectors
part "simulator" run_simulator
if [ "$mode" = all ]; then
  part "clang-tidy" run_clang_tidy
  part "crash" run_crash_rounds 8
  part "network" run_network
  part "hostile" run_hostile
  part "patterns" run_patterns
  part "rdma" run_rdma
  part "package" run_package
  part "ivshmem" run_ivshmem
  # One build with ASan and UBSan serves the unit tests and the fuzz targets.
  part "build fuzz" build_preset fuzz light_tests fuzzers
  part "unit tests asan" run_unit_tests fuzz
  part "fuzz" run_fuzz 120
fi
summary
