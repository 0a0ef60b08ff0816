#include "node/bps/ledger/chain_calls.hpp"

#include "base/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace bps {

namespace {

// Far above what an action of the contract takes; the low bits make equal calls differ.
constexpr std::uint32_t kNetWords = 1U << 20U;

}  // namespace

base::Result<chain::PackedTransaction> ChainCalls::begin(std::int64_t now,
                                                         std::uint64_t ticket,
                                                         chain::Name action,
                                                         base::Bytes data) {
    CHECK(!calls_.contains(ticket));
    if (calls_.size() >= kInFlightMax) {
        return base::fail(
            base::Errc::unavailable,
            fmt::format("{} actions of this broker wait for a final block, no more than {} may",
                        calls_.size(),
                        kInFlightMax));
    }
    if (final_time_ == 0) {
        return base::fail(base::Errc::unavailable, "this node knows no final block yet");
    }
    const std::int64_t expires = (std::max(now, final_time_) + kLifetimeMs) / 1'000 * 1'000;
    chain::SignedTransaction transaction;
    transaction.expiration.seconds = static_cast<std::uint32_t>(expires / 1'000);
    transaction.ref_block_num = static_cast<std::uint16_t>(chain::height_of(final_));
    transaction.ref_block_prefix = chain::ref_block_prefix_of(final_);
    transaction.max_net_usage_words = kNetWords | (made_++ % kNetWords);
    transaction.actions.push_back({.account = settings_.contract,
                                   .name = action,
                                   .authorization = {settings_.authorization},
                                   .data = std::move(data)});
    transaction.signatures.push_back(key_.sign(transaction.signing_digest(settings_.chain, {})));
    const chain::TransactionId id = transaction.id();
    calls_.emplace(ticket, Call{.action = action, .id = id, .expires = expires});
    tickets_.emplace(id, ticket);
    return chain::PackedTransaction::pack(transaction);
}

ChainCalls::Outcome ChainCalls::on_refused(std::uint64_t ticket, base::Error reason) {
    const auto call = calls_.find(ticket);
    CHECK(call != calls_.end());
    tickets_.erase(call->second.id);
    calls_.erase(call);
    return {.ticket = ticket, .result = base::fail(std::move(reason))};
}

std::vector<ChainCalls::Outcome> ChainCalls::on_final(const FinalRows& rows) {
    final_ = rows.block;
    final_time_ = rows.time;
    std::vector<Outcome> ended;
    if (calls_.empty()) return ended;
    for (const chain::TransactionId& id : rows.executed) {
        const auto ticket = tickets_.find(id);
        if (ticket == tickets_.end()) continue;
        ended.push_back({.ticket = ticket->second, .result = {}});
        calls_.erase(ticket->second);
        tickets_.erase(ticket);
    }
    for (auto call = calls_.begin(); call != calls_.end();) {
        if (call->second.expires >= rows.time) {
            ++call;
            continue;
        }
        ended.push_back(
            {.ticket = call->first,
             .result = base::fail(base::Errc::unavailable,
                                  fmt::format("{} was in no block for {} s; its transaction is {}",
                                              call->second.action.to_string(),
                                              kLifetimeMs / 1'000,
                                              base::to_hex(call->second.id.view())))});
        tickets_.erase(call->second.id);
        call = calls_.erase(call);
    }
    return ended;
}

}  // namespace bps
