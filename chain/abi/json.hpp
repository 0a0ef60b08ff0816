#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace chain::abi {

// JSON as nodeos writes it: members keep their order.
using Json = nlohmann::ordered_json;

// What a foreign text may cost at most.
struct JsonLimits {
    std::size_t bytes = 4 * 1024 * 1024;
    std::size_t depth = 64;      // Nested arrays and objects.
    std::size_t members = 1024;  // Of one object: looking for a member is linear.
    std::size_t values = 1024 * 1024;
};

// The only way foreign JSON comes in. parse_error_exception: not JSON (RFC 8259), something
// after the value, a member twice in an object, or a limit, which the message names.
[[nodiscard]] base::Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Compact, or indented when `indent` is not negative. Bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string dump_json(const Json& json, int indent = -1);

// fc's rule: a number up to 0xffffffff in magnitude, else a string.
[[nodiscard]] Json json_integer(std::uint64_t value);
[[nodiscard]] Json json_integer(std::int64_t value);

// The member `key` of an object; null when there is none or `json` is no object.
[[nodiscard]] const Json* find_member(const Json& json, std::string_view key);

// The conversions of fc, nodeos' library, with its messages. They take what fc takes: integers
// also as texts, a number where a text is wanted, null as zero. bad_cast_exception: another
// type; parse_error_exception: a text that is no number. Integers wrap to the wanted type only
// where the caller narrows them; the 64-bit ones below wrap signs as fc does.
[[nodiscard]] base::Result<std::uint64_t> as_uint64(const Json& json);
[[nodiscard]] base::Result<std::int64_t> as_int64(const Json& json);
[[nodiscard]] base::Result<bool> as_bool(const Json& json);
[[nodiscard]] base::Result<std::string> as_string(const Json& json);
// Only a text will do.
[[nodiscard]] base::Result<std::string> get_string(const Json& json);
// Success when it is an object or array; else bad_cast_exception.
[[nodiscard]] base::Result<void> expect_object(const Json& json);
[[nodiscard]] base::Result<void> expect_array(const Json& json);

// An unsigned integer of a request that must fit: `maximum` is inclusive.
// bad_cast_exception names the field, the value and the maximum.
[[nodiscard]] base::Result<std::uint64_t> as_bounded(const Json& json,
                                                     std::uint64_t maximum,
                                                     std::string_view field);

// Hexadecimal text to bytes with fc's messages (assert_exception for an odd length).
[[nodiscard]] base::Result<base::Bytes> bytes_from_hex(std::string_view text);
[[nodiscard]] base::Result<base::Bytes> bytes_from_json(const Json& json);

// A value with a text form: what `text_of` (get_string or as_string) and then T::from_string give.
template <class T>
[[nodiscard]] base::Result<T> from_text(
    const Json& json, base::Result<std::string> (*text_of)(const Json&) = get_string) {
    auto text = text_of(json);
    if (!text) return base::fail(std::move(text).error());
    return T::from_string(*text);
}

}  // namespace chain::abi
