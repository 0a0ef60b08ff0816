#include "transport/ntb/host.hpp"

#include "base/crypto/wipe.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>

namespace transport::ntb {

namespace {

template <class T>
T random_value() {
    std::array<std::byte, sizeof(T)> bytes{};
    base::crypto::random_bytes(bytes);
    T value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value == 0 ? T{1} : value;
}

}  // namespace

std::string boot_id() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    std::string out;
    std::getline(in, out);
    return out;
}

std::uint32_t random_epoch() {
    return random_value<std::uint32_t>();
}

std::uint64_t random_number() {
    return random_value<std::uint64_t>();
}

}  // namespace transport::ntb
