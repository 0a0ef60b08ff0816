#pragma once

#include "base/bytes.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/codec/responses.hpp"
#include "node/bps/core/first_error.hpp"
#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/partition_id.hpp"

#include <compare>
#include <cstddef>
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
    std::string protocol;  // Of the listener on which it came, as its row in `brokers` has it.
};

// What becomes of a request: exactly one for each, in any order; those of one connection leave in
// the order in which their requests came.
struct Reply {
    RequestId id;
    std::optional<ResponseFrame> response;  // Nothing: none is wanted.
    std::string close_reason;               // Not empty: the connection is closed.
    std::string refusal{};                  // Why a client may leave after this, for the log.
    std::int16_t key = -1;                  // Of the request; -1: it is not known.
    ErrorCode error = ErrorCode::none;      // The first that it tells.
    std::int32_t throttle_ms = 0;           // Nothing more is read from the client for so long.
};

// An action that the node pushes to the contract, signed as the broker's account.
struct ChainCall {
    std::uint64_t ticket = 0;  // None comes twice. Broker::on_called() reports it, once.
    chain::Name action;
    base::Bytes data;  // Its packed arguments.
};

// What the node is to do. `sync`, then Broker::on_synced(); the rest in any order.
struct Effects {
    std::vector<Reply> replies;
    std::vector<ChainCall> calls;
    std::optional<GroupCommit::Sync> sync;
};

// Why a connection is closed whose request asks for more than an answer holds.
inline constexpr std::string_view kTooMuchAsked =
    "the answer would be longer than 32 MiB: ask for less at once";
static_assert(kMessageBytesMax == std::size_t{32} << 20U);

[[nodiscard]] std::int32_t throttle_of(const auto& response) {
    if constexpr (requires { response.throttle_time_ms; }) return response.throttle_time_ms;
    return 0;
}

template <class Response>
[[nodiscard]] Reply reply_to(const Caller& caller, const Response& response) {
    Reply reply{.id = caller.id,
                .response = encode_response(caller.correlation, caller.version, response),
                .close_reason = {},
                .key = Response::kApi.key,
                .error = first_error_of(response),
                .throttle_ms = throttle_of(response)};
    if (reply.response->is_cut) {
        reply.response.reset();
        reply.close_reason = std::string(kTooMuchAsked);
    }
    return reply;
}

// Keeps the texts that a response borrows until it is encoded.
class Texts {
  public:
    [[nodiscard]] std::string_view keep(std::string text) {
        bytes_ += text.size() + kOverhead;
        return texts_.emplace_back(std::move(text));
    }
    [[nodiscard]] std::string_view keep(std::string_view text) { return keep(std::string(text)); }
    // About what the texts, and the items that borrow them, take in memory.
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kOverhead = 128;

    std::size_t bytes_ = 0;
    std::deque<std::string> texts_;  // One that is added moves none of the others.
};

}  // namespace bps
