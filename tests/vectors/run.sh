#!/usr/bin/env bash
# Replays every recorded case of nodeos and keosd against a node, two that follow it, and a wallet.
#   tests/vectors/run.sh BUILD_DIR [options of replay.py run]
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
shift
cd "$(dirname "$0")"

work=$(mktemp -d)
started=()
finish() {
  "$build/bin/bor-cli" --dir "$work/net" network down > /dev/null 2>&1 || true
  for pid in "${started[@]}"; do kill "$pid" 2> /dev/null || true; done
  wait
  rm -rf "$work"
}
trap finish EXIT

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
net() { "$build/bin/bor-cli" --dir "$work/net" "$@"; }
# The number at this name in what the node at a URL says of itself.
info() { "$build/bin/bor-cli" -u "$1" get info | sed -n "s/.*\"$2\": \\([0-9]*\\),/\\1/p"; }
# make_node_key FILE   prints the public key.
make_node_key() {
  "$build/bin/bor-cli" key create --r1 --node --file "$1" | sed -n 's/.*public key: //p'
}

# The public development key of Antelope, with which the recordings were made.
echo 5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3 > "$work/system.key"
# The peers of the recording's second node know the first by this address.
p2p=127.0.0.1:7877
first_key=$(make_node_key "$work/first.key")
# Cases of an operator come over TCP, where he is known by this.
(umask 077 && openssl rand -hex 32 > "$work/token")
options=()
for option in --verbose-http-errors=true --max-body-size=2097152 --http-max-response-time-ms=1000 \
    "--access-control-allow-origin=*" "--access-control-allow-headers=Content-Type" \
    --access-control-max-age=3600 "--p2p-listen-endpoint=$p2p" "--p2p-node-key=$work/first.key" \
    "--http-operator-token-file=$work/token" --max-transaction-time=1000 --subjective-failure-ms-per-minute=0; do
  # The last two are by the wall clock, which a busy machine overruns.
  options+=("--node-option=$option")
done
net network up --open --system-key "$work/system.key" "${options[@]}"
url=$(sed -n 's/.*"http": "\(.*\)",/\1/p' "$work/net/network.json")

port=$(free_port)
mkdir "$work/wallet"
"$build/bin/bor-wallet" --data-dir "$work/wallet" --http-server-address "127.0.0.1:$port" \
  --http-token none --verbose-http-errors > "$work/wallet.log" 2>&1 &
started+=($!)

# Cases look at the first blocks, which were empty when they were recorded.
until [ "$(info "$url" head_block_num)" -gt 5 ]; do sleep 0.2; done

# follow NAME VERBOSE   a node that follows the first; its URL is in follower_NAME.
follow() {
  local key http
  key=$(make_node_key "$work/$1.key")
  http=$(free_port)
  net node add eosio "$1" "$key" --role observer > /dev/null
  mkdir "$work/$1"
  "$build/bin/bor-node" --data-dir "$work/$1" --config-dir "$work/$1" --genesis-json "$work/net/genesis.json" \
    --http-server-address "127.0.0.1:$http" --p2p-node-key "$work/$1.key" --p2p-peer-address "$p2p#$first_key" \
    --plugin producer_api_plugin --plugin net_api_plugin --plugin db_size_api_plugin \
    --http-operator-token-file "$work/token" \
    --verbose-http-errors "$2" --max-body-size 2097152 --http-max-response-time-ms 1000 \
    --max-transaction-time 1000 --subjective-failure-ms-per-minute 0 > "$work/$1.log" 2>&1 &
  started+=($!)
  printf -v "follower_$1" 'http://127.0.0.1:%s' "$http"
}
net node add eosio first "$first_key" > /dev/null
follow second true
follow terse false

python3 replay.py setup --url "$url" --contracts "$build/contracts-test" > "$work/setup.log" ||
  { cat "$work/setup.log"; exit 1; }
for follower in "$follower_second" "$follower_terse"; do
  for _ in $(seq 150); do
    [ "$(info "$follower" head_block_num 2> /dev/null || echo 0)" -ge "$(info "$url" head_block_num)" ] && break
    sleep 0.2
  done
done
python3 replay.py run --url "$url" --api-url "$follower_second" --terse-url "$follower_terse" \
  --wallet-url "http://127.0.0.1:$port" --token "$work/token" --failures-only "$@"
