#!/usr/bin/env bash
# Two virtual machines exchange messages through the BAR of a PCI device: with doorbells, where a
# peer is killed besides; without; and through two devices that play a bridge with write combining.
#   tests/rdma/ivshmem.sh BUILD_DIR
set -euo pipefail
build=$(realpath "${1:?usage: ivshmem.sh BUILD_DIR}")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shared=$(mktemp -d)
trap 'rm -rf "$shared"' EXIT

machines() { "$here/vm/run.sh" --nodes 2 --cpus 1 --no-share --timeout 600 "$@"; }

echo "-- with doorbells"
machines --ivshmem doorbell --iommu --modules "vfio-pci vfio_iommu_type1" -- \
  bash "$here/ivshmem_guest.sh" "$build" doorbells

echo "-- without doorbells, and as a bridge"
bridge=()
for i in 1 2; do
  bridge+=(--qemu-arg -object
    --qemu-arg "memory-backend-file,id=bridge$i,share=on,mem-path=$shared/$i,size=16M"
    --qemu-arg -device --qemu-arg "ivshmem-plain,memdev=bridge$i")
done
machines --ivshmem plain "${bridge[@]}" -- bash "$here/ivshmem_guest.sh" "$build" polling
