// Texts of names, symbols, assets and times: what is read prints as a text that reads the same.
#include "base/check.hpp"
#include "chain/types/asset.hpp"
#include "chain/types/name.hpp"
#include "chain/types/time.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace {

template <class T>
void text_round_trip(std::string_view text) {
    const auto value = T::from_string(text);
    if (!value) return;
    const auto again = T::from_string(value->to_string());
    CHECK(again);
    CHECK(*again == *value);
}

template <class T>
void byte_round_trip(base::ByteView bytes) {
    const auto value = chain::unpack<T>(bytes, "value");
    if (!value) return;
    CHECK(base::equal(chain::pack(*value), bytes));
    text_round_trip<T>(value->to_string());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    text_round_trip<chain::Name>(text);
    text_round_trip<chain::SymbolCode>(text);
    text_round_trip<chain::Symbol>(text);
    text_round_trip<chain::Asset>(text);
    text_round_trip<chain::TimePointSec>(text);
    byte_round_trip<chain::Name>(bytes);
    byte_round_trip<chain::Symbol>(bytes);
    byte_round_trip<chain::Asset>(bytes);
    // Times far away have no text that reads back; they only must not fail.
    if (const auto time = chain::TimePoint::from_string(text)) {
        static_cast<void>(time->to_string());
    }
    if (const auto time = chain::unpack<chain::TimePoint>(bytes, "time")) {
        static_cast<void>(time->to_string());
    }
    return 0;
}
