#pragma once

#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/field_types.hpp"
#include "node/bps/core/codec/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// Where stored records belong in an encoded message: before the byte at `at` of what was written.
struct Splice {
    std::size_t at;
    StoredRecords records;
};

// Bytes of a message without its stored records: a request of a few bytes can ask for something
// large many times.
inline constexpr std::size_t kMessageBytesMax = std::size_t{32} << 20U;

// Writes one message of one version by its table (Presence). Fields that the version does not have
// are left out; null in a version that has no null is written as empty. What would be longer than
// kMessageBytesMax is cut, and is none.
class Encoder {
  public:
    Encoder(std::int16_t version, bool flexible) : version_(version), flexible_(flexible) {}

    template <class T>
    void structure(const T& value) {
        const Pass outer = std::exchange(pass_, Pass::untagged);
        T::fields(value, *this);
        if (flexible_) {
            tags_ = 0;
            pass_ = Pass::count_tagged;
            T::fields(value, *this);
            out_.unsigned_varint(tags_);
            pass_ = Pass::tagged;
            T::fields(value, *this);
        }
        pass_ = outer;
    }
    // A line of a table.
    template <class T>
    void operator()(std::string_view name, const T& value, const Presence& presence = {}) {
        if (!presence.holds(version_)) return;
        if (presence.tag == Presence::kUntagged) {
            if (pass_ == Pass::untagged) field(value, version_ >= presence.null_since);
            return;
        }
        constexpr bool kMayBeTagged = Scalar<T> || kIsNullable<T>;
        if constexpr (kMayBeTagged) {
            tagged(value, presence);
        } else {
            refuse_tag(name);
        }
    }

    [[nodiscard]] Writer& out() { return out_; }
    [[nodiscard]] std::vector<Splice> take_splices() { return std::exchange(splices_, {}); }
    // Bytes of all records that were named and not written.
    [[nodiscard]] std::uint64_t spliced_bytes() const { return spliced_bytes_; }
    [[nodiscard]] bool is_cut() const { return is_cut_; }

  private:
    enum class Pass : std::uint8_t { untagged, count_tagged, tagged };

    // A table tags a field that cannot be tagged: a bug of ours.
    static void refuse_tag(std::string_view name);

    template <class T>
    [[nodiscard]] static bool is_default(const T& value) {
        if constexpr (kIsNullable<T>) {
            return !value;
        } else {
            return value == T{};
        }
    }
    // Left out where it is null or 0, which is the default of every tagged field here.
    template <class T>
    void tagged(const T& value, const Presence& presence) {
        if (pass_ == Pass::untagged || is_default(value)) return;
        if (pass_ == Pass::count_tagged) {
            ++tags_;
            return;
        }
        Encoder content(version_, flexible_);
        content.field(value, true);
        out_.unsigned_varint(static_cast<std::uint32_t>(presence.tag));
        out_.unsigned_varint(static_cast<std::uint32_t>(content.out_.size()));
        out_.raw(content.out_.view());
    }
    template <class T>
    void field(const T& value, bool may_be_null) {
        if constexpr (kIsNullable<T>) {
            if (value) {
                field(*value, true);
            } else {
                using Length = std::optional<std::size_t>;
                length(may_be_null ? Length{} : Length{0}, kHasShortLength<typename T::value_type>);
            }
        } else if constexpr (std::same_as<T, bool>) {
            out_.boolean(value);
        } else if constexpr (std::is_enum_v<T>) {
            out_.integer(static_cast<std::underlying_type_t<T>>(value));
        } else if constexpr (std::integral<T>) {
            out_.integer(value);
        } else if constexpr (Sized<T>) {
            sized(value);
        } else if constexpr (kIsArray<T>) {
            length(value.size(), false);
            for (const auto& item : value) {
                is_cut_ = is_cut_ || out_.size() > kMessageBytesMax;
                if (is_cut_) return;
                field(item, false);
            }
        } else {
            structure(value);
        }
    }
    void sized(std::string_view value) {
        length(value.size(), true);
        out_.raw(base::as_bytes(value));
    }
    void sized(base::ByteView value) {
        length(value.size(), false);
        out_.raw(value);
    }
    void sized(const StoredRecords& value) {
        length(value.bytes, false);
        if (value.bytes == 0) return;
        splices_.push_back({out_.size(), value});
        spliced_bytes_ += value.bytes;
    }
    // Absent: null.
    void length(std::optional<std::size_t> size, bool is_short);

    Writer out_;
    std::int16_t version_;
    bool flexible_;
    Pass pass_ = Pass::untagged;
    std::uint32_t tags_ = 0;
    std::vector<Splice> splices_;
    std::uint64_t spliced_bytes_ = 0;
    bool is_cut_ = false;
};

}  // namespace bps
