#pragma once

#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/field_types.hpp"
#include "node/bps/core/codec/reader.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// Memory that the arrays of one message may take once decoded: some 100,000 partitions. A few bytes
// of a request can stand for a hundred of a struct, so the size of the request alone is no bound.
inline constexpr std::size_t kArrayBytesMax = 8U << 20U;

// Reads one message of one version by its table (Presence). What it fills in borrows from the
// bytes. The first error sticks.
class Decoder {
  public:
    Decoder(base::ByteView bytes, std::int16_t version, bool flexible)
        : in_(bytes), version_(version), flexible_(flexible) {}

    template <class T>
    void structure(T& value) {
        const std::int16_t outer = std::exchange(tag_, Presence::kUntagged);
        T::fields(value, *this);
        if (flexible_) tagged(value);
        tag_ = outer;
    }
    // A line of a table.
    template <class T>
    void operator()(std::string_view name, T& value, const Presence& presence = {}) {
        if (presence.tag != tag_ || !presence.holds(version_) || !in_.ok()) return;
        if constexpr (kIsNullable<T>) {
            nullable(name, value, version_ >= presence.null_since);
        } else {
            required(name, value);
        }
    }

    [[nodiscard]] base::Result<void> finish() const { return in_.finish(); }
    // The same, but bytes that are left over are no error.
    [[nodiscard]] base::Result<void> status() const { return in_.status(); }

  private:
    template <class T>
    void required(std::string_view name, T& value) {
        if constexpr (std::same_as<T, bool>) {
            value = in_.boolean(name);
        } else if constexpr (std::is_enum_v<T>) {
            value = static_cast<T>(in_.integer<std::underlying_type_t<T>>(name));
        } else if constexpr (std::integral<T>) {
            value = in_.integer<T>(name);
        } else if constexpr (Sized<T> || kIsArray<T>) {
            if (!present(name, value)) in_.set_error(name, "null, where a value is required");
        } else {
            structure(value);
        }
    }
    template <class T>
    void nullable(std::string_view name, std::optional<T>& value, bool may_be_null) {
        T found{};
        if (present(name, found)) {
            value = std::move(found);
        } else {
            value.reset();
            if (!may_be_null) in_.set_error(name, "null, which this version does not allow");
        }
    }
    // False: null.
    template <Sized T>
    bool present(std::string_view name, T& value) {
        const std::optional<std::uint32_t> size = length(name, kHasShortLength<T>);
        if (!size) return !in_.ok();
        const std::size_t at = in_.offset();
        const base::ByteView bytes = in_.raw(*size, name);
        if constexpr (std::same_as<T, std::string_view>) {
            value = base::as_text(bytes);
        } else if constexpr (std::same_as<T, StoredRecords>) {
            value = {.log = 0, .segment = 0, .position = at, .bytes = *size};
        } else {
            value = bytes;
        }
        return true;
    }
    template <class T>
    bool present(std::string_view name, std::vector<T>& items) {
        const std::optional<std::uint32_t> count = length(name, false);
        if (!count) return !in_.ok();
        if (!admit(name, *count, sizeof(T))) return true;
        items.resize(*count);
        for (T& item : items) {
            if (!in_.ok()) break;
            required(name, item);
        }
        return true;
    }
    template <class T>
    void tagged(T& value) {
        std::int64_t last = -1;
        for (std::uint32_t left = in_.unsigned_varint("tagged fields"); left > 0; --left) {
            if (!in_.ok()) return;
            const std::uint32_t tag = in_.unsigned_varint("tag");
            const std::uint32_t size = in_.unsigned_varint("size of a tagged field");
            if (tag <= last) in_.set_error("tag", "tags that do not ascend");
            last = tag;
            one_tagged(value, tag, size);
        }
    }
    template <class T>
    void one_tagged(T& value, std::uint32_t tag, std::uint32_t size) {
        if (size > in_.left()) in_.set_error("tagged field", "longer than what is left");
        const std::size_t begin = in_.offset();
        if (tag <= kTagMax) {
            tag_ = static_cast<std::int16_t>(tag);
            T::fields(value, *this);
        }
        // No line has this tag: a field of a later version.
        if (in_.offset() == begin) (void)in_.raw(size, "tagged field");
        if (in_.ok() && in_.offset() != begin + size) {
            in_.set_error("tagged field", "not as long as it says");
        }
    }

    // The length of a string, bytes or an array; absent: null, or an error.
    [[nodiscard]] std::optional<std::uint32_t> length(std::string_view name, bool is_short);
    // Whether an array may have as many items, `bytes` each in memory.
    [[nodiscard]] bool admit(std::string_view name, std::uint32_t count, std::size_t bytes);

    // Above all that any table has.
    static constexpr std::uint32_t kTagMax = 16;

    Reader in_;
    std::int16_t version_;
    bool flexible_;
    std::int16_t tag_ = Presence::kUntagged;  // Lines with another tag are passed over.
    std::size_t array_bytes_left_ = kArrayBytesMax;
};

}  // namespace bps
