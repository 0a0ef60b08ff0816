#include "chain/abi/builtin.hpp"

#include "base/crypto/keys.hpp"
#include "chain/abi/wide.hpp"
#include "chain/types/asset.hpp"
#include "chain/types/exception.hpp"
#include "chain/types/limits.hpp"
#include "chain/types/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

namespace chain::abi {

namespace {

using WriteResult = base::Result<void>;

constexpr std::size_t kBytesMax = kTransactionBytesMax;

// fc reads signed and unsigned integers of 64 bits and narrows them without a check; a client
// that relies on it gets the same bytes here.
template <std::unsigned_integral T>
Json read_unsigned(base::Reader& in) {
    return json_integer(std::uint64_t{in.integer<T>("value")});
}
template <std::unsigned_integral T>
WriteResult write_unsigned(base::Writer& out, const Json& json) {
    return as_uint64(json).map([&out](std::uint64_t value) { out.integer(static_cast<T>(value)); });
}
template <std::signed_integral T>
Json read_signed(base::Reader& in) {
    return json_integer(std::int64_t{in.integer<T>("value")});
}
template <std::signed_integral T>
WriteResult write_signed(base::Writer& out, const Json& json) {
    return as_int64(json).map([&out](std::int64_t value) { out.integer(static_cast<T>(value)); });
}

Json read_varuint32(base::Reader& in) {
    return Json(in.varuint32("value"));
}
WriteResult write_varuint32(base::Writer& out, const Json& json) {
    return as_uint64(json).map(
        [&out](std::uint64_t value) { out.varuint32(static_cast<std::uint32_t>(value)); });
}

// Zig-zag: 0, -1, 1, -2, ...
Json read_varint32(base::Reader& in) {
    const std::uint32_t bits = in.varuint32("value");
    return Json(static_cast<std::int32_t>((bits >> 1U) ^ (0U - (bits & 1U))));
}
WriteResult write_varint32(base::Writer& out, const Json& json) {
    auto value = as_int64(json);
    if (!value) return base::fail(std::move(value).error());
    const auto bits = static_cast<std::uint32_t>(*value);
    const bool negative = static_cast<std::int32_t>(bits) < 0;
    out.varuint32(bits << 1U ^ (negative ? 0xFFFF'FFFFU : 0U));
    return {};
}

base::Result<double> as_double(const Json& json) {
    if (json.is_number()) return json.get<double>();
    if (json.is_boolean()) return json.get<bool>() ? 1.0 : 0.0;
    if (json.is_null()) return 0.0;
    const auto* text = json.get_ptr<const std::string*>();
    if (text == nullptr) {
        return fail(Exception::bad_cast_exception, "Invalid cast to double");
    }
    std::string_view digits = *text;
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    double value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stopped, problem] = std::from_chars(digits.data(), end, value);
    if (digits.empty() || problem != std::errc{} || stopped != end) {
        return fail(Exception::parse_error_exception, "Couldn't parse double");
    }
    return value;
}

template <class Float, class Bits>
Json read_float(base::Reader& in) {
    return Json(fmt::format("{:.17f}", std::bit_cast<Float>(in.integer<Bits>("value"))));
}
template <class Float, class Bits>
WriteResult write_float(base::Writer& out, const Json& json) {
    return as_double(json).map(
        [&out](double value) { out.integer(std::bit_cast<Bits>(static_cast<Float>(value))); });
}

Json read_float128(base::Reader& in) {
    return Json("0x" + base::to_hex(in.raw(16, "value")));
}
WriteResult write_float128(base::Writer& out, const Json& json) {
    auto text = get_string(json);
    if (!text) return base::fail(std::move(text).error());
    if (text->size() != 34 || !text->starts_with("0x")) {
        return fail(Exception::assert_exception,
                    "a float128 is not \"0x\" and 32 hexadecimal digits");
    }
    auto bytes = bytes_from_hex(std::string_view(*text).substr(2));
    if (!bytes) return base::fail(std::move(bytes).error());
    out.raw(*bytes);
    return {};
}

Json read_uint128(base::Reader& in) {
    return Json(uint128_to_string(read_wide(in)));
}
Json read_int128(base::Reader& in) {
    return Json(int128_to_string(read_wide(in)));
}
WriteResult write_wide_text(base::Writer& out, const Json& json, bool is_signed) {
    auto text = get_string(json);
    if (!text) return base::fail(std::move(text).error());
    auto value = is_signed ? int128_from_string(*text) : uint128_from_string(*text);
    if (!value) return base::fail(std::move(value).error());
    write_wide(out, *value);
    return {};
}
WriteResult write_uint128(base::Writer& out, const Json& json) {
    return write_wide_text(out, json, false);
}
WriteResult write_int128(base::Writer& out, const Json& json) {
    return write_wide_text(out, json, true);
}

// Types of chain/types that have a text: `T::from_string` and `to_string`. `Texts` is
// get_string where fc wants a text, as_string where it takes what can become one.
template <class T>
Json read_texted(base::Reader& in) {
    T value;
    decode(in, value, "value");
    return in.ok() ? Json(value.to_string()) : Json();
}
template <class T, base::Result<std::string> (*Texts)(const Json&)>
WriteResult write_texted(base::Writer& out, const Json& json) {
    return from_text<T>(json, Texts).map([&out](const T& value) { encode(out, value); });
}

Json read_bytes(base::Reader& in) {
    return Json(base::to_hex(in.bytes("value", kBytesMax)));
}
WriteResult write_bytes(base::Writer& out, const Json& json) {
    return bytes_from_json(json).map([&out](const base::Bytes& bytes) { out.bytes(bytes); });
}

Json read_string(base::Reader& in) {
    return Json(in.string("value", kBytesMax));
}
WriteResult write_string(base::Writer& out, const Json& json) {
    return as_string(json).map([&out](const std::string& text) { out.string(text); });
}

template <std::size_t N>
Json read_checksum(base::Reader& in) {
    return Json(base::to_hex(in.raw(N, "value")));
}
// Shorter texts are filled with zeros and longer ones cut, as fc does.
template <std::size_t N>
WriteResult write_checksum(base::Writer& out, const Json& json) {
    auto bytes = bytes_from_json(json);
    if (!bytes) return base::fail(std::move(bytes).error());
    bytes->resize(N);
    out.raw(*bytes);
    return {};
}

Json read_extended_asset(base::Reader& in) {
    ExtendedAsset value;
    decode(in, value, "value");
    if (!in.ok()) return {};
    return {{"quantity", value.quantity.to_string()}, {"contract", value.contract.to_string()}};
}
WriteResult write_extended_asset(base::Writer& out, const Json& json) {
    if (auto object = expect_object(json); !object) return object;
    ExtendedAsset value;
    if (const Json* quantity = find_member(json, "quantity")) {
        auto parsed = from_text<Asset>(*quantity);
        if (!parsed) return base::fail(std::move(parsed).error());
        value.quantity = *parsed;
    }
    if (const Json* contract = find_member(json, "contract")) {
        auto parsed = from_text<Name>(*contract);
        if (!parsed) return base::fail(std::move(parsed).error());
        value.contract = *parsed;
    }
    encode(out, value);
    return {};
}

using base::crypto::PublicKey;
using base::crypto::Signature;

// Ascending by name.
constexpr auto kBuiltins = std::to_array<Builtin>({
    {"asset", read_texted<Asset>, write_texted<Asset, get_string>},
    {"block_timestamp_type", read_texted<BlockTimestamp>, write_texted<BlockTimestamp, as_string>},
    {"bool", read_unsigned<std::uint8_t>, write_unsigned<std::uint8_t>},
    {"bytes", read_bytes, write_bytes},
    {"checksum160", read_checksum<20>, write_checksum<20>},
    {"checksum256", read_checksum<32>, write_checksum<32>},
    {"checksum512", read_checksum<64>, write_checksum<64>},
    {"extended_asset", read_extended_asset, write_extended_asset},
    {"float128", read_float128, write_float128},
    {"float32", read_float<float, std::uint32_t>, write_float<float, std::uint32_t>},
    {"float64", read_float<double, std::uint64_t>, write_float<double, std::uint64_t>},
    {"int128", read_int128, write_int128},
    {"int16", read_signed<std::int16_t>, write_signed<std::int16_t>},
    {"int32", read_signed<std::int32_t>, write_signed<std::int32_t>},
    {"int64", read_signed<std::int64_t>, write_signed<std::int64_t>},
    {"int8", read_signed<std::int8_t>, write_signed<std::int8_t>},
    {"name", read_texted<Name>, write_texted<Name, get_string>},
    {"public_key", read_texted<PublicKey>, write_texted<PublicKey, as_string>},
    {"signature", read_texted<Signature>, write_texted<Signature, as_string>},
    {"string", read_string, write_string},
    {"symbol", read_texted<Symbol>, write_texted<Symbol, get_string>},
    {"symbol_code", read_texted<SymbolCode>, write_texted<SymbolCode, get_string>},
    {"time_point", read_texted<TimePoint>, write_texted<TimePoint, as_string>},
    {"time_point_sec", read_texted<TimePointSec>, write_texted<TimePointSec, as_string>},
    {"uint128", read_uint128, write_uint128},
    {"uint16", read_unsigned<std::uint16_t>, write_unsigned<std::uint16_t>},
    {"uint32", read_unsigned<std::uint32_t>, write_unsigned<std::uint32_t>},
    {"uint64", read_unsigned<std::uint64_t>, write_unsigned<std::uint64_t>},
    {"uint8", read_unsigned<std::uint8_t>, write_unsigned<std::uint8_t>},
    {"varint32", read_varint32, write_varint32},
    {"varuint32", read_varuint32, write_varuint32},
});

static_assert(std::ranges::is_sorted(kBuiltins, {}, &Builtin::name));

}  // namespace

const Builtin* find_builtin(std::string_view name) {
    const auto* found = std::ranges::lower_bound(kBuiltins, name, {}, &Builtin::name);
    return found != kBuiltins.end() && found->name == name ? found : nullptr;
}

}  // namespace chain::abi
