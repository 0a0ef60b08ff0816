#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/partition_id.hpp"
#include "node/bps/core/reply.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace bps {

// Where clients find the brokers, by the last final rows. Thread: that of the broker.
class Cluster : base::Pinned {
  public:
    struct Node {
        std::int32_t id = 0;
        std::string host;
        std::int32_t port = 0;
    };

    virtual ~Cluster() = default;

    // By the listener that is like the one on which the caller came; nothing: nobody leads it.
    [[nodiscard]] virtual std::optional<Node> leader_of(PartitionId id,
                                                        const Caller& caller) const = 0;
};

}  // namespace bps
