#pragma once

#include "base/bytes.hpp"
#include "base/codec.hpp"
#include "base/crypto/keys.hpp"
#include "base/result.hpp"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace chain {

// How every type of this folder is packed: `encode(Writer&, value)` and
// `decode(Reader&, value&, field)` beside the type. decode() reports through the sticky error
// of its reader and names `field`; after an error the value has unspecified contents.

using base::crypto::encode;
void decode(base::Reader& in, base::crypto::PublicKey& key, std::string_view field);
void decode(base::Reader& in, base::crypto::Signature& signature, std::string_view field);

template <std::size_t N>
void encode(base::Writer& out, const base::Hash<N>& hash) {
    out.hash(hash);
}
template <std::size_t N>
void decode(base::Reader& in, base::Hash<N>& hash, std::string_view field) {
    hash = in.hash<N>(field);
}

// {u16 id, bytes}, as used by Antelope for what was added to a format later.
struct Extension {
    std::uint16_t id = 0;
    base::Bytes data;

    friend bool operator==(const Extension&, const Extension&) = default;
};
using Extensions = std::vector<Extension>;
void encode(base::Writer& out, const Extension& extension);
void decode(base::Reader& in, Extension& extension, std::string_view field);

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

template <class T>
void encode_optional(base::Writer& out, const std::optional<T>& value) {
    out.boolean(value.has_value());
    if (value) encode(out, *value);
}

template <class T>
void decode_optional(base::Reader& in, std::optional<T>& value, std::string_view field) {
    value.reset();
    if (in.boolean(field)) decode(in, value.emplace(), field);
}

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

}  // namespace chain
