#!/usr/bin/env bash
# Installs what is missing, builds, starts four validators on this machine, makes accounts, deploys
# the token, transfers, shows what became final and how fast, kills a validator, restarts it, revokes
# it, adds two nodes that begin with a snapshot, and serves clients of Kafka. Runs until Ctrl-C.
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
install_packages demo
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

# until_true SECONDS WORDS...   until the command succeeds: what it did last is shown if it never does.
until_true() {
  local end=$((SECONDS + $1))
  until "${@:2}" > "$network/said" 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { cat "$network/said" >&2; return 1; }
    sleep 0.2
  done
}

# From here on the first node forgets older blocks: a new node needs a snapshot (9). The first snapshot is of
# a block with others below it: step 9 waits until the node has forgotten these.
wait_final 0 10 20
bor snapshot create > /dev/null

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
is_refused() { grep -e revoked "$network/bord/log"; }
until_true 60 is_refused || { echo "bord was not refused" >&2; exit 1; }
is_refused | tail -1
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
  for _ in $(seq 600); do
    command=$(grep -o 'node add .*' "$network/$1.out") && break
    sleep 0.1
  done
  [ -n "$command" ] || { cat "$network/$1.out" >&2; return 1; }
  # shellcheck disable=SC2086  # Its words.
  bor $command > /dev/null
  wait $! || { cat "$network/$1.out" >&2; return 1; }
  cat "$network/$1.out"
  grep 'begins with the snapshot' "$network/$1/$1/log"
  echo "$1 is at the head $((($(date +%s%N) - start) / 1000000)) ms after it was started, registration included"
  [ "$(build/release/bin/bor-cli --dir "$network/$1" get currency balance bank.token bob)" = "12.5000 SYS" ]
}
has_pruned() {
  local earliest
  earliest=$(number_of 0 earliest_available_block_num)
  echo "the earliest block of the first node is $earliest"
  [ "$earliest" -gt 2 ]
}
until_true 60 has_pruned || { echo "the first node has all its blocks after 60 s" >&2; exit 1; }
join first "$(bor network invite)"
join second "$(build/release/bin/bor-cli --dir "$network/first" network invite)"

say "10. A broker: kcat produces, kafkajs consumes in a group"
npm ci --prefix tests/clients --no-audit --no-fund --silent 2> >(grep -v 'npm warn' >&2)
broker=127.0.0.1:$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => {
  console.log(s.address().port); s.close(); })')
broker_key=$(bor key create --r1 --node --file "$network/broker.key" | grep -o 'PUB_R1_.*')
bor create account eosio bps "$key"
bor create account eosio broker1 "$key" "$broker_key"
# A large contract may not fit into what is left of a slot of 100 ms on a busy machine.
until_true 60 bor set contract bps build/release/contracts/bps
bor push action eosio setpriv '["bps",1]' -p eosio
bor bps broker add 1 broker1
bor bps delegate bps 1 createtopic --prefix __consumer_offsets
cat >> "$network/bora/config/config.ini" << END
plugin = bps
bps-broker = 1
bps-account = broker1
bps-account-key = $network/broker.key
bps-listen-endpoint = $broker
bps-anonymous = alice@active
END
# restart_first SIGNAL   the first node, which has the broker.
restart_first() {
  local pid
  pid=$(sed -n 's/.*"pid": \([0-9]*\),.*/\1/p' "$network/network.json" | head -1)
  kill "-$1" "$pid"
  # Ended, though its parent may not have noticed: its first thread may end before others, and these hold its files.
  while grep -q -E 'State:.[^Z]|Threads:.([2-9]|1.)' "/proc/$pid/status" 2> /dev/null; do sleep 0.05; done
  bor network up > /dev/null
}
restart_first TERM
has_leader() { kcat -b "$broker" -L -t "$1" 2>&1 | grep 'leader 1,'; }
# topic NAME PARTITIONS   a broker says on the chain that it is there, some blocks after its start.
topic() {
  until_true 60 bor bps topic create alice "$1" --partitions "$2"
  until_true 60 has_leader "$1" || { echo "topic $1 has no leader after 60 s" >&2; return 1; }
}
topic orders 1
seq 1000 | kcat -b "$broker" -P -t orders -X acks=all
node tests/clients/kafka/read_group.js "$broker" orders readers 1000 > "$network/read"
cmp "$network/read" <(seq 1000)
seq 1001 1010 | kcat -b "$broker" -P -t orders -X acks=all
node tests/clients/kafka/read_group.js "$broker" orders readers 10 > "$network/read"
cmp "$network/read" <(seq 1001 1010)
bor bps lag readers
echo "1010 records came back equal and in order; the group went on where it was"

say "11. A grant is taken back: the next fetch is refused"
bor bps grant alice orders bob consume
token=$(bor -j bps token bob | sed -n 's/^  "token": "\(.*\)",*/\1/p')
as_bob() {
  timeout 90 kcat -b "$broker" -C -t orders -X security.protocol=sasl_plaintext -X sasl.mechanisms=PLAIN \
    -X sasl.username=bob@active -X sasl.password="$token" "$@"
}
bob_reads_all() { [ "$(as_bob -o beginning -e -q | wc -l)" = 1010 ]; }
until_true 60 bob_reads_all
as_bob -o end > /dev/null 2> "$network/waits" &
waits=$!
until_true 60 grep 'Reached end' "$network/waits"
grant=$(bor -j bps grants alice | sed -n 's/^ *"id": \([0-9]*\),*/\1/p')
bor bps revoke alice "$grant"
wait "$waits" && { echo "bob's kcat went on" >&2; exit 1; }
grep -i 'authorization failed' "$network/waits" || { cat "$network/waits" >&2; exit 1; }
echo "(as it should)"

say "12. kill -9 of the broker under load: nothing acknowledged is lost"
topic load 2
# load PARTITION ACKS   until $network/stop is there; what was acknowledged is in $network/acked.PARTITION.
load() {
  local number=0 batch
  while [ ! -e "$network/stop" ]; do
    number=$((number + 1))
    batch=$(seq -f "$1.$number.%g" 50)
    if [ "$(kcat -b "$broker" -P -t load -p "$1" -vvv -X acks="$2" -X message.timeout.ms=3000 <<< "$batch" 2>&1 |
      grep -c 'Message delivered')" = 50 ]; then
      echo "$batch" >> "$network/acked.$1"
    fi
  done
}
touch "$network"/acked.{0,1}
load 0 1 &
loads=$!
load 1 all &
loads="$loads $!"
has_acked() { [ "$(wc -l < "$network/acked.$1")" -ge "$2" ]; }
# acked MORE   waits for so many more records of both.
acked() {
  local partition goals=()
  for partition in 0 1; do goals+=($(($(wc -l < "$network/acked.$partition") + $1))); done
  for partition in 0 1; do until_true 120 has_acked "$partition" "${goals[$partition]}"; done
}
for _ in 1 2 3; do
  acked 500
  restart_first KILL
done
acked 500
touch "$network/stop"
# shellcheck disable=SC2086  # Two numbers.
wait $loads
for partition in 0 1; do
  kcat -b "$broker" -C -t load -p $partition -o beginning -e -q | sort > "$network/stored"
  lost=$(comm -23 <(sort "$network/acked.$partition") "$network/stored" | wc -l)
  echo "acks=$([ $partition = 0 ] && echo 1 || echo all): $(wc -l < "$network/acked.$partition") acknowledged," \
    "$(wc -l < "$network/stored") stored, $lost lost, through 3 kills"
  [ "$lost" = 0 ]
done

if [ "$check" = yes ]; then
  say "good"
  exit 0
fi
say "Running: $(sed -n 's/.*"http": "\(.*\)",/\1/p' "$network/network.json") in a browser; try"
echo "  build/release/bin/bor-cli --dir $network get info"
echo "  build/release/bin/bor-cli --dir $network transfer --contract bank.token bob alice '1.0000 SYS'"
echo "Ctrl-C stops it."
sleep infinity
