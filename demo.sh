#!/usr/bin/env bash
# Installs what is missing, builds, starts a validator on this machine, makes accounts, deploys the
# token, transfers, and shows what became final and how fast. Runs until Ctrl-C.
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
build_preset release bor-node bor-cli bor-wallet bor-wasm-compile contracts

network=$(mktemp -d)
bor() { build/release/bin/bor-cli --dir "$network" "$@"; }
stop() {
  bor network down > /dev/null 2>&1 || true
  [ "$check" = no ] && [ -d "$network" ] && rm -rf "$network"
  [ "$check" = yes ] && rm -rf "$network"
  return 0
}
trap stop EXIT

say "2. A network in one command"
bor network up --open --block-interval 100
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

say "6. kill -9, and again"
pid=$(sed -n 's/.*"pid": \([0-9]*\),.*/\1/p' "$network/network.json" | head -1)
kill -9 "$pid"
start=$(date +%s%N)
bor network up
echo "final blocks again $((($(date +%s%N) - start) / 1000000)) ms after the start"
[ "$(bor get currency balance bank.token bob)" = "12.5000 SYS" ]
[ "$(bor get transaction-status "$id" | sed -n 's/^  "state": "\(.*\)",/\1/p')" = IRREVERSIBLE ]
echo "the transfer is still final, bob still has 12.5000 SYS"

if [ "$check" = yes ]; then
  say "good"
  exit 0
fi
say "Running: $(sed -n 's/.*"http": "\(.*\)",/\1/p' "$network/network.json") in a browser; try"
echo "  build/release/bin/bor-cli --dir $network get info"
echo "  build/release/bin/bor-cli --dir $network transfer --contract bank.token bob alice '1.0000 SYS'"
echo "Ctrl-C stops it."
sleep infinity
