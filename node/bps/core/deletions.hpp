#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/deadlines.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/core/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace bps {

// DeleteRecords requests. Deleting is an action on the chain (spec 08, "Anchors"): it is asked for,
// and answered once the final rows have it, or the chain has refused it.
//
// Thread: that of the broker. `partitions` and `access` outlive it.
class Deletions : base::Pinned {
  public:
    Deletions(const Partitions& partitions, const Access& access)
        : partitions_(partitions), access_(access) {}

    void start(std::int64_t now,
               const Caller& caller,
               const DeleteRecordsRequest& request,
               Effects& out);
    // The log of this partition begins later.
    void on_log_start(PartitionId id, Effects& out);
    // The action was refused; one that asks for it in vain may have timed out.
    void on_refused(const Deletion& deletion, ErrorCode code, Effects& out);
    void on_time(std::int64_t now, Effects& out);
    void on_closed(std::uint64_t connection);
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return deadlines_.first(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    struct Part {
        Deletion deletion;
        std::size_t topic = 0;
        std::size_t partition = 0;
    };
    struct Waiting {
        Caller caller;
        std::int64_t deadline = 0;
        DeleteRecordsResponse response;
        std::vector<Part> left;
        Texts texts;
    };
    using Waitings = std::map<RequestId, Waiting>;

    [[nodiscard]] static DeleteRecordsResponse::Partition& item(Waiting& waiting, const Part& part);
    // Answers if nothing is left.
    Waitings::iterator finish(Waitings::iterator at, Effects& out);

    const Partitions& partitions_;
    const Access& access_;
    Waitings waiting_;
    Deadlines<RequestId> deadlines_;
};

}  // namespace bps
