#pragma once

#include "base/storage.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace support {

// A base::Storage in memory, with the faults that a disk has: power cuts that lose what was
// not synced, full disks, and reads that fail.
//
// Every value is kept with the number of the commit that wrote it, for as long as a snapshot
// or a power cut can still ask for it. Thread: one; after share() any.
class MemoryStorage final : public base::Storage {
  public:
    base::Result<void> commit(const base::Batch& batch, bool sync) override {
        if (commits_to_fail_ > 0) {
            --commits_to_fail_;
            return base::fail(base::Errc::unavailable, "the disk is full (simulated)");
        }
        const auto lock = contents_->lock();
        contents_->latest = ++commits_;
        for (const base::Batch::Change& change : batch.changes) {
            Versions& versions = contents_->families[index(change.family)][change.key];
            versions.insert_or_assign(commits_, change.value);
            contents_->prune(versions);
        }
        if (sync) {
            contents_->durable_before = contents_->durable;
            contents_->durable = commits_;
        }
        return {};
    }

    [[nodiscard]] std::shared_ptr<const base::StorageView> snapshot() const override {
        return std::make_shared<const Snapshot>(contents_);
    }

    [[nodiscard]] base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                               base::ByteView key) const override {
        return contents_->get(family, key, commits_);
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
        base::Family family, base::ByteView key) const override {
        return contents_->at_or_after(family, key, commits_);
    }
    [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
        base::Family family, base::ByteView key) const override {
        return contents_->before(family, key, commits_);
    }
    [[nodiscard]] base::Result<void> scan(base::Family family,
                                          base::ByteView from,
                                          const Visit& visit) const override {
        return contents_->scan(family, from, commits_, visit);
    }

    // From now on snapshots are read by other threads, too, while this one commits. Simulators have
    // one thread, and pay for no lock.
    void share() { contents_->is_shared = true; }

    // Faults -----------------------------------------------------------------------------

    // The power goes: what was committed after the last sync is lost. Snapshots taken before must
    // not be used any more.
    void cut_power() {
        for (auto& family : contents_->families) {
            for (auto& [key, versions] : family) {
                versions.erase(versions.upper_bound(contents_->durable), versions.end());
            }
        }
        commits_ = contents_->latest = contents_->durable;
    }
    // The power goes, and what the last sync made durable is lost with all that came after it: a
    // disk that said so too early, or the damaged tail of a log.
    void lose_last_sync() {
        // Not the first state: it was there before the node.
        if (contents_->durable_before != 0) contents_->durable = contents_->durable_before;
        cut_power();
    }
    // The next `count` commits fail as on a full disk.
    void fail_commits(int count) { commits_to_fail_ = count; }
    // All reads, also of snapshots, fail with this until it is taken back.
    void fail_reads(std::optional<base::Error> error) { contents_->read_error = std::move(error); }

  private:
    using Versions = std::map<std::uint64_t, std::optional<base::Bytes>>;
    using Rows = std::map<base::Bytes, Versions, base::BytesLess>;

    static std::size_t index(base::Family family) { return static_cast<std::size_t>(family); }

    struct Contents {
        std::array<Rows, base::kFamilies> families;
        std::multiset<std::uint64_t> snapshots;  // Commits that are held.
        std::uint64_t latest = 0;
        std::uint64_t durable = 0;
        std::uint64_t durable_before = 0;  // The sync before the last one.
        std::optional<base::Error> read_error;
        mutable std::mutex mutex;
        bool is_shared = false;

        [[nodiscard]] std::unique_lock<std::mutex> lock() const {
            return is_shared ? std::unique_lock(mutex) : std::unique_lock<std::mutex>();
        }

        std::multiset<std::uint64_t>::iterator hold() {
            const auto guard = lock();
            return snapshots.insert(latest);
        }
        void let_go(std::multiset<std::uint64_t>::iterator held) {
            const auto guard = lock();
            snapshots.erase(held);
        }

        // Drops what neither a snapshot nor a power cut can ask for.
        void prune(Versions& versions) const {
            std::uint64_t oldest = std::min(latest, durable_before);
            if (!snapshots.empty()) oldest = std::min(oldest, *snapshots.begin());
            auto keep = versions.upper_bound(oldest);
            if (keep == versions.begin()) return;
            versions.erase(versions.begin(), --keep);
        }

        static const std::optional<base::Bytes>& value(const Versions& versions,
                                                       std::uint64_t commit) {
            static const std::optional<base::Bytes> kNone;
            const auto after = versions.upper_bound(commit);
            return after == versions.begin() ? kNone : std::prev(after)->second;
        }

        [[nodiscard]] base::Result<std::optional<base::Bytes>> get(base::Family family,
                                                                   base::ByteView key,
                                                                   std::uint64_t commit) const {
            const auto guard = lock();
            if (read_error) return base::fail(*read_error);
            const Rows& rows = families[index(family)];
            const auto found = rows.find(key);
            return found == rows.end() ? std::nullopt : value(found->second, commit);
        }

        [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
            base::Family family, base::ByteView key, std::uint64_t commit) const {
            const auto guard = lock();
            if (read_error) return base::fail(*read_error);
            const Rows& rows = families[index(family)];
            for (auto row = rows.lower_bound(key); row != rows.end(); ++row) {
                if (const auto& found = value(row->second, commit)) {
                    return base::StoredRow{row->first, *found};
                }
            }
            return std::nullopt;
        }

        [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
            base::Family family, base::ByteView key, std::uint64_t commit) const {
            const auto guard = lock();
            if (read_error) return base::fail(*read_error);
            const Rows& rows = families[index(family)];
            for (auto row = rows.lower_bound(key); row != rows.begin();) {
                --row;
                if (const auto& found = value(row->second, commit)) {
                    return base::StoredRow{row->first, *found};
                }
            }
            return std::nullopt;
        }

        [[nodiscard]] base::Result<void> scan(base::Family family,
                                              base::ByteView from,
                                              std::uint64_t commit,
                                              const Visit& visit) const {
            if (is_shared) return scan_shared(family, from, commit, visit);
            if (read_error) return base::fail(*read_error);
            const Rows& rows = families[index(family)];
            for (auto row = rows.lower_bound(from); row != rows.end(); ++row) {
                const auto& found = value(row->second, commit);
                if (!found) continue;
                if (!visit(row->first, *found)) break;
            }
            return {};
        }

        // No lock is held while a row is visited: that may read others, or rest.
        [[nodiscard]] base::Result<void> scan_shared(base::Family family,
                                                     base::ByteView from,
                                                     std::uint64_t commit,
                                                     const Visit& visit) const {
            base::Bytes next = base::to_bytes(from);
            while (true) {
                const auto row = at_or_after(family, next, commit);
                if (!row) return base::fail(row.error());
                if (!*row || !visit((*row)->key, (*row)->value)) return {};
                next = (*row)->key;
                next.push_back(std::byte{0});
            }
        }
    };

    class Snapshot final : public base::StorageView, base::Pinned {
      public:
        explicit Snapshot(std::shared_ptr<Contents> contents)
            : contents_(std::move(contents)), held_(contents_->hold()) {}
        ~Snapshot() override { contents_->let_go(held_); }

        [[nodiscard]] base::Result<std::optional<base::Bytes>> get(
            base::Family family, base::ByteView key) const override {
            return contents_->get(family, key, *held_);
        }
        [[nodiscard]] base::Result<std::optional<base::StoredRow>> at_or_after(
            base::Family family, base::ByteView key) const override {
            return contents_->at_or_after(family, key, *held_);
        }
        [[nodiscard]] base::Result<std::optional<base::StoredRow>> before(
            base::Family family, base::ByteView key) const override {
            return contents_->before(family, key, *held_);
        }
        [[nodiscard]] base::Result<void> scan(base::Family family,
                                              base::ByteView from,
                                              const Visit& visit) const override {
            return contents_->scan(family, from, *held_, visit);
        }

      private:
        std::shared_ptr<Contents> contents_;
        std::multiset<std::uint64_t>::iterator held_;
    };

    std::shared_ptr<Contents> contents_ = std::make_shared<Contents>();
    std::uint64_t commits_ = 0;
    int commits_to_fail_ = 0;
};

}  // namespace support
