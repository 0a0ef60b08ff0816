#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/codec/cluster_messages.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// The versions that are listed.
[[nodiscard]] ApiVersionsResponse api_versions();
// What a request is answered with whose key or version is not listed: one of ApiVersions with an
// error, and the list in version 0 (KIP-511). Nothing: its connection is to be closed.
[[nodiscard]] std::optional<ResponseFrame> answer_unlisted(const RequestHeader& header);
// Why that connection is closed, for the log.
[[nodiscard]] std::string why_unlisted(const RequestHeader& header);

// What brokers and topics there are, as far as the caller may see it. Thread: that of the broker;
// what it is made of outlives it. The answers borrow from it and from `texts`.
class Metadata : base::Pinned {
  public:
    // `cluster_id` is the chain's id, as a text.
    Metadata(const Rights& rights, const Directory& directory, std::string cluster_id)
        : rights_(rights), directory_(directory), cluster_id_(std::move(cluster_id)) {}

    [[nodiscard]] MetadataResponse metadata(std::int64_t now,
                                            const Caller& caller,
                                            const MetadataRequest& request,
                                            Texts& texts) const;
    [[nodiscard]] DescribeClusterResponse describe_cluster(const Caller& caller,
                                                           const DescribeClusterRequest& request,
                                                           Texts& texts) const;

  private:
    using Nodes = std::vector<Cluster::Node>;

    // Each broker takes the requests of administration: this one, if it is live.
    [[nodiscard]] std::int32_t controller(const Nodes& nodes) const;
    [[nodiscard]] MetadataResponse::Topic describe_topic(std::int64_t now,
                                                         const Caller& caller,
                                                         std::string_view name,
                                                         const Nodes& nodes) const;
    [[nodiscard]] MetadataResponse::Partition describe_partition(PartitionId id,
                                                                 const Nodes& nodes) const;
    [[nodiscard]] std::int32_t topic_operations(std::int64_t now,
                                                const Caller& caller,
                                                std::string_view name) const;

    const Rights& rights_;
    const Directory& directory_;
    std::string cluster_id_;
};

}  // namespace bps
