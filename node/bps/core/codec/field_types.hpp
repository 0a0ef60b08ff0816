#pragma once

#include "base/bytes.hpp"
#include "node/bps/core/codec/stored_records.hpp"

#include <concepts>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

// Which C++ types stand for which of Kafka's.
namespace bps {

template <class T>
inline constexpr bool kIsArray = false;
template <class T>
inline constexpr bool kIsArray<std::vector<T>> = true;

template <class T>
inline constexpr bool kIsNullable = false;
template <class T>
inline constexpr bool kIsNullable<std::optional<T>> = true;

// string, bytes or records: a length and bytes.
template <class T>
concept Sized = std::same_as<T, std::string_view> || std::same_as<T, base::ByteView> ||
                std::same_as<T, StoredRecords>;

template <class T>
concept Scalar = std::integral<T> || std::is_enum_v<T>;

// Whether Kafka gives the length of a T, where it is not compact, 2 bytes and not 4.
template <class T>
inline constexpr bool kHasShortLength = std::same_as<T, std::string_view>;

}  // namespace bps
