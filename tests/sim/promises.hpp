#pragma once

#include "base/codec.hpp"
#include "consensus/safety_journal.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

namespace sim {

// What the durable pages of journals promised, ever: {kind, key, slot}. It is read from the bytes
// on disk, not from the production code's memory, so that a vote that runs ahead is noticed.
class Promises {
  public:
    void note(const base::Bytes& page) {
        using consensus::SafetyJournal;
        for (std::size_t at = 0; at + SafetyJournal::kRecordBytes <= page.size();
             at += SafetyJournal::kRecordBytes) {
            const base::ByteView record(page.data() + at, SafetyJournal::kRecordBytes);
            const int kind = std::to_integer<int>(record[kKindAt]);
            base::Reader in(record.subspan(kKeyAt));
            const std::uint64_t key = in.u64("key");
            const std::uint64_t slot = in.u64("slot");
            (void)in.u64("justify slot");
            const std::uint64_t lock_slot = in.u64("lock slot");
            made_.emplace(kind, key, slot);
            // A page that replaces a journal says so of the lock.
            if (kind == static_cast<int>(consensus::RecordKind::base)) {
                made_.emplace(static_cast<int>(consensus::RecordKind::commit), key, lock_slot);
            }
            if (record[kLeftAt] == std::byte{0}) return;
        }
    }
    [[nodiscard]] bool contain(consensus::RecordKind kind,
                               const base::crypto::PublicKey& key,
                               std::uint64_t slot) const {
        return made_.contains({static_cast<int>(kind), consensus::key_tag(key), slot});
    }

    // The block of the last COMMIT that this page promises, if it promises one. Read as note()
    // does.
    [[nodiscard]] static std::optional<base::Hash256> lock_of(const base::Bytes& page) {
        using consensus::SafetyJournal;
        std::optional<base::Hash256> lock;
        for (std::size_t at = 0; at + SafetyJournal::kRecordBytes <= page.size();
             at += SafetyJournal::kRecordBytes) {
            const base::ByteView record(page.data() + at, SafetyJournal::kRecordBytes);
            if (std::to_integer<int>(record[kKindAt]) ==
                static_cast<int>(consensus::RecordKind::commit)) {
                base::Reader in(record.subspan(kLockAt));
                lock = in.hash<32>("lock");
            }
            if (record[kLeftAt] == std::byte{0}) break;
        }
        return lock;
    }

  private:
    // Where the fields lie in a record; see consensus::SafetyRecord.
    static constexpr std::size_t kKindAt = 12;
    static constexpr std::size_t kLeftAt = 13;
    static constexpr std::size_t kKeyAt = 24;
    static constexpr std::size_t kLockAt = 88;

    std::set<std::tuple<int, std::uint64_t, std::uint64_t>> made_;
};

}  // namespace sim
