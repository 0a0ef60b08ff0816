#!/usr/bin/env bash
# Unchanged clients of Antelope, and of Kafka, against a running node.
#   tests/clients/run.sh BUILD_DIR
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
cd "$(dirname "$0")"

npm ci --no-audit --no-fund --silent 2> >(grep -v 'npm warn' >&2)
network=$(mktemp -d)
trap '"$build/bin/bor-cli" --dir "$network" network down > /dev/null 2>&1 || true; rm -rf "$network"' EXIT
(umask 077 && openssl rand -hex 32 > "$network/token")
"$build/bin/bor-cli" --dir "$network" network up --open --block-interval 100 --broker kafka \
  --node-option "--http-operator-token-file=$network/token"
BOR_NETWORK=$network/network.json BOR_CONTRACTS=$build/contracts BOR_TEST_CONTRACTS=$build/contracts-test \
  BOR_TOKEN_FILE=$network/token BOR_BIN=$build/bin node --test --test-concurrency=1 --test-reporter=spec ./*.test.js
kafka/run.py --build "$build"
