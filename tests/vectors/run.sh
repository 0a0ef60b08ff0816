#!/usr/bin/env bash
# Replays every recorded case of nodeos and keosd against a node and a wallet of its own.
#   tests/vectors/run.sh BUILD_DIR [options of replay.py run]
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
shift
cd "$(dirname "$0")"

work=$(mktemp -d)
wallet=
finish() {
  "$build/bin/bor-cli" --dir "$work/net" network down > /dev/null 2>&1 || true
  [ -n "$wallet" ] && kill "$wallet" 2> /dev/null || true
  rm -rf "$work"
}
trap finish EXIT

# The public development key of Antelope, with which the recordings were made.
echo 5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3 > "$work/system.key"
options=()
for option in --verbose-http-errors=true --max-body-size=2097152 --http-max-response-time-ms=1000 \
    "--access-control-allow-origin=*" "--access-control-allow-headers=Content-Type" \
    --access-control-max-age=3600; do
  options+=("--node-option=$option")
done
"$build/bin/bor-cli" --dir "$work/net" network up --open --system-key "$work/system.key" "${options[@]}"
url=$(sed -n 's/.*"http": "\(.*\)",/\1/p' "$work/net/network.json")

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir "$work/wallet"
"$build/bin/bor-wallet" --data-dir "$work/wallet" --http-server-address "127.0.0.1:$port" \
  --http-token none --verbose-http-errors > "$work/wallet.log" 2>&1 &
wallet=$!

# Cases look at the first blocks, which were empty when they were recorded.
until [ "$("$build/bin/bor-cli" -u "$url" get info | sed -n 's/.*"head_block_num": \([0-9]*\),/\1/p')" -gt 5 ]; do
  sleep 0.2
done
python3 replay.py setup --url "$url" --contracts "$build/contracts-test" > "$work/setup.log" ||
  { cat "$work/setup.log"; exit 1; }
python3 replay.py run --url "$url" --api-url "$url" --wallet-url "http://127.0.0.1:$port" --failures-only "$@"
