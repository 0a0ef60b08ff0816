#!/usr/bin/env bash
# Installs what is missing, builds, starts four validators on this machine, makes accounts, deploys
# the token, transfers, shows what became final and how fast, kills a validator, restarts it, revokes
# it, and adds two nodes that begin with a snapshot. Runs until Ctrl-C.
#
#   ./demo.sh            keeps running
#   ./demo.sh --check    verifies each step, stops, and exits 0 or 1
set -euo pipefail
cd "$(dirname "$0")"

check=no
case "${1:-}" in
  "") ;;
  --check) check=yes ;;
  *) echo "demo.sh: unknown option '$1'; known is --check" >&2; exit 2 ;;
esac

source tests/tools/install.sh
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }

say "1. Installing what is missing, and building"
install_packages build
build_preset release bor-node bor-cli bor-wallet contracts

network=$(mktemp -d)
bor() { build/release/bin/bor-cli --dir "$network" "$@"; }
stop() {
  for new in first second; do
    build/release/bin/bor-cli --dir "$network/$new" network down > /dev/null 2>&1 || true
  done
  bor network down > /dev/null 2>&1 || true
  [ "$check" = no ] && [ -d "$network" ] && rm -rf "$network"
  [ "$check" = yes ] && rm -rf "$network"
  return 0
}
trap stop EXIT

say "2. A network in one command"
bor network up -n 4 --open --block-interval 100 --node-option --history=none
key=$(sed -n 's/.*"public": "\(EOS[^"]*\)".*/\1/p' "$network/network.json")

say "3. Accounts and the token contract"
for name in bank.token alice bob; do bor create account eosio "$name" "$key"; done
bor set contract bank.token build/release/contracts/token > /dev/null
bor push action bank.token create '["alice","1000000.0000 SYS"]' -p bank.token
bor push action bank.token issue '["alice","1000.0000 SYS","first money"]' -p alice

say "4. A transfer, and how long until it is final"
start=$(date +%s%N)
id=$(bor -j transfer --contract bank.token alice bob '12.5000 SYS' 'hello' |
  sed -n 's/^  "transaction_id": "\(.*\)",/\1/p')
state=
for _ in $(seq 100); do
  state=$(bor get transaction-status "$id" | sed -n 's/^  "state": "\(.*\)",/\1/p')
  [ "$state" = IRREVERSIBLE ] && break
  sleep 0.02
done
echo "transaction $id: $state after $((($(date +%s%N) - start) / 1000000)) ms (blocks are 100 ms apart)"
[ "$state" = IRREVERSIBLE ]
balance=$(bor get currency balance bank.token bob)
echo "bob has $balance"
[ "$balance" = "12.5000 SYS" ]

say "5. The contract's own words when it refuses"
refusal=$(bor transfer --contract bank.token alice bob '99999.0000 SYS' 2>&1 || true)
echo "$refusal"
grep -q 'overdrawn balance' <<< "$refusal" || { echo "the refusal is missing" >&2; exit 1; }
echo "(as it should)"

# From here on the first node forgets older blocks: who joins needs a snapshot (9).
bor snapshot create > /dev/null

# number_of NODE FIELD: of the node's /v1/chain/get_info, where 0 is the first node.
mapfile -t urls < <(sed -n 's/.*"http": "\(.*\)",/\1/p' "$network/network.json")
mapfile -t pids < <(sed -n 's/.*"pid": \([0-9]*\),.*/\1/p' "$network/network.json")
number_of() { bor -u "${urls[$1]}" get info | sed -n "s/^  \"$2\": \([0-9]*\),*/\1/p"; }
final_of() { number_of "$1" last_irreversible_block_num; }
# wait_final NODE HEIGHT SECONDS
wait_final() {
  for _ in $(seq $(($3 * 20))); do
    [ "$(final_of "$1" || echo 0)" -ge "$2" ] && return 0
    sleep 0.05
  done
  echo "node $1: block $2 is not final after $3 s" >&2
  return 1
}

say "6. kill -9 of one of the four: finality goes on"
kill -9 "${pids[3]}"
before=$(final_of 0)
wait_final 0 $((before + 20)) 20
echo "blocks $before to $(final_of 0) became final without it"
[ "$(bor get currency balance bank.token bob)" = "12.5000 SYS" ]

say "7. Started again it catches up, and votes"
start=$(date +%s%N)
bor network up > /dev/null
goal=$(final_of 0)
wait_final 3 "$goal" 20
echo "it has block $goal as final $((($(date +%s%N) - start) / 1000000)) ms after its start"
[ "$(bor -u "${urls[3]}" get currency balance bank.token bob)" = "12.5000 SYS" ]
# Three of four votes make a block final: with another one down, its own is needed.
kill -9 "${pids[2]}"
before=$(final_of 3)
wait_final 3 $((before + 10)) 20
echo "with another one down its vote is needed: blocks $before to $(final_of 3) are final"
bor network up > /dev/null
wait_final 2 "$before" 20

say "8. A node whose key is revoked is refused"
bor push action eosio rmnode '["bord"]' -p bord > /dev/null
refused=no
for _ in $(seq 100); do
  grep -q -e revoked "$network/bord/log" && { refused=yes; break; }
  sleep 0.1
done
grep -e revoked "$network/bord/log" | tail -1
[ "$refused" = yes ] || { echo "bord was not refused" >&2; exit 1; }
before=$(final_of 0)
wait_final 0 $((before + 10)) 20
echo "the other three go on: block $(final_of 0) is final"

say "9. New nodes: each joins by one line, with a snapshot, the second from the first alone"
# join NAME LINE   registered as soon as it says which registration it waits for.
join() {
  local start command=
  start=$(date +%s%N)
  build/release/bin/bor-cli --dir "$network/$1" network up --join "$2" --name "$1" --organisation bora \
    > "$network/$1.out" 2>&1 &
  for _ in $(seq 100); do
    command=$(grep -o 'node add .*' "$network/$1.out") && break
    sleep 0.1
  done
  # shellcheck disable=SC2086  # Its words.
  bor $command > /dev/null
  wait $! || { cat "$network/$1.out" >&2; return 1; }
  cat "$network/$1.out"
  grep 'begins with the snapshot' "$network/$1/$1/log"
  echo "$1 is at the head $((($(date +%s%N) - start) / 1000000)) ms after it was started, registration included"
  [ "$(build/release/bin/bor-cli --dir "$network/$1" get currency balance bank.token bob)" = "12.5000 SYS" ]
}
for _ in $(seq 100); do
  [ "$(number_of 0 earliest_available_block_num)" -gt 2 ] && break
  sleep 0.1
done
join first "$(bor network invite)"
join second "$(build/release/bin/bor-cli --dir "$network/first" network invite)"

if [ "$check" = yes ]; then
  say "good"
  exit 0
fi
say "Running: $(sed -n 's/.*"http": "\(.*\)",/\1/p' "$network/network.json") in a browser; try"
echo "  build/release/bin/bor-cli --dir $network get info"
echo "  build/release/bin/bor-cli --dir $network transfer --contract bank.token bob alice '1.0000 SYS'"
echo "Ctrl-C stops it."
sleep infinity
