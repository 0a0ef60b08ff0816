#pragma once

#include "base/rng.hpp"
#include "node/bps/core/log_files.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace support {

// The directory of a log in memory. What was appended and not synced survives the death of the
// process; of a power cut some first part of it, in which sectors of 512 bytes may be missing.
class SimulatedFiles final : public bps::LogFiles {
  public:
    [[nodiscard]] base::Result<std::vector<File>> list() const override {
        std::vector<File> found;
        found.reserve(files_.size());
        for (const auto& [name, content] : files_) {
            found.push_back({name, content.bytes.size()});
        }
        return found;
    }
    [[nodiscard]] base::Result<base::Bytes> read(std::string_view name,
                                                 std::uint64_t position,
                                                 std::size_t bytes) const override {
        ++reads_;
        const auto at = files_.find(std::string(name));
        if (at == files_.end()) return base::fail(base::Errc::not_found, std::string(name));
        const base::Bytes& all = at->second.bytes;
        const std::size_t from = std::min<std::size_t>(position, all.size());
        const std::size_t size = std::min(bytes, all.size() - from);
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(from);
        return base::Bytes(begin, begin + static_cast<std::ptrdiff_t>(size));
    }
    base::Result<void> append(std::string_view name, base::ByteView bytes) override {
        const bool works = may_write();
        base::Bytes& content = files_.at(std::string(name)).bytes;
        // A write that fails leaves its first half.
        const base::ByteView part = bytes.first(works ? bytes.size() : bytes.size() / 2);
        if (works || writes_ == dies_at_ || is_full_) {
            content.insert(content.end(), part.begin(), part.end());
        }
        if (works) return {};
        return full();
    }
    base::Result<void> truncate(std::string_view name, std::uint64_t bytes) override {
        if (!lives_on()) return full();
        Content& content = files_.at(std::string(name));
        content.bytes.resize(static_cast<std::size_t>(bytes));
        content.durable = std::min(content.durable, content.bytes.size());
        return {};
    }
    base::Result<void> replace(std::string_view name, base::ByteView bytes) override {
        if (!may_write()) return full();
        files_[std::string(name)] = {base::to_bytes(bytes), bytes.size()};
        return {};
    }
    base::Result<void> rename(std::string_view from, std::string_view to) override {
        if (!lives_on()) return full();
        auto moved = files_.extract(std::string(from));
        if (moved.empty()) return base::fail(base::Errc::not_found, std::string(from));
        files_[std::string(to)] = std::move(moved.mapped());
        return {};
    }
    base::Result<void> remove(std::string_view name) override {
        if (!lives_on()) return full();
        files_.erase(std::string(name));
        return {};
    }

    // False: the power went first.
    bool sync(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (!lives_on()) return false;
            const auto at = files_.find(name);
            if (at != files_.end()) at->second.durable = at->second.bytes.size();
        }
        return true;
    }
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const auto& [name, content] : files_)
            sum += content.bytes.size();
        return sum;
    }
    // From the n-th write or sync on all fail, until the power is back.
    void die_at(std::uint64_t write) { dies_at_ = write; }
    // Nothing can be added; what is there can be cut and removed.
    void set_full(bool is_full) { is_full_ = is_full; }
    [[nodiscard]] bool is_dead() const { return writes_ >= dies_at_; }
    [[nodiscard]] std::uint64_t writes() const { return writes_; }

    void restart_after_kill() { dies_at_ = kNever; }
    void restart_after_power_cut(base::Rng& rng) {
        dies_at_ = kNever;
        for (auto& [name, content] : files_) {
            const std::size_t unsynced = content.bytes.size() - content.durable;
            content.bytes.resize(content.durable + rng.below(unsynced + 1));
            if (rng.below(2) == 0) lose_sectors(content, rng);
            content.durable = content.bytes.size();
        }
    }

    [[nodiscard]] base::Bytes& content(const std::string& name) { return files_.at(name).bytes; }
    [[nodiscard]] bool has(const std::string& name) const { return files_.contains(name); }

    // Calls of read().
    [[nodiscard]] std::size_t reads() const { return reads_; }

  private:
    struct Content {
        base::Bytes bytes;
        std::size_t durable = 0;
    };

    static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

    bool lives_on() {
        if (is_dead()) return false;
        ++writes_;
        return !is_dead();
    }
    bool may_write() { return lives_on() && !is_full_; }
    static tl::unexpected<base::Error> full() {
        return base::fail(base::Errc::unavailable, "no space left");
    }
    static void lose_sectors(Content& content, base::Rng& rng) {
        constexpr std::size_t kSector = 512;
        for (std::size_t at = content.durable; at < content.bytes.size();) {
            const std::size_t end = std::min((at / kSector + 1) * kSector, content.bytes.size());
            if (rng.below(3) == 0) {
                std::fill(content.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                          content.bytes.begin() + static_cast<std::ptrdiff_t>(end),
                          std::byte{0});
            }
            at = end;
        }
    }

    std::map<std::string, Content> files_;
    std::uint64_t writes_ = 0;
    std::uint64_t dies_at_ = kNever;
    bool is_full_ = false;
    mutable std::size_t reads_ = 0;
};

}  // namespace support
