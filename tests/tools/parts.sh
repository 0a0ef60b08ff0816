# Sourced by test.sh: the parts of the tests, each timed.

PART_LINES=()

# part <name> <command...>   runs a part; on failure says which and ends.
part() {
  local name=$1 start=$SECONDS status
  shift
  echo "== $name"
  # Not in a condition: bash would go on after a command of the part that failed.
  set +e
  (set -e; "$@")
  status=$?
  set -e
  if [ "$status" -ne 0 ]; then
    echo "== $name FAILED after $((SECONDS - start)) s" >&2
    exit 1
  fi
  echo "-- $name passed after $((SECONDS - start)) s"
  PART_LINES+=("$(printf '%-20s %5d s' "$name" $((SECONDS - start)))")
}

summary() {
  echo "== minutes of each part"
  printf '%s\n' "${PART_LINES[@]}"
  printf 'all parts: %d min\n' $((SECONDS / 60))
  echo "${#PART_LINES[@]} passed, 0 failed"
}

sources() { git ls-files '*.cpp' '*.hpp' | grep -v '^contracts/include/libc' ; }

# Formatting, layering and purity: nothing of it is a matter of taste.
run_guards() {
  sources | xargs -n 64 clang-format-16 --dry-run -Werror
  build/release/bin/tidy .
  tests/tidy/planted.sh build/release/bin/tidy
}

# run_unit_tests <preset>
run_unit_tests() {
  local only=(-LE network)
  [ "$1" = fuzz ] && only=(-LE 'network|apart')
  ctest --test-dir "build/$1" --output-on-failure -j 2 "${only[@]}"
}

# With ThreadSanitizer, the tests that start threads.
run_thread_tests() {
  TSAN_OPTIONS="suppressions=$PWD/tests/tools/tsan.txt" \
    ctest --test-dir build/tsan --output-on-failure -j 2 -L threads
}

# clang-tidy over the files that changed since the commit in tests/tidy/BASELINE. The campaign
# `tidy` checks all files and moves the baseline.
run_clang_tidy() {
  local base files
  base=$(cat tests/tidy/BASELINE)
  files=$(git diff --name-only --diff-filter=d "$base" -- '*.cpp')
  [ -z "$files" ] && { echo "no file changed since ${base:0:8}"; return; }
  # shellcheck disable=SC2086  # One argument for each file.
  tests/tidy/lint.py build/release $files
}

# The recorded cases of nodeos and keosd.
run_vectors() { tests/vectors/run.sh build/release; }

run_clients() { tests/clients/run.sh build/release; }

run_crash_rounds() { tests/network/crash.py --build build/release --rounds "$1"; }

# The command line against a node; a full disk; four validators as processes: parted and healed in network
# namespaces; what doctor says; who joins, enters, leaves and goes on with other keys; journals lost,
# new disks, lists of who may connect, a recovery; two chains by twins of
# two validators; shared memory and TCP in turns; old blocks from an archive; snapshots and a node that
# begins with one, joined by a line from one to the next; whom a blank node believes; a node behind nginx and a
# forwarder; brokers of Kafka's clients; contracts that loop, fail and recurse; contracts that others compiled.
# Two at a time, each with a loopback of its own, so that no port of one is taken by another; those that
# compare times run alone. The former wait most of their time, in which the build for the fuzzers goes on.
run_network() {
  ctest --test-dir build/release --output-on-failure -L network
  export -f network_test alone
  build_aside fuzz light_tests fuzzers
  printf '%s\n' operating contracts pruning archive snapshot_join members snapshots doctor partition clocks fork transports \
    invite full_disk believed proxy broker_versions broker broker_cli broker_syncs | xargs -P 2 -I{} bash -c 'network_test {}'
  stop_aside
  tests/network/trust.py --build build/release --seconds 20
  for only in poison deep failing dry_runs; do
    tests/network/poison.py --build build/release --only $only
  done
}

# Each sender of SECURITY.md's table, and what others wait for meanwhile.
run_hostile() { alone tests/hostile/run.py --build build/release "$@"; }

# alone <command...>   with a loopback of its own, so that no port is taken by another.
alone() { unshare --net bash -c 'ip link set lo up && exec "$@"' - "$@"; }

# network_test <name>   what it says comes when it has ended, in one piece.
network_test() {
  local log=build/network-$1.log start=$SECONDS status=0
  alone "tests/network/$1.py" --build build/release > "$log" 2>&1 || status=$?
  flock build/network.lock cat "$log"
  echo "-- $1.py: $([ $status = 0 ] && echo passed || echo FAILED) after $((SECONDS - start)) s"
  return $status
}

# A build without libibverbs; then RDMA on real verbs, in a machine of its own: paths and channels,
# then validators. In such a machine, too: what a killed validator leaves in a core file.
run_rdma() {
  tests/rdma/without_library.sh build/no-rdma
  tests/rdma/run.sh build/release --durations yes
  tests/rdma/network.py --build build/release
  tests/rdma/vm/run.sh --devices 0 --no-share --mem 3072M --timeout 300 -- \
    tests/node/memory_test.py build/release/bin/bor-node build/release/bin/bor-cli --dump
}

# Channels, then whole nodes, through a PCI device's memory and doorbells, between two virtual
# machines.
run_ivshmem() {
  tests/rdma/ivshmem.sh build/release
  tests/rdma/pci_network.py --build build/release
}

# A real node uses at most three times what it bills, whatever is asked of it.
run_patterns() {
  build_preset release bench_patterns
  bench/patterns/measure.py --build build/release --rows 15 --failure 6
}

run_package() { tests/package/run.sh build/release; }

# simulate <profile> <seeds> <first seed>   two workers; a failure prints how to replay it.
simulate() {
  build/release/bin/bor-sim --profile "$1" --seeds "$2" --from "$3" --workers 2
}

# notice_mutant <rule> <profile> <seeds> <first>   without this rule a seed must fail, among so many; the table says
# which is the first.
notice_mutant() {
  local log="build/mutant-$2-$1.log"
  if ! build/release/bin/bor-mutants --profile "$2" --seeds "$3" --workers 1 --mutant "$1" \
    --expect-failure > "$log" 2>&1; then
    echo "without $1 nobody notices anything in $3 seeds of profile $2" >&2
    return 1
  fi
  echo "without $1: $(grep -o -m 1 'seed [0-9]*' "$log"), in the table $4: $(grep -m 1 FAILED "$log" | cut -c1-90)"
}

# notice_mutants <most seeds>   the rules of tests/sim/MUTANTS.md that are missed within so many
# seeds; each has to be missed within the seeds that spec 09 gives it.
notice_mutants() {
  export -f notice_mutant
  awk -F ' *[|] *' -v most="$1" '$3 ~ /^(consensus|beyond|lives|full|narrow)$/ && $4 + 0 <= most {
    print $2, $3, ($3 ~ /full|narrow/ ? 200 : 2000), $4 }' tests/sim/MUTANTS.md |
    xargs -P 2 -L 1 bash -c 'notice_mutant "$@"' -
}

# All that can happen within small bounds; the rules that keep it safe are needed there.
run_model() {
  build/release/bin/bor-model --slots 3 --variants 1 --byzantine 2 &&
    build/release/bin/bor-model --slots 2 --variants 1 --restarts yes --compare yes || return 1
  local mutant
  for mutant in notarize-justify-at-lock past-votes; do
    build/release/bin/bor-model-mutants --slots 3 --variants 1 --byzantine 1 --mutant $mutant --expect-failure \
      > "build/model-$mutant.log" ||
      { echo "mutant $mutant makes no conflict in the model" >&2; return 1; }
    echo "model, mutant $mutant: $(grep -m 1 FAILED "build/model-$mutant.log" | cut -c1-90)"
  done
}

# One minute: worlds of every day, mutants, and every seed that ever failed.
run_simulator() {
  run_model || return 1
  simulate consensus 1200 1 && simulate beyond 200 1 && simulate lives 200 1 &&
    simulate full 20 1 && simulate ahead 10 1 && simulate narrow 10 1 &&
    notice_mutants 40 || return 1
  local profile seed
  while read -r profile seed _; do
    build/release/bin/bor-sim --profile "$profile" --seed "$seed" > build/sim-seed.log ||
      { cat build/sim-seed.log; return 1; }
  done < <(grep -v '^#' tests/sim/failed_seeds.txt)
}

# run_fuzz <seconds>   all targets together, each with its corpus.
run_fuzz() {
  local targets seconds
  targets=$(ls build/fuzz/bin/fuzz_* | grep -v '\.')
  seconds=$(($1 / $(echo "$targets" | wc -l) + 1))
  for target in $targets; do fuzz_one "$target" "$seconds" || return 1; done
}

fuzz_one() {
  local name corpus
  name=$(basename "$1")
  corpus=tests/fuzz/corpus/${name#fuzz_}
  mkdir -p "$corpus" "build/fuzz/found/$name"
  if ! "$1" -max_total_time="$2" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/found/$name-" "build/fuzz/found/$name" "$corpus" \
      > "build/fuzz/$name.log" 2>&1; then
    tail -40 "build/fuzz/$name.log"
    return 1
  fi
  echo "$name: $(grep -o 'number_of_executed_units: [0-9]*' "build/fuzz/$name.log" | grep -o '[0-9]*') runs"
}
