#!/bin/sh
# Runs inside the machine of vm/run.sh with two devices: <program> [arguments...]. Fails if the
# program does, or if anybody ever wrote to a peer that had no receive.
set -u
echo "driver: $(basename "$(readlink -f /sys/module/rdma_rxe)"), kernel $(uname -r)"
cp "$1" /tmp/program
shift
/tmp/program "$@"
status=$?
for device in /sys/class/infiniband/*; do
  counters=$device/ports/1/hw_counters
  echo "$(basename "$device"): $(cat "$counters/sent_pkts") packets sent," \
    "$(cat "$counters/rdma_recvs") writes with immediate or sends received"
  for counter in "$counters"/*rnr*; do
    [ "$(cat "$counter")" = 0 ] && continue
    echo "$(basename "$device"): $(basename "$counter") is $(cat "$counter"), not 0" >&2
    status=1
  done
done
exit $status
