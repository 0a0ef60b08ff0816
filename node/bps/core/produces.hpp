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
#include <span>

namespace bps {

// Produce requests: appended at once, answered when all of their batches are durable, or have been
// refused (spec 08, "Log"). With acks=0 nothing is answered, and an error closes the connection.
//
// Thread: that of the broker. What it is given outlives it.
class Produces : base::Pinned {
  public:
    Produces(Partitions& partitions,
             const Access& access,
             const Decompressor& opener,
             Quotas& quotas)
        : partitions_(partitions), access_(access), opener_(opener), quotas_(quotas) {}

    // The records of `request` lie in `frame`, and are changed there.
    void start(std::int64_t now,
               const Caller& caller,
               const ProduceRequest& request,
               std::span<std::byte> frame,
               Effects& out);
    // An answer that was waited for at GroupCommit.
    void on_answer(const GroupCommit::Answer& answer, Effects& out);
    // Those that waited as long as they said are answered with request_timed_out.
    void on_time(std::int64_t now, Effects& out);
    // Nobody is left to be answered.
    void on_closed(std::uint64_t connection);
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return deadlines_.first(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  private:
    struct Waiting {
        Caller caller;
        std::int64_t deadline = 0;
        std::int16_t acks = 0;
        std::size_t left = 0;
        ProduceResponse response;
        Texts texts;
    };
    // Which part of which response waits.
    struct Part {
        RequestId request;
        std::size_t topic = 0;
        std::size_t partition = 0;
    };

    [[nodiscard]] Verdict<Log::Appended> append(std::int64_t now,
                                                const Verdict<Partition*>& partition,
                                                const Decompressor& opener,
                                                Partition::Produce produce);
    // The last part of the response waits until its batch is durable.
    void await(const Partition& partition, const Log::Appended& appended, Waiting& waiting);

    Partitions& partitions_;
    const Access& access_;
    const Decompressor& opener_;
    Quotas& quotas_;
    std::map<RequestId, Waiting> waiting_;
    std::map<AnswerId, Part> parts_;
    Deadlines<RequestId> deadlines_;
    AnswerId last_answer_ = 0;
};

}  // namespace bps
