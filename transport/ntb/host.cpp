#include "transport/ntb/host.hpp"

#include "base/crypto/wipe.hpp"

#include <fstream>
#include <span>

namespace transport::ntb {

namespace {

template <class T>
T random_value() {
    T value = 0;
    base::crypto::random_bytes(std::as_writable_bytes(std::span(&value, 1)));
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
