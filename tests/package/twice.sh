#!/usr/bin/env bash
# Two builds of the last commit give the same package: in two directories, at two times, without a compiler's cache.
#   tests/package/twice.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_DISABLE=1 SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
programs=(bor-node bor-cli bor-wallet bor-transport-probe bor-transport-bench)
for tree in one another/place; do
  git clone -q . "$work/$tree"
  (
    cd "$work/$tree"
    cmake --preset release > "$work/log" 2>&1
    cmake --build --preset release --target "${programs[@]}" completion contracts >> "$work/log" 2>&1
    cpack --config build/release/CPackConfig.cmake -B build/release >> "$work/log" 2>&1
  ) || { tail -20 "$work/log" >&2; exit 1; }
done
first=$(ls "$work"/one/build/release/bor_*.deb)
second=$(ls "$work"/another/place/build/release/bor_*.deb)
if ! cmp "$first" "$second"; then
  for package in "$first" "$second"; do
    mkdir "$package.files"
    dpkg-deb -R "$package" "$package.files"
  done
  diff -rq "$first.files" "$second.files" >&2 || true
  exit 1
fi
echo "two builds gave the same bytes: $(sha256sum < "$first" | cut -c1-64)"
