#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/codec/acl_messages.hpp"
#include "node/bps/core/codec/config_messages.hpp"
#include "node/bps/core/codec/data_messages.hpp"
#include "node/bps/core/codec/topic_messages.hpp"
#include "node/bps/core/deadlines.hpp"
#include "node/bps/core/refusal.hpp"
#include "node/bps/core/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bps {

// An answer in the making. Its items say that all is well until they are refused.
//
// Items are told apart by where they are: the index in the outer list, and in the inner one where
// there is one.
class ChainAnswer {
  public:
    using Response = std::variant<CreateTopicsResponse,
                                  DeleteTopicsResponse,
                                  DeleteRecordsResponse,
                                  CreateAclsResponse,
                                  DeleteAclsResponse,
                                  AlterConfigsResponse,
                                  CreatePartitionsResponse,
                                  ElectLeadersResponse,
                                  IncrementalAlterConfigsResponse,
                                  AlterPartitionReassignmentsResponse>;
    struct Place {
        std::size_t outer = 0;
        std::size_t inner = 0;
    };
    // What the chain is asked for, and which items it is for.
    struct Part {
        chain::Name action;
        base::Bytes data;
        std::vector<Place> places;
        // What only one action of the kind may be under way for; empty: it does not matter.
        std::string subject = {};
    };

    explicit ChainAnswer(Response answer) : response(std::move(answer)) {}
    void refuse(const Place& place, const Refusal& refusal);

    Response response;
    std::vector<Part> parts;
    Texts texts;              // What the response borrows.
    std::string reason = {};  // The first refusal's, for the log: not every client shows it.
};

// Requests that change what is on the chain: each of their parts is an action, and they are
// answered once all of these are final or refused, or the time of the request is over.
//
// How much is in flight is bounded, and shared out by tenant; above it a part is refused at once.
//
// Thread: that of the broker.
class ChainRequests : base::Pinned {
  public:
    static constexpr std::size_t kCallsMax = 1'024;                   // In flight, of all tenants,
    static constexpr std::size_t kBytesMax = std::size_t{16} << 20U;  // and what waits for them.
    static constexpr std::size_t kTenantShare = 4;                    // One tenant: 1 / 4 of it.

    // Asks the chain for the parts. Answers at once if there are none. A part of `createtopic`
    // whose subject is being created for another request waits for that one.
    void start(std::int64_t now,
               const Caller& caller,
               std::int32_t timeout_ms,
               ChainAnswer answer,
               Effects& out);
    // Whether such an action is in flight.
    [[nodiscard]] bool is_under_way(chain::Name action, std::string_view subject) const;
    // An action that belongs to no request; returns its ticket. Its outcome is no business here.
    std::uint64_t call(chain::Name action, base::Bytes data, Effects& out);

    void on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out);
    void on_time(std::int64_t now, Effects& out);
    void on_closed(std::uint64_t connection);
    [[nodiscard]] std::optional<std::int64_t> next_time() const { return deadlines_.first(); }
    [[nodiscard]] std::size_t in_flight() const { return calls_.size(); }
    [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
    // C1. What is counted in flight and waiting is what is there.
    // C2. Who waits, waits for a call that is in flight.
    void check_invariants() const;

  private:
    using Key = std::pair<chain::Name, std::string>;  // Action and subject.
    struct Waiter {
        RequestId request;
        std::vector<ChainAnswer::Place> places;
        bool is_second = false;  // Another request asked for the action.
    };
    struct Call {
        chain::Name tenant;
        std::optional<Key> key;
        std::vector<Waiter> waiters;
    };
    struct Waiting {
        Caller caller;
        std::int64_t deadline = 0;
        std::size_t bytes = 0;  // That it takes in memory, about.
        ChainAnswer answer;
        std::set<std::uint64_t> tickets;  // Not reported yet.
    };
    struct Load {
        std::size_t calls = 0;
        std::size_t bytes = 0;
    };

    // Whether the tenant may have so much more.
    [[nodiscard]] bool fits(chain::Name tenant, const Load& more) const;
    void start_part(Waiting& waiting, ChainAnswer::Part part, Effects& out);
    void release(chain::Name tenant, const Load& less);
    void forget(const Waiting& waiting);

    std::uint64_t last_ticket_ = 0;
    std::map<std::uint64_t, Call> calls_;  // By ticket.
    std::map<Key, std::uint64_t> by_key_;
    std::map<RequestId, Waiting> waiting_;
    std::map<chain::Name, Load> loads_;  // By tenant; none that is empty.
    Load all_;
    Deadlines<RequestId> deadlines_;
};

}  // namespace bps
