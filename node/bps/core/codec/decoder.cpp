#include "node/bps/core/codec/decoder.hpp"

#include <fmt/format.h>

namespace bps {

namespace {

constexpr std::uint32_t kStringBytesMax = 32'767;  // What 2 bytes can say, in either form.

}  // namespace

std::optional<std::uint32_t> Decoder::length(std::string_view name, bool is_short) {
    std::int64_t size = 0;
    if (flexible_) {
        size = std::int64_t{in_.unsigned_varint(name)} - 1;
    } else if (is_short) {
        size = in_.integer<std::int16_t>(name);
    } else {
        size = in_.integer<std::int32_t>(name);
    }
    if (!in_.ok() || size == -1) return std::nullopt;
    if (size < 0) {
        in_.set_error(name, fmt::format("a length of {}", size));
        return std::nullopt;
    }
    if (is_short && size > kStringBytesMax) {
        in_.set_error(name,
                      fmt::format("{} bytes, a string has at most {}", size, kStringBytesMax));
        return std::nullopt;
    }
    return static_cast<std::uint32_t>(size);
}

bool Decoder::admit(std::string_view name, std::uint32_t count, std::size_t bytes) {
    if (!in_.ok()) return false;
    if (count > in_.left()) {
        in_.set_error(name, fmt::format("{} items do not fit in {} bytes", count, in_.left()));
        return false;
    }
    if (count > array_bytes_left_ / bytes) {
        in_.set_error(
            name,
            fmt::format("{} items of {} bytes; the arrays of a request may take {} bytes: "
                        "send several requests",
                        count,
                        bytes,
                        kArrayBytesMax));
        return false;
    }
    array_bytes_left_ -= count * bytes;
    return true;
}

}  // namespace bps
