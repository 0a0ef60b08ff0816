#!/bin/sh
# Brings interface rdma<N> up inside, with what taking it down removed: its route, and where its
# neighbours are (asking for them may take a second). <N>
set -e
PATH=$PATH:/usr/sbin:/sbin
ip link set "rdma$1" up
ip route replace 10.77.0.0/24 dev "rdma$1" src "10.77.0.$(($1 + 1))" table $((100 + $1))
for other in /sys/class/net/rdma*; do
  number=${other##*/rdma}
  [ "$number" = "$1" ] || ip neigh replace "10.77.0.$((number + 1))" dev "rdma$1" \
    lladdr "$(cat "$other/address")" nud permanent
done
