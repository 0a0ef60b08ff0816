#!/usr/bin/env bash
# The installed units, under systemd in a container: three validators with the filters of bor-node.service, one of them
# by TCP and two by shared memory, a contract that the key in bor-wallet.service signs for, and an orderly end.
#   tests/package/units.sh ROOT    a Debian where the package is installed, with /proc; needs root and systemd-nspawn
set -euo pipefail
root=$(realpath "${1:?usage: units.sh ROOT}")

chroot "$root" sh -c 'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends systemd' > "$root/systemd.log" 2>&1 ||
  { tail -20 "$root/systemd.log"; exit 1; }
for unit in bor-node bor-wallet; do
  chroot "$root" systemd-analyze security --offline=yes --threshold=20 --no-pager "/lib/systemd/system/$unit.service" \
    > "$root/$unit.security" || { cat "$root/$unit.security" >&2; exit 1; }
  tail -1 "$root/$unit.security"
done

# A network as bor-cli writes it, each validator by a copy of the installed unit.
chroot "$root" setpriv --reuid bor --regid bor --clear-groups env HOME=/var/lib/bor sh -euc '
  cd /var/lib/bor
  umask 077
  bor-cli create key -f created.key > /dev/null
  sed -n "s/^Private key: //p" created.key > system.key
  bor-cli --dir /var/lib/bor/units network up -n 3 --open --system-key system.key > /dev/null
  bor-cli --dir /var/lib/bor/units network down > /dev/null
  echo "transport = tcp" >> units/borc/config/config.ini'
for name in bora borb borc; do
  sed "s|^ExecStart=.*|ExecStart=/usr/bin/bor-node --config-dir /var/lib/bor/units/$name/config --data-dir /var/lib/bor/units/$name/data --genesis-json /var/lib/bor/units/genesis.json|" \
    "$root/lib/systemd/system/bor-node.service" > "$root/etc/systemd/system/$name.service"
done

cat > "$root/usr/local/bin/check" <<'CHECK'
#!/bin/sh
# As root of the container: writes its result to /result.
set -eu
finish() {
  [ "$?" = 0 ] && echo good > /result
  journalctl --no-pager -o cat -n 200 > /journal 2>&1 || true
  systemctl --no-pager status bora borb borc bor-wallet >> /journal 2>&1 || true
  systemctl poweroff --no-block
}
trap finish EXIT
exec > /checked 2>&1
set -x
systemctl start bor-wallet bora borb borc
bor() { setpriv --reuid bor --regid bor --clear-groups bor-cli --dir /var/lib/bor/units --wallet-url unix:///var/lib/bor/wallet/bor-wallet.sock "$@"; }
bor wallet create -f /var/lib/bor/wallet.password
bor wallet import --private-key-file /var/lib/bor/system.key
key=$(bor wallet create_key | grep -oE 'EOS[A-Za-z0-9]{50}')
bor create account eosio alice "$key"
bor set contract alice /usr/share/bor/contracts/token
bor push action alice create '["alice","1000.0000 SYS"]' -p alice
bor push action alice issue '["alice","10.0000 SYS",""]' -p alice
[ "$(bor get currency balance alice alice)" = '10.0000 SYS' ]
for try in $(seq 100); do
  sleep 0.2
  bor net peers > /peers
  grep -q shm /peers && grep -q tcp /peers && break
done
grep shm /peers
grep tcp /peers
for unit in bora borb borc bor-wallet; do
  pid=$(systemctl show -p MainPID --value $unit)
  grep '^Seccomp:.2$' "/proc/$pid/status"
  grep '^NoNewPrivs:.1$' "/proc/$pid/status"
  grep '^CapBnd:.0000000000000000$' "/proc/$pid/status"
done
if journalctl --no-pager -b -o cat | grep 'may be swapped out'; then exit 1; fi
systemctl stop bora borb borc bor-wallet
if systemctl --quiet is-failed bora borb borc bor-wallet; then exit 1; fi
CHECK
chmod 755 "$root/usr/local/bin/check"
cat > "$root/etc/systemd/system/check.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/local/bin/check
TimeoutStartSec=120
UNIT
mkdir -p "$root/etc/systemd/system/default.target.wants"
ln -sf ../check.service "$root/etc/systemd/system/default.target.wants/check.service"

rm -f "$root/result"
umount "$root/proc"   # The container has its own.
# A container may not lock memory unless it is told so; a machine may.
timeout 180 systemd-nspawn --quiet --register=no --keep-unit --system-call-filter=@memlock --boot --directory "$root" \
  > "$root/boot.log" 2>&1 || true
if [ "$(cat "$root/result" 2> /dev/null)" != good ]; then
  tail -n 40 "$root/boot.log" "$root/checked" "$root/journal" >&2 || true
  exit 1
fi
echo "the units run under systemd: three validators, by shared memory and TCP, a contract, the wallet"
