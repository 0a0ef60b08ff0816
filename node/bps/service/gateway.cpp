#include "node/bps/service/gateway.hpp"

#include "base/check.hpp"
#include "node/bps/core/codec/requests.hpp"
#include "node/bps/core/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace bps {

namespace {

// Then what was done goes to the disk and to clients, and what else happened is looked at.
constexpr std::chrono::milliseconds kTurn{10};
// Of a tenant, that have closed while what they asked waits.
constexpr std::size_t kClosedMax = 1'000;
// Sessions in a call of end_sessions(): some 10 us each; authorities that are dear end it earlier.
constexpr std::size_t kLookedAtOnce = 500;
constexpr auto kLookedAtFor = std::chrono::milliseconds(5);

}  // namespace

bool Gateway::deliver(std::int64_t now, Effects& out) {
    using Clock = std::chrono::steady_clock;
    now_ = now;
    out_ = &out;
    world_.listener.deliver(*this);
    auto began = Clock::now();
    const auto until = began + kTurn;
    waiting_.release(now);
    while (!waiting_.empty() && began < until) {
        if (const auto held = held_until(waiting_.first())) {
            waiting_.hold_first(*held);
            continue;
        }
        FairQueue::Next next = waiting_.take();
        serve(next.item);
        const auto ended = Clock::now();
        waiting_.charge(next.tenant, ended - began);
        began = ended;
    }
    out_ = nullptr;
    return !waiting_.empty();
}

// By any of its connections it could have sent more, before it was read no further.
std::optional<std::int64_t> Gateway::held_until(Tenant tenant) const {
    if (tenant == 0) return std::nullopt;
    return world_.quotas.overdrawn_until(now_, chain::Name{tenant});
}

void Gateway::send(std::int64_t now, std::vector<Reply>& replies) {
    for (Reply& reply : replies) {
        const auto found = sessions_.find(reply.id.connection);
        if (found == sessions_.end()) continue;
        if (auto goes_on = found->second->login.check(now); !goes_on) {
            world_.listener.close(reply.id.connection, goes_on.error().reason);
            continue;
        }
        give(std::move(reply));
    }
    replies.clear();
    mute_tenants();
    world_.listener.write_answers();
}

void Gateway::end_sessions(std::int64_t now) {
    const auto until = std::chrono::steady_clock::now() + kLookedAtFor;
    auto at = sessions_.lower_bound(next_looked_at_);
    for (std::size_t i = 0; i < kLookedAtOnce && at != sessions_.end(); ++i, ++at) {
        if (std::chrono::steady_clock::now() >= until) break;
        Login& login = at->second->login;
        if (login.principal() == nullptr) continue;
        if (auto goes_on = login.check(now); !goes_on) {
            world_.listener.close(at->first, goes_on.error().reason);
        }
    }
    next_looked_at_ = at == sessions_.end() ? 0 : at->first;
}

void Gateway::give(Reply reply) {
    if (reply.key >= 0) ++answered_[{reply.key, reply.error}];
    if (reply.response) {
        for (const Splice& splice : reply.response->splices) {
            sent_bytes_ += splice.records.bytes;
        }
    }
    const std::uint64_t connection = reply.id.connection;
    const std::int32_t throttle = charge(reply);
    world_.listener.send(std::move(reply));
    if (throttle == 0) return;
    ++throttled_;
    const Principal* who = sessions_.at(connection)->login.principal();
    if (who != nullptr) mute(who->account, throttle);
}

std::int32_t Gateway::charge(const Reply& reply) {
    const Principal* who = sessions_.at(reply.id.connection)->login.principal();
    if (who == nullptr || reply.key == FetchRequest::kApi.key) return reply.throttle_ms;
    const std::size_t bytes = reply.response ? reply.response->bytes.size() : 0;
    return std::max(reply.throttle_ms, world_.quotas.take_out(now_, who->account, bytes));
}

void Gateway::mute(chain::Name tenant, std::int32_t milliseconds) {
    std::int32_t& most = to_mute_[tenant];
    most = std::max(most, milliseconds);
}

void Gateway::mute_tenants() {
    if (to_mute_.empty()) return;
    for (const auto& [connection, session] : sessions_) {
        const Principal* who = session->login.principal();
        const auto found = who == nullptr ? to_mute_.end() : to_mute_.find(who->account);
        if (found == to_mute_.end()) continue;
        world_.listener.mute(connection, std::chrono::milliseconds(found->second));
    }
    to_mute_.clear();
}

void Gateway::on_open(std::uint64_t connection, const ClientPeer& peer) {
    const auto made =
        sessions_.emplace(connection, std::make_unique<Session>(world_.judge, counts_, peer));
    (void)admit(connection, *made.first->second);
}

Tenant Gateway::tenant_of(std::uint64_t connection) const {
    const auto found = sessions_.find(connection);
    CHECK(found != sessions_.end());
    const Principal* who = found->second->login.principal();
    return who == nullptr ? 0 : who->account.value;
}

void Gateway::on_request(const RequestId& id, Frame frame) {
    waiting_.put(tenant_of(id.connection), {.id = id, .frame = std::move(frame)});
}

// What it asked before is carried out before.
void Gateway::on_closed(std::uint64_t connection) {
    sessions_.at(connection)->has_closed = true;
    waiting_.put(tenant_of(connection), {.id = {.connection = connection}, .frame = {}});
}

void Gateway::serve(FairQueue::Item& item) {
    const std::uint64_t connection = item.id.connection;
    if (!item.frame) return end_session(connection);
    // It may have ended by what waited elsewhere: the client did not wait for its login.
    const auto found = sessions_.find(connection);
    if (found != sessions_.end()) answer(item.id, *found->second, *item.frame);
}

void Gateway::end_session(std::uint64_t connection) {
    const auto found = sessions_.find(connection);
    // Nothing of a client that never logged in can wait at the broker.
    const bool may_wait = found->second->is_admitted;
    sessions_.erase(found);
    if (may_wait) world_.broker.on_closed(now_, connection);
}

void Gateway::answer(const RequestId& id, Session& session, Frame& frame) {
    const auto read = read_request_frame(frame.view());
    if (!read) return close(id, read.error().detail);
    if (read->api == nullptr) {
        if (auto response = answer_unlisted(read->header)) {
            return world_.listener.send(
                {.id = id, .response = std::move(response), .close_reason = {}});
        }
        return close(id, why_unlisted(read->header));
    }
    const auto request = decode_request(*read);
    if (!request) return close(id, request.error().detail);
    if (auto reply = session.login.on_request(now_, id, read->header, *request)) {
        // Its answer may be as large as its tenant's memory: it is admitted before.
        if (admit(id.connection, session)) give(*std::move(reply));
        return;
    }
    ask_broker(id, session, read->header, *request, frame);
}

void Gateway::ask_broker(const RequestId& id,
                         Session& session,
                         const RequestHeader& header,
                         const Request& request,
                         Frame& frame) {
    Caller caller;
    caller.id = id;
    caller.version = header.version;
    caller.correlation = header.correlation;
    caller.client_id = std::string(header.client_id.value_or(""));
    caller.client_host = session.peer.address;
    caller.protocol = session.peer.is_tls ? settings_.protocol_of_tls : settings_.protocol_of_plain;
    const Principal* who = session.login.principal();
    if (who == nullptr) {
        // The only one that is asked by nobody.
        CHECK(std::holds_alternative<ApiVersionsRequest>(request));
        return give(reply_to(caller, api_versions()));
    }
    caller.principal = *who;
    if (header.key != ProduceRequest::kApi.key) {
        const auto wait = world_.quotas.take_in(now_, who->account, frame.bytes().size());
        if (wait > 0) mute(who->account, wait);
    }
    const bool is_known = world_.broker.on_request(now_, caller, request, frame.bytes(), *out_);
    CHECK(is_known);
}

void Gateway::close(const RequestId& id, std::string reason) {
    world_.listener.send({.id = id, .response = std::nullopt, .close_reason = std::move(reason)});
}

bool Gateway::admit(std::uint64_t connection, Session& session) {
    const Principal* who = session.login.principal();
    if (who == nullptr || session.is_admitted) return true;
    std::size_t open = 0;
    std::size_t closed = 0;
    for (const auto& [id, each] : sessions_) {
        const Principal* other = each->login.principal();
        if (!each->is_admitted || other == nullptr || other->account != who->account) continue;
        ++(each->has_closed ? closed : open);
    }
    if (auto may = world_.quotas.may_connect(who->account, open); !may) {
        world_.listener.close(connection, may.error().reason);
        return false;
    }
    if (closed >= kClosedMax) {
        world_.listener.close(
            connection,
            fmt::format("{} connections of {} have closed and are not done: it is "
                        "over its quota of bytes (setquota of the contract)",
                        closed,
                        who->account.to_string()));
        return false;
    }
    session.is_admitted = true;
    world_.listener.admit(connection, who->account.value);
    const std::chrono::milliseconds wait(world_.quotas.wait_of(now_, who->account));
    if (wait.count() > 0) world_.listener.mute(connection, wait);
    return true;
}

}  // namespace bps
