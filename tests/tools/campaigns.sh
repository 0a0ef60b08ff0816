# Sourced by test.sh: the long tests. Each appends a line to tests/CAMPAIGNS.md.

# note_campaign <name> <amount> <minutes> <outcome>
note_campaign() {
  printf '| %s | %s | %s | %s | %s |\n' "$1" "$(git rev-parse --short HEAD)" "$2" "$3" "$4" >> tests/CAMPAIGNS.md
}

# differ <first seed> <seconds>   compares engines over random modules for so much processor time.
differ() {
  local first=$1 left=$2 count=20000 log took TIMEFORMAT=%U
  log=build/differ-$1.log
  while [ "$left" -gt 0 ]; do
    took=$({ time BOR_ORACLE_FIRST=$first BOR_ORACLE_MODULES=$count nice -n 19 build/release/bin/test_chain_vm \
      "the product bills what the reference*,the reference interpreter does what*" > "$log" 2>&1; } 2>&1) ||
      { cat "$log"; return 1; }
    first=$((first + count))
    left=$((left - ${took%.*} - 1))
  done
  echo "modules $1 to $((first - 1)): no difference"
}

run_campaign() {
  local start=$SECONDS outcome=passed amount
  case "$1" in
    crash)
      amount="50 rounds"
      build_preset release
      tests/network/crash.py --build build/release --rounds 50 || outcome=FAILED
      ;;
    fuzz)
      amount="10 minutes a target"
      build_preset fuzz
      ls build/fuzz/bin/fuzz_* | xargs -P 2 -I{} bash -c \
        'source tests/tools/parts.sh; fuzz_one {} 600' || outcome=FAILED
      ;;
    engine)
      # HOURS of processor time; FROM chooses other modules, so that amounts add up.
      amount="${HOURS:-4} CPU hours of random modules from ${FROM:-10000000} on: product, reference and WABT's interpreter"
      build_preset release test_chain_vm
      export -f differ
      for half in 0 1; do
        echo $((${FROM:-10000000} + half * 500000000)) $((${HOURS:-4} * 1800))
      done | xargs -P 2 -L 1 bash -c 'differ $0 $1' || outcome=FAILED
      ;;
    mutants)
      build_preset release bor-mutants
      notice_mutants 2000 || outcome=FAILED
      tests/tools/mutants.py | tee build/mutants.log || outcome=FAILED
      amount="the rules of tests/sim/MUTANTS.md; $(tail -1 build/mutants.log) of the contracts' engine and of snapshots, by unit tests"
      ;;
    patterns)
      amount="every pattern of work on four validators, then blocks filled with the worst"
      build_preset release
      bench/patterns/measure.py --build build/release --validators --json build/patterns.json || outcome=FAILED
      ;;
    hostile)
      amount="each sender's attacks, and one hour of all of them by chance"
      build_preset release
      run_hostile --whole && run_hostile --at-once 3600 || outcome=FAILED
      ;;
    reproducible)
      amount="the package built twice, without a cache"
      tests/package/twice.sh || outcome=FAILED
      ;;
    pruning)
      amount="100,000 blocks of four validators under load, pruned to 1,000"
      build_preset release
      tests/network/pruning.py --build build/release --blocks 100000 --keep 1000 || outcome=FAILED
      ;;
    rdma)
      amount="the driver of kernel 6.12; four validators and a blank node on rxe, all that can happen to a link, a device and a process"
      build_preset release
      BOR_VM_KERNEL=6.12 tests/rdma/run.sh build/release || outcome=FAILED
      tests/rdma/network.py --build build/release --count 4 --all --timeout 1800 || outcome=FAILED
      ;;
    ring)
      amount="1,000,000 mutations of a hostile peer's memory, 1,000,000 runs each of the ring's and the window's fuzzer"
      build_preset fuzz test_transport_ring fuzz_ring fuzz_window
      mkdir -p build/fuzz/found/fuzz_ring build/fuzz/found/fuzz_window
      build/fuzz/bin/test_transport_ring "a million mutations*" --durations yes || outcome=FAILED
      for name in ring window; do
        build/fuzz/bin/fuzz_$name -runs=1000000 -print_final_stats=1 "build/fuzz/found/fuzz_$name" \
          2>&1 | tail -12 || outcome=FAILED
      done
      ;;
    sanitizers)
      amount="ASan and UBSan: all unit tests; TSan: those that start threads"
      build_preset fuzz unit_tests
      ctest --test-dir build/fuzz --output-on-failure -j 2 -LE network || outcome=FAILED
      build_preset tsan thread_tests
      run_thread_tests || outcome=FAILED
      ;;
    tidy)
      amount="every source file"
      cmake --preset release > /dev/null
      tests/tidy/lint.py build/release || outcome=FAILED
      [ "$outcome" = passed ] && git rev-parse HEAD > tests/tidy/BASELINE
      ;;
    sim)
      # SEEDS and FROM choose other worlds, so that amounts add up.
      amount="consensus seeds ${FROM:-1}..$((${FROM:-1} + ${SEEDS:-100000} - 1)), ${BEYOND:-5000} beyond f, ${FULL:-3000} full"
      build_preset release bor-sim
      simulate consensus "${SEEDS:-100000}" "${FROM:-1}" || outcome=FAILED
      simulate beyond "${BEYOND:-5000}" "${FROM:-1}" || outcome=FAILED
      simulate full "${FULL:-3000}" "${FROM:-1}" || outcome=FAILED
      simulate lives 2000 "${FROM:-1}" || outcome=FAILED
      for profile in restored ahead narrow; do
        simulate "$profile" 200 "${FROM:-1}" || outcome=FAILED
      done
      ;;
    *) echo "unknown campaign '$1'; known are crash, engine, fuzz, mutants, patterns, pruning, rdma, ring, sanitizers, sim and tidy" >&2; return 2 ;;
  esac
  note_campaign "$1" "$amount" "$(((SECONDS - start + 59) / 60))" "$outcome"
  [ "$outcome" = passed ]
}
