#pragma once

#include "node/bps/core/broker.hpp"
#include "node/bps/core/codec/decoder.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/core/chain_view.hpp"
#include "tests/node/bps/kills/log_directory.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kills {

// Something that was acknowledged is lost, doubled or moved; or what is there is none of what was
// sent.
struct Lost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A broker on a simulated disk under idempotent producers, a consumer that commits offsets and a
// group of one static member, which is killed again and again, or whose power is cut; beside it
// what its clients know. Throws Lost.
class KilledBroker : base::Pinned {
  public:
    explicit KilledBroker(std::uint64_t seed);

    // Serves until the process ends at a random call to the disk, starts it anew and compares.
    void kill();

    struct Counts {
        std::size_t kills = 0;
        std::size_t power_cuts = 0;
        std::size_t starts_cut = 0;  // Killed before it served.
        std::size_t acknowledged = 0;
        std::size_t duplicates = 0;
        std::size_t cut_records = 0;  // Batches that the end of a process took with it.
        std::size_t truncations = 0;
        std::size_t commits = 0;
        std::size_t generations = 0;
        std::size_t compaction_steps = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    struct Sent {
        support::BatchSpec spec;
        std::int64_t offset = 0;
        bool is_acknowledged = false;
        std::uint64_t bytes_until = 0;  // Of all that was appended, with it.

        [[nodiscard]] std::int64_t end() const {
            return offset + static_cast<std::int64_t>(spec.records.size());
        }
    };
    struct Part {
        std::vector<Sent> sent;  // What may be in the log, by offset.
        std::map<std::int64_t, std::int32_t> next_sequence;
        std::uint64_t appended_bytes = 0;
        std::size_t since_truncation = 0;
        std::int64_t deletion = 0;  // The row's; what is before it may be gone.
        std::int64_t deleted = 0;   // It was carried out.
    };
    // A request that is not answered.
    struct Pending {
        enum class Kind : std::uint8_t { produce, commit, join, sync_group } kind = Kind::produce;
        std::int32_t index = 0;
        std::int64_t offset = 0;  // Of the batch, or what is committed.
    };
    struct Membership {
        std::string id;
        std::int32_t generation = 0;
        std::string assignment;
    };

    // False: the process ended.
    [[nodiscard]] bool start();
    [[nodiscard]] bool add(bps::PartitionId id);
    [[nodiscard]] bool truncate(bps::Log& log, Part& part);
    [[nodiscard]] bool has_ended() const;
    [[nodiscard]] bool check_error(const base::Error& error) const;
    void end();

    void step();
    void send_new();
    void send_again();
    void send(std::int32_t index, const Sent& batch, bool is_new);
    void commit();
    void join();
    void sync();
    void erase();
    void expire();
    void compact();
    std::uint64_t ask(std::int16_t version,
                      const bps::Request& request,
                      std::span<std::byte> frame = {});
    void take_replies();
    void take(const Pending& request, const bps::Reply& reply);
    void take_produced(const Pending& request, const bps::Reply& reply);
    void take_joined(const bps::Reply& reply);

    void compare();
    void compare(std::int32_t index);
    void check_deleted(std::int32_t index);
    void compare_producers(const Part& part, const bps::Log& log) const;
    void compare_group();

    [[nodiscard]] static bps::PartitionSettings settings(bps::PartitionId id);
    [[nodiscard]] Part& part(std::int32_t index) { return parts_[index]; }
    [[nodiscard]] bps::Log& log(bps::PartitionId id) {
        return broker_->partitions().find(id)->log();
    }

    sim::DiskFiles disk_{"/m"};
    sim::Chance chance_;
    support::ChainView view_;
    bps::Quotas quotas_;
    std::map<bps::PartitionId, std::unique_ptr<LogDirectory>> files_;
    base::Rng broker_rng_{1};
    std::unique_ptr<bps::Broker> broker_;
    bps::Effects effects_;
    std::optional<bps::GroupCommit::Sync> sync_;
    std::int64_t now_ = 1'000'000;
    std::int32_t epoch_ = 0;
    std::uint64_t number_ = 0;

    std::map<std::int32_t, Part> parts_;
    std::map<std::uint64_t, Pending> pending_;
    std::int64_t commit_sent_ = 0;
    std::int64_t commit_acknowledged_ = 0;
    std::optional<Membership> member_;  // As it was acknowledged last.
    Membership joining_;
    bool is_joining_ = false;  // What it is now, nobody knows.
    std::int32_t joins_ = 0;
    Counts counts_;
};

}  // namespace kills
