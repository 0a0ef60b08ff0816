#pragma once

#include <bor/check.hpp>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

// Antelope's binary form: integers little-endian, lengths as varuint32, structures field by field.
// A structure takes part by BOR_FIELDS(a, b, c); a type with a form of its own overloads encode and
// decode in its namespace.

#define BOR_FIELDS(...)               \
    auto fields() {                   \
        return std::tie(__VA_ARGS__); \
    }                                 \
    auto fields() const {             \
        return std::tie(__VA_ARGS__); \
    }

namespace bor {

using Bytes = std::vector<char>;

// Reads from a buffer that outlives it.
class Reader {
  public:
    Reader(const char* data, std::size_t size) : pos_(data), end_(data + size) {}
    explicit Reader(const Bytes& bytes) : Reader(bytes.data(), bytes.size()) {}

    void read(void* to, std::size_t size) {
        need(size);
        std::memcpy(to, pos_, size);
        pos_ += size;
    }
    void skip(std::size_t size) {
        need(size);
        pos_ += size;
    }
    [[nodiscard]] const char* pos() const { return pos_; }
    [[nodiscard]] std::size_t remaining() const { return static_cast<std::size_t>(end_ - pos_); }

  private:
    void need(std::size_t size) const {
        check(size <= remaining(), "datastream attempted to read past the end");
    }
    const char* pos_;
    const char* end_;
};

// Writes to a buffer that is known to be large enough, or fails the transaction.
class Writer {
  public:
    Writer(char* data, std::size_t size) : pos_(data), end_(data + size) {}
    void write(const void* from, std::size_t size) {
        check(size <= static_cast<std::size_t>(end_ - pos_),
              "datastream attempted to write past the end");
        std::memcpy(pos_, from, size);
        pos_ += size;
    }

  private:
    char* pos_;
    char* end_;
};

// Counts what a Writer would write.
class Sizer {
  public:
    void write(const void*, std::size_t size) { size_ += size; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    std::size_t size_ = 0;
};

// An unsigned integer of one to five bytes, seven bits each, low group first.
struct VarUint32 {
    uint32_t value = 0;
    constexpr VarUint32() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): it is an integer with another packed form.
    constexpr VarUint32(uint32_t number) : value(number) {}
    constexpr bool operator==(const VarUint32&) const = default;
};

// A field that older rows or callers leave out: written only when present, read only when bytes are
// left. Only as the last field.
template <class T>
struct BinaryExtension {
    std::optional<T> value;
};

// A parameter whose bytes are left unread.
template <class T>
struct Ignore {};

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, uint128_t> ||
                std::is_same_v<T, int128_t>;
template <class T>
concept Structure = requires(T& value) { value.fields(); };

template <class Out>
void encode(Out& out, const VarUint32& number) {
    uint32_t rest = number.value;
    do {
        const char group = static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
        out.write(&group, 1);
        rest >>= 7;
    } while (rest != 0);
}
inline void decode(Reader& in, VarUint32& number) {
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t group = 0;
    do {
        in.read(&group, 1);
        value |= static_cast<uint64_t>(group & 127) << shift;
        shift += 7;
    } while ((group & 128) != 0 && shift < 35);
    number.value = static_cast<uint32_t>(value);
}

template <class Out, Plain T>
void encode(Out& out, const T& value) {
    out.write(&value, sizeof(T));
}
template <Plain T>
void decode(Reader& in, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        uint8_t byte = 0;
        in.read(&byte, 1);
        value = byte != 0;
    } else {
        in.read(&value, sizeof(T));
    }
}

template <class Out, Structure T>
void encode(Out& out, const T& value) {
    std::apply([&](const auto&... field) { (encode(out, field), ...); }, value.fields());
}
template <Structure T>
void decode(Reader& in, T& value) {
    std::apply([&](auto&... field) { (decode(in, field), ...); }, value.fields());
}

template <class Out>
void encode(Out& out, const std::string& text) {
    encode(out, VarUint32(text.size()));
    out.write(text.data(), text.size());
}
inline void decode(Reader& in, std::string& text) {
    VarUint32 size;
    decode(in, size);
    const char* from = in.pos();
    in.skip(size.value);
    text.assign(from, size.value);
}

template <class Out, class T>
void encode(Out& out, const std::vector<T>& items) {
    encode(out, VarUint32(items.size()));
    if constexpr (sizeof(T) == 1 && Plain<T>) {
        out.write(items.data(), items.size());
    } else {
        for (const T& item : items)
            encode(out, item);
    }
}
template <class T>
void decode(Reader& in, std::vector<T>& items) {
    VarUint32 size;
    decode(in, size);
    if constexpr (sizeof(T) == 1 && Plain<T>) {
        const char* from = in.pos();
        in.skip(size.value);
        items.assign(from, from + size.value);
    } else {
        items.clear();
        for (uint32_t i = 0; i < size.value; ++i)
            decode(in, items.emplace_back());
    }
}

template <class Out, class T>
void encode(Out& out, const std::set<T>& items) {
    encode(out, VarUint32(items.size()));
    for (const T& item : items)
        encode(out, item);
}
template <class T>
void decode(Reader& in, std::set<T>& items) {
    VarUint32 size;
    decode(in, size);
    items.clear();
    for (uint32_t i = 0; i < size.value; ++i) {
        T item{};
        decode(in, item);
        items.insert(std::move(item));
    }
}

template <class Out, class K, class V>
void encode(Out& out, const std::map<K, V>& items) {
    encode(out, VarUint32(items.size()));
    for (const auto& item : items)
        encode(out, item);
}
template <class K, class V>
void decode(Reader& in, std::map<K, V>& items) {
    VarUint32 size;
    decode(in, size);
    items.clear();
    for (uint32_t i = 0; i < size.value; ++i) {
        std::pair<K, V> item{};
        decode(in, item);
        items.insert(std::move(item));
    }
}

template <class Out, class T>
void encode(Out& out, const std::optional<T>& value) {
    encode(out, value.has_value());
    if (value) encode(out, *value);
}
template <class T>
void decode(Reader& in, std::optional<T>& value) {
    bool present = false;
    decode(in, present);
    if (present) {
        decode(in, value.emplace());
    } else {
        value.reset();
    }
}

template <class Out, class A, class B>
void encode(Out& out, const std::pair<A, B>& value) {
    encode(out, value.first);
    encode(out, value.second);
}
template <class A, class B>
void decode(Reader& in, std::pair<A, B>& value) {
    decode(in, value.first);
    decode(in, value.second);
}

template <class Out, class... T>
void encode(Out& out, const std::tuple<T...>& value) {
    std::apply([&](const auto&... field) { (encode(out, field), ...); }, value);
}
template <class... T>
void decode(Reader& in, std::tuple<T...>& value) {
    std::apply([&](auto&... field) { (decode(in, field), ...); }, value);
}

template <class Out, class T, std::size_t N>
void encode(Out& out, const std::array<T, N>& items) {
    for (const T& item : items)
        encode(out, item);
}
template <class T, std::size_t N>
void decode(Reader& in, std::array<T, N>& items) {
    for (T& item : items)
        decode(in, item);
}
// Digests and keys: one copy instead of a loop.
template <class Out, std::size_t N>
void encode(Out& out, const std::array<uint8_t, N>& bytes) {
    out.write(bytes.data(), N);
}
template <std::size_t N>
void decode(Reader& in, std::array<uint8_t, N>& bytes) {
    in.read(bytes.data(), N);
}

template <class Out, class T>
void encode(Out& out, const BinaryExtension<T>& extension) {
    if (extension.value) encode(out, *extension.value);
}
template <class T>
void decode(Reader& in, BinaryExtension<T>& extension) {
    extension.value.reset();
    if (in.remaining() > 0) decode(in, extension.value.emplace());
}

template <class T>
void decode(Reader&, Ignore<T>&) {}

template <class T>
[[nodiscard]] std::size_t packed_size(const T& value) {
    Sizer sizer;
    encode(sizer, value);
    return sizer.size();
}
template <class T>
[[nodiscard]] Bytes pack(const T& value) {
    Bytes bytes(packed_size(value));
    Writer writer(bytes.data(), bytes.size());
    encode(writer, value);
    return bytes;
}
template <class T>
[[nodiscard]] T unpack(const char* data, std::size_t size) {
    Reader reader(data, size);
    T value{};
    decode(reader, value);
    return value;
}
template <class T>
[[nodiscard]] T unpack(const Bytes& bytes) {
    return unpack<T>(bytes.data(), bytes.size());
}

}  // namespace bor
