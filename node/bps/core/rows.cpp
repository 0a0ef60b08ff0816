#include "node/bps/core/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

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

tl::unexpected<base::Error> misplaced(const RowId& id) {
    return base::fail(
        base::Errc::malformed,
        fmt::format("a row of {} that is not where its key says", id.table.to_string()));
}

std::optional<std::string_view> find_setting(const std::vector<Setting>& settings,
                                             std::string_view name) {
    const auto at = std::ranges::find(settings, name, &Setting::name);
    return at == settings.end() ? std::nullopt : std::optional<std::string_view>(at->value);
}

std::int64_t number_setting(const std::vector<Setting>& settings,
                            std::string_view name,
                            std::int64_t otherwise) {
    const auto text = find_setting(settings, name);
    if (!text) return otherwise;
    std::int64_t value = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    return read.ec == std::errc() && read.ptr == end ? value : otherwise;
}

void decode(base::Reader& in, Resource& value, std::string_view field) {
    decode_enum(in, value, Resource::group, field);
}

void decode(base::Reader& in, Operation& value, std::string_view field) {
    decode_enum(in, value, Operation::admin, field);
}

}  // namespace bps::rows
