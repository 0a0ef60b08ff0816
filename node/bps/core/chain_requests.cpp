#include "node/bps/core/chain_requests.hpp"

#include "base/check.hpp"
#include "node/bps/core/actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <type_traits>

namespace bps {

namespace {

using Place = ChainAnswer::Place;

// The outer list of a response.
auto& list_of(auto& response) {
    if constexpr (requires { response.topics; }) {
        return response.topics;
    } else if constexpr (requires { response.responses; }) {
        return response.responses;
    } else if constexpr (requires { response.results; }) {
        return response.results;
    } else if constexpr (requires { response.filter_results; }) {
        return response.filter_results;
    } else {
        return response.replica_election_results;
    }
}

// The inner list of an item of the outer one; null: there is none.
auto* inner_list_of(auto& item) {
    if constexpr (requires { item.partitions; }) {
        return &item.partitions;
    } else if constexpr (requires { item.partition_result; }) {
        return &item.partition_result;
    } else if constexpr (requires { item.matching_acls; }) {
        return &item.matching_acls;
    } else {
        return static_cast<std::vector<int>*>(nullptr);
    }
}
template <class Item>
constexpr bool kHasInnerList =
    !std::same_as<decltype(inner_list_of(std::declval<Item&>())), std::vector<int>*>;

auto& item_of(auto& response, const Place& at) {
    auto& outer = list_of(response)[at.outer];
    if constexpr (kHasInnerList<std::decay_t<decltype(outer)>>) {
        return (*inner_list_of(outer))[at.inner];
    } else {
        return outer;
    }
}

// About what an answer takes in memory while it waits.
std::size_t bytes_of(ChainAnswer& answer) {
    const auto of_items = [](auto& response) {
        std::size_t bytes = 0;
        for (auto& item : list_of(response)) {
            bytes += sizeof(item);
            if constexpr (kHasInnerList<std::decay_t<decltype(item)>>) {
                const auto& inner = *inner_list_of(item);
                bytes += inner.size() * sizeof(inner[0]);
            }
        }
        return bytes;
    };
    return answer.texts.bytes() + std::visit(of_items, answer.response);
}

// What an item says only when all is well.
template <class Item>
void clear_result(Item& /*item*/) {}
void clear_result(CreateTopicsResponse::Topic& item) {
    item.num_partitions = -1;
    item.replication_factor = -1;
    item.configs.reset();
}
void clear_result(DeleteRecordsResponse::Partition& item) {
    item.low_watermark = -1;
}

Reply to_reply(const Caller& caller, const ChainAnswer& answer) {
    Reply reply = std::visit([&](const auto& response) { return reply_to(caller, response); },
                             answer.response);
    reply.refusal = answer.reason;
    return reply;
}

}  // namespace

void ChainAnswer::refuse(const Place& place, const Refusal& refusal) {
    const auto set = [&](auto& of) {
        auto& item = item_of(of, place);
        item.error_code = refusal.code;
        if constexpr (requires { item.error_message; }) {
            item.error_message = texts.keep(refusal.reason);
        }
        clear_result(item);
    };
    std::visit(set, response);
    if (reason.empty()) reason = refusal.reason;
}

void ChainRequests::start(std::int64_t now,
                          const Caller& caller,
                          std::int32_t timeout_ms,
                          ChainAnswer answer,
                          Effects& out) {
    auto parts = std::exchange(answer.parts, {});
    Waiting waiting{.caller = caller,
                    .deadline = now + std::max<std::int64_t>(timeout_ms, 0),
                    .bytes = bytes_of(answer),
                    .answer = std::move(answer),
                    .tickets = {}};
    if (!parts.empty() && !fits(caller.principal.account, {.calls = 0, .bytes = waiting.bytes})) {
        const Refusal refusal{ErrorCode::request_timed_out,
                              "too many requests wait for the chain: try again later"};
        for (const ChainAnswer::Part& part : parts) {
            for (const Place& place : part.places)
                waiting.answer.refuse(place, refusal);
        }
        parts.clear();
    }
    for (ChainAnswer::Part& part : parts)
        start_part(waiting, std::move(part), out);
    if (waiting.tickets.empty()) {
        out.replies.push_back(to_reply(caller, waiting.answer));
        return;
    }
    all_.bytes += waiting.bytes;
    loads_[caller.principal.account].bytes += waiting.bytes;
    deadlines_.add(waiting.deadline, caller.id);
    const bool is_new = waiting_.emplace(caller.id, std::move(waiting)).second;
    CHECK(is_new);
}

void ChainRequests::start_part(Waiting& waiting, ChainAnswer::Part part, Effects& out) {
    const chain::Name tenant = waiting.caller.principal.account;
    const Key key{part.action, part.subject};
    const bool has_key = !part.subject.empty();
    const auto same = has_key ? by_key_.find(key) : by_key_.end();
    if (same != by_key_.end()) {
        CHECK(part.action == actions::CreateTopic::kName);
        calls_.at(same->second)
            .waiters.push_back({.request = waiting.caller.id,
                                .places = std::move(part.places),
                                .is_second = true});
        waiting.tickets.insert(same->second);
        return;
    }
    if (!fits(tenant, {.calls = 1, .bytes = 0})) {
        const Refusal refusal{ErrorCode::request_timed_out,
                              fmt::format("too many actions wait for the chain, of all at most {} "
                                          "and of {} {}: try again later",
                                          kCallsMax,
                                          tenant.to_string(),
                                          kCallsMax / kTenantShare)};
        for (const Place& place : part.places)
            waiting.answer.refuse(place, refusal);
        return;
    }
    const std::uint64_t ticket = call(part.action, std::move(part.data), out);
    Call& made = calls_[ticket];
    made.tenant = tenant;
    made.waiters.push_back({.request = waiting.caller.id, .places = std::move(part.places)});
    if (has_key) {
        by_key_[key] = ticket;
        made.key = key;
    }
    ++all_.calls;
    ++loads_[tenant].calls;
    waiting.tickets.insert(ticket);
}

std::uint64_t ChainRequests::call(chain::Name action, base::Bytes data, Effects& out) {
    out.calls.push_back({.ticket = ++last_ticket_, .action = action, .data = std::move(data)});
    return last_ticket_;
}

bool ChainRequests::is_under_way(chain::Name action, std::string_view subject) const {
    return by_key_.contains({action, std::string(subject)});
}

bool ChainRequests::fits(chain::Name tenant, const Load& more) const {
    const auto at = loads_.find(tenant);
    const Load has = at == loads_.end() ? Load{} : at->second;
    return all_.calls + more.calls <= kCallsMax && all_.bytes + more.bytes <= kBytesMax &&
           has.calls + more.calls <= kCallsMax / kTenantShare &&
           has.bytes + more.bytes <= kBytesMax / kTenantShare;
}

void ChainRequests::release(chain::Name tenant, const Load& less) {
    const auto at = loads_.find(tenant);
    CHECK(at != loads_.end());
    CHECK(at->second.calls >= less.calls && at->second.bytes >= less.bytes);
    all_.calls -= less.calls;
    all_.bytes -= less.bytes;
    at->second.calls -= less.calls;
    at->second.bytes -= less.bytes;
    if (at->second.calls == 0 && at->second.bytes == 0) loads_.erase(at);
}

// Its calls go on: an action that is pushed is not taken back.
void ChainRequests::forget(const Waiting& waiting) {
    release(waiting.caller.principal.account, {.calls = 0, .bytes = waiting.bytes});
    deadlines_.remove(waiting.deadline, waiting.caller.id);
    for (const std::uint64_t ticket : waiting.tickets) {
        std::erase_if(calls_.at(ticket).waiters,
                      [&](const Waiter& each) { return each.request == waiting.caller.id; });
    }
}

void ChainRequests::on_called(std::uint64_t ticket, const Verdict<void>& outcome, Effects& out) {
    auto done = calls_.extract(ticket);
    if (done.empty()) return;  // Of no request.
    Call& call = done.mapped();
    if (call.key) by_key_.erase(*call.key);
    release(call.tenant, {.calls = 1, .bytes = 0});
    const Refusal second{ErrorCode::topic_already_exists,
                         "another request has just created this topic"};
    for (const Waiter& waiter : call.waiters) {
        const auto at = waiting_.find(waiter.request);
        CHECK(at != waiting_.end());
        Waiting& waiting = at->second;
        for (const Place& place : waiter.places) {
            if (!outcome) {
                waiting.answer.refuse(place, outcome.error());
            } else if (waiter.is_second) {
                waiting.answer.refuse(place, second);
            }
        }
        waiting.tickets.erase(ticket);
        if (!waiting.tickets.empty()) continue;
        out.replies.push_back(to_reply(waiting.caller, waiting.answer));
        forget(waiting);
        waiting_.erase(at);
    }
}

void ChainRequests::on_time(std::int64_t now, Effects& out) {
    const Refusal late{ErrorCode::request_timed_out,
                       "the chain has not made it final in time; it may do so later"};
    for (const RequestId& id : deadlines_.take(now)) {
        auto node = waiting_.extract(id);
        Waiting& waiting = node.mapped();
        const auto refuse_all = [&](const Waiter& each) {
            if (each.request != id) return;
            for (const Place& place : each.places)
                waiting.answer.refuse(place, late);
        };
        for (const std::uint64_t ticket : waiting.tickets)
            std::ranges::for_each(calls_.at(ticket).waiters, refuse_all);
        forget(waiting);
        out.replies.push_back(to_reply(waiting.caller, waiting.answer));
    }
}

void ChainRequests::on_closed(std::uint64_t connection) {
    auto at = waiting_.lower_bound({connection, 0});
    while (at != waiting_.end() && at->first.connection == connection) {
        forget(at->second);
        at = waiting_.erase(at);
    }
}

void ChainRequests::check_invariants() const {
    Load counted;
    for (const auto& [tenant, load] : loads_) {
        counted.calls += load.calls;
        counted.bytes += load.bytes;
    }
    std::size_t bytes = 0;
    bool all_wait = true;
    for (const auto& [id, waiting] : waiting_) {
        bytes += waiting.bytes;
        all_wait = all_wait && !waiting.tickets.empty();
        for (const std::uint64_t ticket : waiting.tickets) {
            const auto& waiters = calls_.at(ticket).waiters;
            all_wait =
                all_wait && std::ranges::find(waiters, id, &Waiter::request) != waiters.end();
        }
    }
    CHECK(counted.calls == calls_.size() && all_.calls == calls_.size());
    CHECK(counted.bytes == bytes && all_.bytes == bytes);
    CHECK(all_wait);
}

}  // namespace bps
