#!/bin/busybox sh
# The first process of the virtual machine.
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm /ctl
mount -t devpts pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm

while read -r m; do insmod "/modules/$m" || echo "could not load $m"; done < /modules/order

opts=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o "$opts" ctl /ctl
. /ctl/config

# The host's root is the read-only lower layer; writes stay in memory.
mkdir -p /lower /upper /root
mount -t 9p -o "$opts,ro,cache=loose" host /lower
mount -t tmpfs upper /upper
mkdir -p /upper/up /upper/work
mount -t overlay -o "lowerdir=/lower,upperdir=/upper/up,workdir=/upper/work" overlay /root ||
  mount --bind /lower /root
for d in proc sys dev; do mount --rbind /$d /root/$d; done
mount -t tmpfs -o mode=755 run /root/run
mkdir -p /root/run/rdma-vm
mount --bind /ctl /root/run/rdma-vm
if [ -n "$SHARE" ]; then
  mkdir -p "/root$SHARE"
  mount -t 9p -o "$opts,cache=mmap" share "/root$SHARE"
fi
ulimit -l unlimited
ulimit -n 65536
[ "$HUGE" = 0 ] || {
  echo "$HUGE" > /proc/sys/vm/nr_hugepages
  mkdir -p /dev/hugepages
  mount -t hugetlbfs none /root/dev/hugepages
}
hostname "node$NODE"
t_up=$(cut -d' ' -f1 /proc/uptime)

# Device nodes need a moment after the modules are loaded.
for p in 1 2; do
  n=0; while [ ! -e /dev/vport*p$p ] && [ $n -lt 100 ]; do usleep 20000; n=$((n + 1)); done
done
mkfifo /out /err
port() { set -- /dev/vport*p"$1"; echo "$1"; }
cat /out > "$(port 1)" & a=$!
cat /err > "$(port 2)" & b=$!
exec 5> /out 6> /err

if chroot /root /bin/sh /run/rdma-vm/net "$NODE" "$NODES" "$DEVICES" >&6 2>&1 5>&- 6>&-; then
  t_cmd=$(cut -d' ' -f1 /proc/uptime)
  chroot /root /bin/sh /run/rdma-vm/command < /dev/null >&5 2>&6 5>&- 6>&-
  status=$?
else
  echo "the network could not be set up" >&6
  status=125
fi
t_end=$(cut -d' ' -f1 /proc/uptime)
exec 5>&- 6>&-
# Output of processes that the command left behind is not waited for.
n=0
while [ $n -lt 25 ] && { kill -0 $a || kill -0 $b; } 2> /dev/null; do usleep 20000; n=$((n + 1)); done
printf 'root-ready=%s\ncommand-start=%s\ncommand-end=%s\n' "$t_up" "$t_cmd" "$t_end" > /ctl/times
echo "$status" > /ctl/status
sync
poweroff -f
