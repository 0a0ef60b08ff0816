#pragma once

#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/responses.hpp"
#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/partition_id.hpp"

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// A request that is on its way, numbered by the owner: the connection, and which of its requests.
struct RequestId {
    std::uint64_t connection = 0;
    std::uint64_t number = 0;

    friend auto operator<=>(const RequestId&, const RequestId&) = default;
};

// What is known of a request beside its body.
struct Caller {
    RequestId id;
    std::int16_t version = 0;
    std::int32_t correlation = 0;
    Principal principal;
    std::string client_id;
    std::string client_host;
};

// What becomes of a request: exactly one for each, in any order; those of one connection leave in
// the order in which their requests came.
struct Reply {
    RequestId id;
    std::optional<ResponseFrame> response;  // Nothing: none is wanted.
    std::string close_reason;               // Not empty: the connection is closed.
};

// Records that the owner of a topic, or one with the right, wants deleted: for the action
// `deleterecs`.
struct Deletion {
    RequestId id;
    PartitionId partition;
    std::int64_t offset = 0;
};

// What the node is to do. `sync`, then Broker::on_synced(); the rest in any order.
struct Effects {
    std::vector<Reply> replies;
    std::vector<Deletion> deletions;
    std::optional<GroupCommit::Sync> sync;
};

template <class Response>
[[nodiscard]] Reply reply_to(const Caller& caller, const Response& response) {
    return {.id = caller.id,
            .response = encode_response(caller.correlation, caller.version, response),
            .close_reason = {}};
}

// Keeps the texts that a response borrows until it is encoded.
class Texts {
  public:
    [[nodiscard]] std::string_view keep(std::string text) {
        return texts_.emplace_back(std::move(text));
    }
    [[nodiscard]] std::string_view keep(std::string_view text) { return keep(std::string(text)); }

  private:
    std::deque<std::string> texts_;  // One that is added moves none of the others.
};

}  // namespace bps
