#!/usr/bin/env bash
# Runs a program in a small virtual machine that has software RDMA devices (RoCEv2, rdma_rxe). Needs
# no RDMA hardware, no RDMA in the running kernel, no hardware virtualisation, and no root.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'USAGE'
usage: run.sh [options] -- COMMAND [ARG...]

  --nodes 1|2        machines; with 2, COMMAND runs in both and RDMA_NODE is 0 or 1 (default 1)
  --devices N        RDMA devices inside a single machine, 0 to 8 (default 1): one on an interface
                     that leads nowhere, two joined by a cable, more by a switch
  --share DIR        folder the command may write to, at the same path as on the host (default:
                     the current folder)
  --no-share         nothing on the host is writable
  --mem SIZE         memory of each machine (default 1024M)
  --cpus N           processors of each machine (default 2)
  --timeout SECONDS  stop everything after this time, exit 124 (default 300)
  --env NAME=VALUE   environment variable for COMMAND (repeatable)
  --modules "A B"    further kernel modules to load
  --hugepages N      reserve N huge pages of 2 MiB
  --ivshmem KIND     shared memory device between the machines: plain or doorbell
  --ivshmem-size S   its size (default 16M)
  --iommu            add an emulated IOMMU (needed for vfio-pci)
  --kernel SERIES    6.1 or 6.12 (default: $BOR_VM_KERNEL, else 6.1)
  --qemu-arg ARG     one further argument for QEMU (repeatable)
  --console FILE     keep the kernel's console log (FILE.1 for node 1)
  --verbose          timings on standard error
  --prepare          fetch and build what is needed, run nothing

Exit status: that of COMMAND (with two nodes: node 0's unless it is 0, then node 1's); 124 after a
timeout; 125 when the machine itself failed.
USAGE
}

nodes=1 devices=1 share=$PWD mem=1024M cpus=2 limit=300 series=${BOR_VM_KERNEL:-6.1}
verbose=0 prepare=0 console='' ivshmem='' ivsize=16M iommu=0 huge=0
extra_modules=() qemu_args=() envs=()
while [ $# -gt 0 ]; do
  case $1 in
  --nodes) nodes=$2; shift 2 ;;
  --devices) devices=$2; shift 2 ;;
  --share) share=$(cd "$2" && pwd -P); shift 2 ;;
  --no-share) share=; shift ;;
  --mem) mem=$2; shift 2 ;;
  --cpus) cpus=$2; shift 2 ;;
  --timeout) limit=$2; shift 2 ;;
  --env) envs+=("$2"); shift 2 ;;
  --modules) read -r -a more <<< "$2"; extra_modules+=("${more[@]}"); shift 2 ;;
  --hugepages) huge=$2; shift 2 ;;
  --ivshmem) ivshmem=$2; shift 2 ;;
  --ivshmem-size) ivsize=$2; shift 2 ;;
  --iommu) iommu=1; shift ;;
  --kernel) series=$2; shift 2 ;;
  --qemu-arg) qemu_args+=("$2"); shift 2 ;;
  --console) console=$2; shift 2 ;;
  --verbose) verbose=1; shift ;;
  --prepare) prepare=1; shift ;;
  -h | --help) usage; exit 0 ;;
  --) shift; break ;;
  *) usage >&2; exit 125 ;;
  esac
done
[ $prepare = 1 ] || [ $# -gt 0 ] || { usage >&2; exit 125; }
case $nodes in 1 | 2) ;; *) usage >&2; exit 125 ;; esac
case $devices in [0-8]) ;; *) usage >&2; exit 125 ;; esac
case $ivshmem in '' | plain | doorbell) ;; *) usage >&2; exit 125 ;; esac

now() { printf '%s' "${EPOCHREALTIME/,/.}"; }
t_start=$(now)
seconds() { awk -v a="$t_start" -v b="$(now)" 'BEGIN { print b - a }'; }
say() { [ $verbose = 0 ] || printf '[vm %6.2f] %s\n' "$(seconds)" "$*" >&2; }
die() { printf 'tests/rdma/vm/run.sh: %s\n' "$*" >&2; exit 125; }

PATH=$PATH:/usr/sbin:/sbin
need=()
want() { command -v "$1" > /dev/null 2>&1 || need+=("$2"); }
want qemu-system-x86_64 qemu-system-x86
want busybox busybox-static
want cpio cpio
want xz xz-utils
want modprobe kmod
want ip iproute2
want python3 python3
compgen -G '/usr/lib/*/libibverbs/librxe-rdmav*.so' > /dev/null || need+=(ibverbs-providers)
[ ${#need[@]} = 0 ] || die "missing packages: ${need[*]} (tests/tools/install.sh installs them)"

# --- Kernel and initial file system ---

cache=${BOR_VM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/bor-vm}
mkdir -p "$cache"

# The package that another stands for.
newest() {
  apt-cache depends --no-recommends --no-suggests "$1" 2> /dev/null |
    awk '/Depends:/ { print $2; exit }'
}

# The kernel package is only unpacked in the cache, never installed.
fetch_kernel() {
  local meta pkg dir ver
  case $series in
  6.1) meta=linux-image-amd64 ;;
  6.12) meta=linux-image-6.12-amd64 ;;
  *) die "unknown kernel series $series" ;;
  esac
  dir=$cache/kernel-$series
  [ -e "$dir/ready" ] && return 0
  pkg=$(newest "$meta")
  [ -n "$pkg" ] || { apt-get update >&2 || true; pkg=$(newest "$meta"); }
  [ -n "$pkg" ] || die "apt knows no $meta"
  say "fetching $pkg"
  rm -rf "$dir"; mkdir -p "$dir/root"
  (cd "$dir" && apt-get download "$pkg" >&2) || die "could not download $pkg"
  dpkg -x "$dir"/linux-image-*.deb "$dir/root"
  rm -f "$dir"/*.deb
  ver=$(ls "$dir/root/lib/modules")
  depmod -b "$dir/root" "$ver"
  printf '%s\n' "$ver" > "$dir/version"
  unpack_kernel "$dir/root/boot/vmlinuz-$ver" "$dir/vmlinux"
  touch "$dir/ready"
}

# An uncompressed kernel saves the emulator the work of unpacking it.
unpack_kernel() {
  python3 - "$1" "$2" <<'PY'
import lzma, struct, sys
image = open(sys.argv[1], "rb").read()
setup = (image[0x1f1] or 4) + 1
offset, length = struct.unpack_from("<II", image, 0x248)
start = setup * 512 + offset
packed = image[start:start + length]
if packed[:6] == b"\xfd7zXZ\x00":
    data = lzma.LZMADecompressor().decompress(packed)
    open(sys.argv[2], "wb").write(data)
PY
  [ -s "$2" ] || cp "$1" "$2"
}

base_modules=(virtio_pci virtio_console 9pnet_virtio 9p overlay)
rdma_modules=(crc32_generic crc32-pclmul rdma_rxe ib_uverbs rdma_ucm)
net_modules=(dummy veth bridge virtio_net)

build_initramfs() {
  local kdir=$cache/kernel-$series ver tree tag m name
  ver=$(cat "$kdir/version")
  local all=("${base_modules[@]}" "${rdma_modules[@]}" "${net_modules[@]}" "${extra_modules[@]}")
  tag=$(printf '%s\n' "$ver" "${all[@]}" | cat - "${BASH_SOURCE[0]}" "$here/guest-init.sh" |
    sha256sum | cut -c1-16)
  initramfs=$cache/initramfs-$tag.cpio
  [ -e "$initramfs" ] && return 0
  say "building the initial file system"
  tree=$(mktemp -d "$cache/tree.XXXXXX")
  mkdir -p "$tree"/{bin,dev,proc,sys,modules,root}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  cp "$here/guest-init.sh" "$tree/init"; chmod 755 "$tree/init"
  : > "$tree/modules/order"
  for m in "${all[@]}"; do
    # A module that is built in, or absent from this series, is skipped.
    modprobe -d "$kdir/root" -S "$ver" --show-depends "$m" 2> /dev/null || true
  done | awk '/^insmod/ && !seen[$2]++ { print $2 }' | while read -r m; do
    name=$(basename "$m")
    case $name in
    *.xz) xz -dc "$m" > "$tree/modules/${name%.xz}"; name=${name%.xz} ;;
    *) cp "$m" "$tree/modules/$name" ;;
    esac
    printf '%s\n' "$name" >> "$tree/modules/order"
  done
  (cd "$tree" && find . -print0 | LC_ALL=C sort -z |
    cpio --null -o -H newc --quiet --owner=0:0 > "$initramfs.$$")
  mv "$initramfs.$$" "$initramfs"
  rm -rf "$tree"
}

fetch_kernel
build_initramfs
[ $prepare = 0 ] || { say "ready"; exit 0; }

# --- The machines ---

work=$(mktemp -d "${TMPDIR:-/tmp}/bor-vm.XXXXXX")
pids=()
cleanup() {
  local p
  for p in "${pids[@]}"; do kill "$p" 2> /dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Quoting that any POSIX shell reads back.
quote() { local a; for a in "$@"; do printf "'%s' " "${a//\'/\'\\\'\'}"; done; }
mac() { printf '52:54:00:77:00:%02x' $(($1 + 1)); }

if [ "$ivshmem" = doorbell ]; then
  python3 "$here/ivshmem_server.py" "$work/ivshmem.sock" "$ivsize" &
  pids+=($!)
  for _ in $(seq 100); do [ -S "$work/ivshmem.sock" ] && break; sleep 0.05; done
fi

# write_orders <node> <folder>   what the machine reads when it is up.
write_orders() {
  local n=$1 ctl=$2 e
  {
    printf 'export RDMA_NODE=%s RDMA_NODES=%s\n' "$n" "$nodes"
    printf 'export PATH=%s HOME=%s TERM=dumb\n' "$(quote "$PATH")" "$(quote "${HOME:-/root}")"
    for e in "${envs[@]}"; do printf 'export %s=%s\n' "${e%%=*}" "$(quote "${e#*=}")"; done
    printf 'cd %s 2>/dev/null || cd /\n' "$(quote "$PWD")"
    printf 'exec %s\n' "$(quote "${command[@]}")"
  } > "$ctl/command"
  {
    printf 'NODE=%s NODES=%s DEVICES=%s HUGE=%s\n' "$n" "$nodes" "$devices" "$huge"
    printf 'SHARE=%s\n' "$(quote "$share")"
  } > "$ctl/config"
  cp "$here/guest-net.sh" "$ctl/net"
  cp "$here/guest-link.sh" "$ctl/link-up"
}

start_node() {
  local n=$1 ctl=$work/node$1 args=()
  mkdir -p "$ctl"
  mkfifo "$work/out$n" "$work/err$n"
  write_orders "$n" "$ctl"

  args=(-M q35 -accel tcg,thread=multi -cpu max -smp "$cpus" -m "$mem"
    -display none -no-reboot -nodefaults -no-user-config
    -kernel "$cache/kernel-$series/vmlinux" -initrd "$initramfs"
    -serial "file:$work/console$n"
    -device virtio-serial-pci
    -chardev "file,id=out,path=$work/out$n" -device virtserialport,chardev=out,nr=1
    -chardev "file,id=err,path=$work/err$n" -device virtserialport,chardev=err,nr=2
    -fsdev "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap"
    -device virtio-9p-pci,fsdev=host,mount_tag=host
    -fsdev "local,id=ctl,path=$ctl,security_model=none"
    -device virtio-9p-pci,fsdev=ctl,mount_tag=ctl)
  [ -z "$share" ] || args+=(
    -fsdev "local,id=share,path=$share,security_model=none,multidevs=remap"
    -device virtio-9p-pci,fsdev=share,mount_tag=share)
  if [ "$nodes" = 2 ]; then
    local wire="id=wire,local.type=unix,local.path=$work/wire$n"
    args+=(-netdev "dgram,$wire,remote.type=unix,remote.path=$work/wire$((1 - n))"
      -device "virtio-net-pci,netdev=wire,mac=$(mac "$n"),romfile=")
  fi
  case $ivshmem in
  plain) args+=(-object "memory-backend-file,id=shm,share=on,mem-path=$work/shm,size=$ivsize"
    -device ivshmem-plain,memdev=shm) ;;
  doorbell) args+=(-chardev "socket,id=iv,path=$work/ivshmem.sock"
    -device ivshmem-doorbell,chardev=iv,vectors=2) ;;
  esac
  local append="loglevel=7 console=ttyS0 panic=-1 mitigations=off nokaslr"
  append+=" tsc=reliable no_timer_check random.trust_cpu=on"
  if [ $iommu = 1 ]; then
    # The emulated IOMMU must come before the devices it serves.
    args=(-device intel-iommu,intremap=off "${args[@]}")
    append+=" intel_iommu=on"
  fi
  [ -n "$console" ] || append+=" quiet"
  args+=("${qemu_args[@]}" -append "$append")

  cat "$work/out$n" & readers+=($!)
  cat "$work/err$n" >&2 & readers+=($!)
  qemu-system-x86_64 "${args[@]}" < /dev/null > "$work/qemu$n.log" 2>&1 &
  machine[n]=$!
  pids+=($!)
}

command=("$@")
declare -a machine readers
for ((i = 0; i < nodes; i++)); do start_node "$i"; done
say "started"

watchdog() {
  local deadline=$((SECONDS + limit)) alive p
  while [ $SECONDS -lt $deadline ]; do
    alive=0
    for p in "${machine[@]}"; do ! kill -0 "$p" 2> /dev/null || alive=1; done
    [ $alive = 1 ] || return 0
    sleep 0.1
  done
  touch "$work/timeout"
  for p in "${machine[@]}"; do kill "$p" 2> /dev/null || true; done
}
watchdog & pids+=($!)
for p in "${machine[@]}"; do wait "$p" 2> /dev/null || true; done
# A machine that died before it opened its pipes would leave the readers waiting; opening the write
# end once lets them see the end of the file.
for ((i = 0; i < nodes; i++)); do
  (exec 3<> "$work/out$i" 4<> "$work/err$i"; sleep 0.05) || true
done
for p in "${readers[@]}"; do wait "$p" 2> /dev/null || true; done
say "machines have ended"

# --- The outcome ---

result=0
for ((i = nodes - 1; i >= 0; i--)); do
  status=$(cat "$work/node$i/status" 2> /dev/null || true)
  suffix=$([ "$i" = 0 ] || echo ".$i")
  [ -z "$console" ] || cp "$work/console$i" "$console$suffix" 2> /dev/null || true
  [ ! -s "$work/node$i/times" ] || say "node $i: $(tr '\n' ' ' < "$work/node$i/times")"
  if [ -z "$status" ]; then
    if [ ! -e "$work/timeout" ]; then
      { echo "tests/rdma/vm/run.sh: node $i gave no exit status"
        tail -n 5 "$work/qemu$i.log"; tail -n 25 "$work/console$i" 2> /dev/null; } >&2 || true
    fi
    status=125
  fi
  [ "$status" = 0 ] || result=$status
done
[ ! -e "$work/timeout" ] || { echo "tests/rdma/vm/run.sh: stopped after $limit seconds" >&2; result=124; }
exit "$result"
