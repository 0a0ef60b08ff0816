#!/bin/sh
# Brings interface rdma<N> up inside, with the route that taking it down removed: <N>.
set -e
PATH=$PATH:/usr/sbin:/sbin
ip link set "rdma$1" up
ip route replace 10.77.0.0/24 dev "rdma$1" src "10.77.0.$(($1 + 1))" table $((100 + $1))
