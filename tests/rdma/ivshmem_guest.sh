#!/bin/bash
# What ivshmem.sh runs in each of its two virtual machines: doorbells | polling.
set -euo pipefail
build=$1 way=$2
devices=/sys/bus/pci/devices

slots() { grep -lx 0x1110 $devices/*/device | xargs -n 1 dirname | xargs -n 1 basename | sort; }
mapfile -t slot <<< "$(slots)"

# exchange <messages>   this machine asks or answers.
exchange() {
  export WINDOW_MESSAGES=$1
  if [ "$RDMA_NODE" = 0 ]; then
    "$build/bin/test_rdma_window" "a machine that answers"
    return
  fi
  wait_for_node_0
  "$build/bin/test_rdma_window" "a machine that asks"
}
wait_for_node_0() {
  local i
  for i in $(seq 300); do
    (exec 3<> /dev/tcp/10.77.0.1/7000) 2> /dev/null && return
    sleep 0.2
  done
  echo "node 0 does not listen" >&2
  return 1
}

case $way in
  doorbells)
    echo Y > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts
    echo vfio-pci > "$devices/${slot[0]}/driver_override"
    echo "${slot[0]}" > /sys/bus/pci/drivers_probe
    "$build/bin/bor-transport-probe" > /tmp/probe.log
    grep -q 'bound to vfio-pci: doorbells' /tmp/probe.log || { cat /tmp/probe.log; exit 1; }
    grep -q '10\?.*RoCE v2 on' /tmp/probe.log || { cat /tmp/probe.log; exit 1; }
    export WINDOW_DOORBELLS=yes
    if [ "$RDMA_NODE" = 1 ]; then
      # A peer that is killed in the middle; its successor finds the window free.
      wait_for_node_0
      WINDOW_MESSAGES=1000000 timeout -s KILL 8 "$build/bin/test_rdma_window" "a machine that asks" ||
        true
    fi
    WINDOW_OTHERS=1 exchange 600
    ;;
  polling)
    export WINDOW_DOORBELLS=no
    export WINDOW_SLOT=${slot[0]}
    exchange 200
    # Two devices play a bridge: what one machine writes by the one, the other reads.
    for i in 1 2; do echo 1 > "$devices/${slot[$i]}/enable"; done
    export WINDOW_SLOT=${slot[$((1 + RDMA_NODE))]}
    export WINDOW_INBOUND=$devices/${slot[$((2 - RDMA_NODE))]}/resource2
    [ -e "$devices/$WINDOW_SLOT/resource2_wc" ]
    exchange 200
    ;;
esac
