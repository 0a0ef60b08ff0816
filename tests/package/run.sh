#!/usr/bin/env bash
# The .deb installs in a clean Debian and the installed programs run there.
#   tests/package/run.sh BUILD_DIR
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
cache=${BOR_CHROOT_CACHE:-$HOME/.cache/bor-chroot-bookworm.tar}
root=$(mktemp -d)
chmod 755 "$root"
finish() {
  [ -n "${node:-}" ] && kill "$node" 2> /dev/null || true
  mountpoint -q "$root/proc" && umount "$root/proc"
  rm -rf "$root"
}
trap finish EXIT

cpack --config "$build/CPackConfig.cmake" -B "$build" > /dev/null
package=$(ls "$build"/bor_*.deb)
# Contracts are compiled in the node's own memory: no other program is asked for or brought along.
if dpkg-deb -f "$package" Depends Recommends Suggests | grep -E '(^|[ ,|])(gcc|g\+\+|tcc|clang|binutils|wabt)([-, (|]|$)'; then
  echo "the package asks for a compiler" >&2
  exit 1
fi
others=$(dpkg-deb -c "$package" | grep -oE 'usr/bin/.+' | grep -vE '^usr/bin/bor-(node|cli|wallet|transport-probe|transport-bench)$' || true)
[ -z "$others" ] || { echo "the package has other programs: $others" >&2; exit 1; }
for program in bor-node bor-cli bor-wallet bor-transport-probe bor-transport-bench; do
  # See CONTROL_FLOW_MARK in cmake/flags.cmake.
  flags=$([ "$program" != bor-node ] || echo --nocfprotection)
  hardening-check $flags "$build/bin/$program" > "$build/hardening" || { cat "$build/hardening" >&2; exit 1; }
done
dpkg-deb --fsys-tarfile "$package" | tar -xO ./usr/share/doc/bor/components.spdx.json > "$build/components.json"
for name in $(dpkg-deb -f "$package" Depends | tr , '\n' | awk '$1 != "adduser" {print $1}') libboost1.81-dev nlohmann-json3-dev; do
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2> /dev/null)" = installed ] || continue   # Another's second name.
  jq -e --arg name "$name" 'any(.packages[]; .name == $name and .versionInfo != "")' "$build/components.json" > /dev/null ||
    { echo "the package's list of components lacks $name" >&2; exit 1; }
done
[ -f "$cache" ] || { mkdir -p "$(dirname "$cache")"; debootstrap --variant=minbase --make-tarball="$cache.new" bookworm "$root/strap" "${BOR_MIRROR:-http://deb.debian.org/debian}" > /dev/null && mv "$cache.new" "$cache"; }
debootstrap --variant=minbase --unpack-tarball="$cache" bookworm "$root" "${BOR_MIRROR:-http://deb.debian.org/debian}" > /dev/null
cp "$package" "$root/tmp/bor.deb"
cp /etc/apt/sources.list "$root/etc/apt/" 2> /dev/null || true
cp -r /etc/apt/sources.list.d /etc/apt/apt.conf.d "$root/etc/apt/" 2> /dev/null || true
cp /etc/resolv.conf /etc/hosts "$root/etc/" 2> /dev/null || true
mount -t proc proc "$root/proc"
chroot "$root" sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends /tmp/bor.deb' > "$build/package.log" 2>&1 ||
  { tail -20 "$build/package.log"; exit 1; }

chroot "$root" getent passwd bor > /dev/null
for file in /lib/systemd/system/bor-node.service /usr/share/man/man1/bor-node.1 /etc/bor/config.ini \
    /usr/share/bash-completion/completions/bor-cli /usr/share/bor/contracts/token/token.wasm; do
  [ -e "$root$file" ] || [ -e "$root/usr$file" ] || [ -e "$root$file.gz" ] || { echo "missing: $file" >&2; exit 1; }
done
chroot "$root" bor-transport-probe | grep 'Used instead: TCP' > /dev/null || { echo "bor-transport-probe says nothing" >&2; exit 1; }
grep -q '^MemoryDenyWriteExecute=yes$' "$root/lib/systemd/system/bor-node.service" || { echo "the unit allows writable code" >&2; exit 1; }
# As the installed user, and as the unit does it with memory that may never become executable
# (PR_SET_MDWE; kernels before 6.3 have none): a chain of its own, its first blocks, a contract
# that runs, and an orderly end.
deny='import ctypes, os, sys; ctypes.CDLL(None).prctl(65, 1, 0, 0, 0); os.execvp(sys.argv[1], sys.argv[1:])'
python3 -c "$deny" chroot "$root" setpriv --reuid bor --regid bor --clear-groups env HOME=/var/lib/bor sh -euc '
  cd /var/lib/bor
  bor() { bor-cli --dir /var/lib/bor/net "$@"; }
  bor network up --open
  bor get info > /dev/null
  key=$(bor wallet create_key | grep -oE "PUB_K1_[A-Za-z0-9]+|EOS[A-Za-z0-9]{50}" | head -1)
  bor create account eosio alice "$key" > /dev/null
  bor set contract alice /usr/share/bor/contracts/token > /dev/null
  bor push action alice create "[\"alice\",\"1000.0000 SYS\"]" -p alice > /dev/null
  bor push action alice issue "[\"alice\",\"10.0000 SYS\",\"\"]" -p alice > /dev/null
  [ "$(bor get currency balance alice alice)" = "10.0000 SYS" ]
  bor network down'
tests/package/units.sh "$root"
echo "the package installs and runs in a clean Debian: $(basename "$package"), $(stat -c %s "$package") bytes"
