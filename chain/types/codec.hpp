#pragma once

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/crypto/keys.hpp"
#include "base/result.hpp"
#include "chain/types/limits.hpp"

#include <concepts>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace chain {

// How every type of this folder is packed: `encode(Writer&, value)` and
// `decode(Reader&, value&, field)`. decode() reports through the sticky error of its reader and
// names `field`; after an error the value has unspecified contents.
//
// A type that is its fields and no more lists them once, in the order of the packed form, and has
// both by that: `static void each_field(auto& self, auto&& visit) { visit(self.a, self.b); }`,
// where `self` may be const. Types that need more have functions of their own beside them.

template <class T>
concept Listed = requires(T& value, int visit) { T::each_field(value, visit); };

using base::crypto::decode;
using base::crypto::encode;

template <std::size_t N>
void encode(base::Writer& out, const base::Hash<N>& hash) {
    out.hash(hash);
}
template <std::size_t N>
void decode(base::Reader& in, base::Hash<N>& hash, std::string_view field) {
    hash = in.hash<N>(field);
}

template <std::integral T>
void encode(base::Writer& out, T value) {
    if constexpr (std::same_as<T, bool>) {
        out.boolean(value);
    } else {
        out.integer(value);
    }
}
template <std::integral T>
void decode(base::Reader& in, T& value, std::string_view field) {
    if constexpr (std::same_as<T, bool>) {
        value = in.boolean(field);
    } else {
        value = in.integer<T>(field);
    }
}

template <class A, class B>
void encode(base::Writer& out, const std::pair<A, B>& pair) {
    encode(out, pair.first);
    encode(out, pair.second);
}
template <class A, class B>
void decode(base::Reader& in, std::pair<A, B>& pair, std::string_view field) {
    decode(in, pair.first, field);
    decode(in, pair.second, field);
}

template <class T>
void encode(base::Writer& out, const std::optional<T>& value) {
    out.boolean(value.has_value());
    if (value) encode(out, *value);
}
template <class T>
void decode(base::Reader& in, std::optional<T>& value, std::string_view field) {
    value.reset();
    if (in.boolean(field)) decode(in, value.emplace(), field);
}

template <Listed T>
void encode(base::Writer& out, const T& value) {
    T::each_field(value, [&out](const auto&... fields) { (encode(out, fields), ...); });
}
template <Listed T>
void decode(base::Reader& in, T& value, std::string_view field) {
    T::each_field(value, [&](auto&&... fields) { (decode(in, fields, field), ...); });
}

// A varuint32 count and the items.
template <class T>
void encode_list(base::Writer& out, const std::vector<T>& items) {
    out.varuint32(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) {
        encode(out, item);
    }
}

// What a list may hold: at most `count`, each of at least `item_bytes_min` packed bytes.
struct ListLimit {
    std::size_t count = 0;
    std::size_t item_bytes_min = 1;
};

// Allocates item by item, so that a wrong count costs nothing before its items are read.
template <class T>
void decode_list(base::Reader& in, std::vector<T>& items, ListLimit limit, std::string_view field) {
    items.clear();
    const std::size_t count = in.count(field, limit.count, limit.item_bytes_min);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        decode(in, items.emplace_back(), field);
    }
}

// Among the fields of a type: a list, or bytes or a text of so many bytes at most.
template <class T>
struct Limited {
    T& value;
    ListLimit limit;
};
template <class T>
Limited(T&, ListLimit) -> Limited<T>;
template <class T>
void encode(base::Writer& out, const Limited<T>& list) {
    encode_list(out, list.value);
}
template <class T>
void decode(base::Reader& in, const Limited<std::vector<T>>& list, std::string_view field) {
    decode_list(in, list.value, list.limit, field);
}
inline void encode(base::Writer& out, const Limited<const base::Bytes>& bytes) {
    out.bytes(bytes.value);
}
inline void decode(base::Reader& in, const Limited<base::Bytes>& bytes, std::string_view field) {
    bytes.value = base::to_bytes(in.bytes(field, bytes.limit.count));
}
inline void encode(base::Writer& out, const Limited<const std::string>& text) {
    out.string(text.value);
}
inline void decode(base::Reader& in, const Limited<std::string>& text, std::string_view field) {
    text.value = in.string(field, text.limit.count);
}

// Among the fields of a type: a number as varuint32.
template <class T>
struct Varuint32 {
    T& value;
};
template <class T>
Varuint32(T&) -> Varuint32<T>;
inline void encode(base::Writer& out, Varuint32<const std::uint32_t> number) {
    out.varuint32(number.value);
}
inline void decode(base::Reader& in, Varuint32<std::uint32_t> number, std::string_view field) {
    number.value = in.varuint32(field);
}

// {u16 id, bytes}, as used by Antelope for what was added to a format later.
struct Extension {
    std::uint16_t id = 0;
    base::Bytes data;

    friend bool operator==(const Extension&, const Extension&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.id, Limited{self.data, {kTransactionBytesMax}});
    }
};
using Extensions = std::vector<Extension>;

// Any type of this folder to bytes.
template <class T>
[[nodiscard]] base::Bytes pack(const T& value) {
    base::Writer out;
    encode(out, value);
    return out.take();
}

// All of `bytes` to a value. malformed: names the field and the offset.
template <class T>
[[nodiscard]] base::Result<T> unpack(base::ByteView bytes, std::string_view field) {
    base::Reader in(bytes);
    T value{};
    decode(in, value, field);
    if (auto done = in.finish(); !done) return base::fail(std::move(done).error());
    return value;
}

// As unpack(), but bytes may be left, as where nodeos reads from a stream.
template <class T>
[[nodiscard]] base::Result<T> unpack_start(base::ByteView bytes, std::string_view field) {
    base::Reader in(bytes);
    T value{};
    decode(in, value, field);
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    return value;
}

}  // namespace chain
