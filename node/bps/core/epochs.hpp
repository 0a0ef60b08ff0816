#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace bps {

// Which leader epoch wrote which offsets of a log: {epoch, first offset}, both ascending.
class Epochs {
  public:
    struct Entry {
        std::int32_t epoch = 0;
        std::int64_t start = 0;

        friend bool operator==(const Entry&, const Entry&) = default;
    };

    // The latest; -1: none has begun.
    [[nodiscard]] std::int32_t latest() const {
        return entries_.empty() ? -1 : entries_.back().epoch;
    }
    // `epoch` is above the latest, `start` the end of the log. An epoch that wrote nothing goes.
    void begin(std::int32_t epoch, std::int64_t start);
    // Where an epoch, or the last one before it, ended (OffsetForLeaderEpoch, KIP-101, KIP-279);
    // nothing: the epoch is above the latest. `log_end`: where the latest one is.
    [[nodiscard]] std::optional<Entry> end_of(std::int32_t epoch, std::int64_t log_end) const;
    // Which epoch wrote a record, or will write the next one; -1: none has begun.
    [[nodiscard]] std::int32_t epoch_at(std::int64_t offset) const;
    // Of a log that was cut: forgets what begins at `end` or later.
    void cut(std::int64_t end);

    [[nodiscard]] base::Bytes pack() const;
    // corrupt: not what pack() made.
    [[nodiscard]] static base::Result<Epochs> read(base::ByteView bytes);
    [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  private:
    std::vector<Entry> entries_;
};

}  // namespace bps
