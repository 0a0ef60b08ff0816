# Sourced by test.sh and demo.sh: the Debian packages that the project needs, and installing them.

BUILD_PACKAGES="g++ clang-16 lld-16 libclang-rt-16-dev cmake ninja-build ccache pkg-config python3
  libboost1.81-dev libboost-program-options1.81-dev libssl-dev libsecp256k1-dev librocksdb-dev
  nlohmann-json3-dev libexpected-dev libfmt-dev libspdlog-dev prometheus-cpp-dev libzstd-dev
  liblz4-dev libsnappy-dev zlib1g-dev libasmjit-dev librdkafka-dev libibverbs-dev catch2 libbenchmark-dev
  libclang-rt-16-dev-wasm32 libc++-16-dev-wasm32 git ca-certificates"
TEST_PACKAGES="wabt clang-tidy-16 clang-format-16 llvm-16 kcat python3-confluent-kafka python3-kafka nodejs npm
  openssl chromium curl jq iproute2 faketime procps file debootstrap util-linux qemu-system-x86 busybox-static
  cpio xz-utils kmod ibverbs-providers ibverbs-utils strace nginx-light
  devscripts gdb-minimal systemd-container"

DEMO_PACKAGES="kcat nodejs npm"

# install_packages [build|demo]   installs what is missing; says what it does.
install_packages() {
  local wanted missing=()
  case ${1:-all} in
    build) wanted=$BUILD_PACKAGES ;;
    demo) wanted="$BUILD_PACKAGES $DEMO_PACKAGES" ;;
    *) wanted="$BUILD_PACKAGES $TEST_PACKAGES" ;;
  esac
  for package in $wanted; do
    # A tool that is there from elsewhere (a newer nodejs, say) is as good as its package.
    case $package in nodejs) command -v node > /dev/null && continue ;;
      gdb-minimal) command -v gdb > /dev/null && continue ;;
      npm | python3 | git | curl | jq) command -v "$package" > /dev/null && continue ;; esac
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2> /dev/null | grep -q '^ii' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    echo "these packages are missing and only root may install them: ${missing[*]}" >&2
    return 1
  fi
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

# build_preset <preset> [target...]   configures if needed and builds.
build_preset() {
  local preset=$1 targets=()
  shift
  for target in "$@"; do targets+=(--target "$target"); done
  cmake --preset "$preset" > "/tmp/bor-configure-$preset.log" 2>&1 ||
    { cat "/tmp/bor-configure-$preset.log"; return 1; }
  cmake --build --preset "$preset" "${targets[@]}" | { grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking|Compiling|Re-checking)' || true; }
}

# build_aside <preset> [target...]   the same with what others leave of the processors, until stop_aside or the end of
# the part; what it has not built, or could not, is for build_preset.
build_aside() {
  export -f build_preset
  setsid nice -n 19 bash -c 'build_preset "$@"' - "$@" > /dev/null 2>&1 &
  aside=$!
  trap stop_aside EXIT
}

stop_aside() {
  trap - EXIT
  kill -TERM -- "-$aside" 2> /dev/null || true
  wait "$aside" || true
}
