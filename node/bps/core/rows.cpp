#include "node/bps/core/rows.hpp"

#include <fmt/format.h>

namespace bps::rows {

namespace {

// The last of an enumeration bounds what may stand for it.
template <class T>
void decode_enum(base::Reader& in, T& value, T last, std::string_view field) {
    const std::uint8_t number = in.u8(field);
    if (number > static_cast<std::uint8_t>(last)) {
        in.set_error(field, fmt::format("{}, which is none of its values", number));
    }
    value = static_cast<T>(number);
}

}  // namespace

void decode(base::Reader& in, Resource& value, std::string_view field) {
    decode_enum(in, value, Resource::group, field);
}

void decode(base::Reader& in, Operation& value, std::string_view field) {
    decode_enum(in, value, Operation::admin, field);
}

}  // namespace bps::rows
