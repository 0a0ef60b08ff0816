#!/usr/bin/env bash
# A build where libibverbs is missing leaves RDMA out and says so: configuring, a node's list of ways
# to its peers, and bor-transport-probe; what else differs compiles.
#   tests/rdma/without_library.sh BUILD_DIR      made if it is not there
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(realpath -m "${1:?usage: without_library.sh BUILD_DIR}")
mkdir -p "$build"

# Knows all packages but this one.
cat > "$build/pkg-config" << SCRIPT
#!/bin/sh
case "\$*" in *libibverbs*) exit 1 ;; esac
exec $(command -v pkg-config) "\$@"
SCRIPT
chmod +x "$build/pkg-config"

cmake -S "$source_dir" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
  -DPKG_CONFIG_EXECUTABLE="$build/pkg-config" \
  "-DCMAKE_CXX_COMPILER_LAUNCHER=env;CCACHE_BASEDIR=$source_dir;CCACHE_NOHASHDIR=1;ccache" \
  > "$build/configure.log"
grep 'transport/rdma is left out: libibverbs is missing' "$build/configure.log"
objects=bench/transport/CMakeFiles/bor-transport-bench.dir
cmake --build "$build" --target test_node_transports bor-transport-probe \
  "$objects/node.cpp.o" "$objects/measure_no_rdma.cpp.o" > "$build/build.log" ||
  { tail -n 30 "$build/build.log"; exit 1; }

"$build/bin/test_node_transports"
"$build/bin/bor-transport-probe" | grep -F 'built without RDMA'
