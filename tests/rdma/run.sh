#!/usr/bin/env bash
# The tests of transport/rdma on real verbs: <build folder> [arguments of the test program...].
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(cd "$1" && pwd)/bin/test_rdma_device
shift
[ -x "$program" ] || { echo "$program is not built: libibverbs was missing" >&2; exit 1; }
# The last test apart: that there a peer finds no receive is wanted, and counted.
exec "$here/vm/run.sh" --devices 2 --no-share --timeout 900 -- sh -c '
  sh "$@" && "$2" "[.drained]" &&
    cat /sys/class/infiniband/rxe*/ports/1/hw_counters/*rnr* | grep -qvx 0
' sh "$here/in_guest.sh" "$program" "$@"
