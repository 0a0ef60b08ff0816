#!/bin/sh
# Sets up the network and the RDMA devices inside: node number, number of nodes, number of devices.
set -e
node=$1 nodes=$2 devices=$3
PATH=$PATH:/usr/sbin:/sbin:/usr/bin:/bin
ip link set lo up
# Addresses that are usable at once, without duplicate address detection.
echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad
echo 0 > /proc/sys/net/ipv6/conf/all/accept_dad

# The interface to the other machine.
if [ "$nodes" = 2 ]; then
  cable=$(ls /sys/class/net | grep -v -E '^(lo|dummy|sit|tun|gre)' | head -n 1)
  ip link set "$cable" up
  ip addr add "10.77.0.$((node + 1))/24" dev "$cable"
  [ "$devices" = 0 ] || rdma link add rxe0 type rxe netdev "$cable"
  exit 0
fi

case $devices in
0) exit 0 ;;
1)
  ip link add rdma0 type dummy
  ip link set rdma0 up
  ip addr add 10.77.0.1/24 dev rdma0
  rdma link add rxe0 type rxe netdev rdma0
  exit 0
  ;;
2) ip link add rdma0 type veth peer name rdma1 ;;
*)
  ip link add switch type bridge
  ip link set switch up
  ;;
esac

# All devices are in one network namespace (rxe works in no other): what comes from the address of
# one goes out by its own interface, whatever other address it goes to. So the table of local
# addresses is asked for what comes in and for loopback only.
echo 0 > /proc/sys/net/ipv4/conf/all/rp_filter
ip rule add pref 12 to 127.0.0.0/8 lookup local
for i in $(seq 0 $((devices - 1))); do
  address=10.77.0.$((i + 1))
  if [ "$devices" -gt 2 ]; then
    ip link add "rdma$i" type veth peer name "port$i"
    ip link set "port$i" master switch
    ip link set "port$i" up
  fi
  echo 0 > "/proc/sys/net/ipv4/conf/rdma$i/rp_filter"
  echo 1 > "/proc/sys/net/ipv4/conf/rdma$i/accept_local"
  echo 1 > "/proc/sys/net/ipv4/conf/rdma$i/arp_ignore"
  echo 2 > "/proc/sys/net/ipv4/conf/rdma$i/arp_announce"
  ip link set "rdma$i" up
  ip addr add "$address/32" dev "rdma$i"
  ip rule add pref 10 iif "rdma$i" lookup local
  # To itself by loopback, to the others by the cable.
  ip rule add pref 13 from "$address" to "$address" lookup local
  ip rule add pref 14 from "$address" lookup $((100 + i))
done
for i in $(seq 0 $((devices - 1))); do sh "$(dirname "$0")/link-up" "$i"; done
# For who names no address of his own.
ip route add 10.77.0.0/24 dev rdma0 src 10.77.0.1
ip route add 10.77.0.1/32 dev rdma1 src 10.77.0.2
ip rule del pref 0 lookup local
ip rule add pref 32800 lookup local
for i in $(seq 0 $((devices - 1))); do
  rdma link add "rxe$i" type rxe netdev "rdma$i"
done
