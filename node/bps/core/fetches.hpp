#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/deadlines.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/quotas.hpp"
#include "node/bps/core/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bps {

// What a fetch may name in all: a response is far below 2 GiB.
inline constexpr std::size_t kFetchBytesMax = 64U << 20U;

// Fetch requests: answered when as many bytes are there as they want, when they have waited long
// enough, or when some partition refuses; at once, where its tenant has too many that wait. Rights
// are asked for at the start, and again before an answer that waited leaves (spec 08). Partitions
// are read in the order of the request, and the first batch that is found goes even where it is
// larger than all bounds (KIP-74).
//
// Thread: that of the broker. What it is given outlives it.
class Fetches : base::Pinned {
  public:
    // Partitions that the waiting requests of one tenant name: each takes memory, and time whenever
    // it changes.
    static constexpr std::size_t kItemsWaitingMax = 100'000;

    Fetches(Partitions& partitions, const Access& access, Quotas& quotas)
        : partitions_(partitions), access_(access), quotas_(quotas) {}

    void start(std::int64_t now, const Caller& caller, const FetchRequest& request, Effects& out);
    // More of this partition is visible, or it is led no more, or gone.
    void on_changed(std::int64_t now, PartitionId id, Effects& out);
    // Those that have waited long enough are answered with what is there.
    void on_time(std::int64_t now, Effects& out);
    void on_closed(std::uint64_t connection);
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return deadlines_.first(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    // A request without what it borrows.
    struct Item {
        FetchRequest::Partition want;
        std::optional<PartitionId> id;  // Which it was at the start.
        std::size_t bytes = 0;          // Of it that are there.
    };
    struct Topic {
        std::string name;
        std::vector<Item> items;
    };
    struct Waiting {
        Caller caller;
        std::int64_t deadline = 0;
        std::size_t bytes_min = 0;
        std::size_t bytes_max = 0;
        std::size_t bytes = 0;
        std::vector<Topic> topics;
    };
    struct Result {
        FetchResponse response;  // Borrows the names of topics.
        std::size_t bytes = 0;
        bool has_error = false;
        bool is_full = false;  // There was more than fits.
    };
    using Waitings = std::map<RequestId, Waiting>;
    // Which item of a request; each partition is named once.
    struct Place {
        std::size_t topic = 0;
        std::size_t item = 0;
    };

    [[nodiscard]] Result read(std::int64_t now, Waiting& waiting) const;
    [[nodiscard]] FetchResponse::Partition read_item(const Verdict<TopicAccess>& topic,
                                                     Item& item,
                                                     Result& so_far,
                                                     const Waiting& of) const;
    void wait(Waiting waiting);
    // Whether it need not wait any longer, now that this partition of it has changed.
    [[nodiscard]] bool is_done(Waiting& waiting, const Place& changed) const;
    // How many partitions it names.
    [[nodiscard]] static std::size_t items_of(const Waiting& waiting);
    void answer(std::int64_t now, const RequestId& id, Effects& out);
    void reply(std::int64_t now, const Caller& to, Result& found, Effects& out);
    // It waits no more.
    [[nodiscard]] Waiting take(const RequestId& id);
    void forget(PartitionId partition, const RequestId& id);

    Partitions& partitions_;
    const Access& access_;
    Quotas& quotas_;
    Waitings waiting_;
    std::map<PartitionId, std::map<RequestId, Place>> by_partition_;
    std::map<chain::Name, std::size_t> items_waiting_;  // By tenant.
    Deadlines<RequestId> deadlines_;
};

}  // namespace bps
