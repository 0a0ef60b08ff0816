#include "chain/pool.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chain {

namespace {

// What an entry costs beyond its bytes: nodes of the indexes and the decoded form.
constexpr std::size_t kOverheadBytes = 512;

}  // namespace

std::size_t packed_bytes(const PackedTransaction& packed) {
    return packed.net_bytes_unprunable() + packed.net_bytes_prunable();
}

std::size_t PooledTransaction::bytes() const {
    // Twice the packed bytes: once packed, once decoded.
    return packed_bytes(transaction->packed) * 2 + kOverheadBytes;
}

base::Result<Pool::Place> Pool::add(PooledTransaction entry, std::vector<Evicted>& evicted) {
    const Place place = next_;
    if (auto added = add_at(place, std::move(entry), evicted); !added) {
        return base::fail(std::move(added).error());
    }
    return place;
}

base::Result<void> Pool::add_at(Place place,
                                PooledTransaction entry,
                                std::vector<Evicted>& evicted) {
    const TransactionId& id = entry.transaction->id;
    if (by_id_.contains(id)) {
        return fail(Exception::tx_duplicate,
                    fmt::format("duplicate transaction {}", base::to_hex(id.bytes)));
    }
    const std::size_t bytes = entry.bytes();
    const Name account = entry.transaction->content.first_authorizer();
    const auto held = account_bytes_.find(account);
    const std::size_t account_bytes = held == account_bytes_.end() ? 0 : held->second;
    if (account_bytes + bytes > bytes_max_ / kAccountShare) {
        return fail(base::Error{
            base::Errc::would_block,
            fmt::format("account {} has {} bytes of waiting transactions, at most {} are kept; "
                        "send again after the next block",
                        account.to_string(),
                        account_bytes,
                        bytes_max_ / kAccountShare),
            static_cast<std::uint32_t>(Exception::tx_resource_exhaustion)});
    }
    const TimePointSec expiration = entry.transaction->content.expiration;
    while (bytes_ + bytes > bytes_max_) {
        const auto first = by_expiration_.begin();
        if (first == by_expiration_.end() || expiration <= first->first) {
            return fail(base::Error{
                base::Errc::would_block,
                fmt::format("{} bytes of transactions wait, at most {} are kept; send again after "
                            "the next block",
                            bytes_,
                            bytes_max_),
                static_cast<std::uint32_t>(Exception::tx_resource_exhaustion)});
        }
        evicted.push_back({entries_.at(first->second).transaction,
                           {base::Errc::would_block,
                            "dropped from the full pool: it was the next to expire",
                            static_cast<std::uint32_t>(Exception::tx_resource_exhaustion)}});
        erase(first->second);
    }
    by_id_.emplace(id, place);
    by_expiration_.emplace(expiration, place);
    account_bytes_[account] += bytes;
    bytes_ += bytes;
    const std::size_t before = entries_.size();
    entries_.emplace_hint(entries_.end(), place, std::move(entry));
    CHECK(entries_.size() == before + 1);
    reserve(place);
    return {};
}

void Pool::reserve(Place place) {
    first_ = std::min(first_, place);
    next_ = std::max(next_, place + 1);
}

bool Pool::remove(const TransactionId& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) return false;
    erase(found->second);
    return true;
}

void Pool::expire(TimePoint now, std::vector<Evicted>& evicted) {
    while (!by_expiration_.empty()) {
        const auto& [expiration, place] = *by_expiration_.begin();
        if (expiration.to_time_point() >= now) return;
        evicted.push_back(
            {entries_.at(place).transaction,
             {base::Errc::invalid,
              fmt::format("expired at {} before it was in a block", expiration.to_string()),
              static_cast<std::uint32_t>(Exception::expired_tx_exception)}});
        erase(place);
    }
}

const PooledTransaction* Pool::find(const TransactionId& id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &entries_.at(found->second);
}

std::vector<const PooledTransaction*> Pool::in_order() const {
    std::vector<const PooledTransaction*> entries;
    entries.reserve(entries_.size());
    for (const auto& [place, entry] : entries_) {
        entries.push_back(&entry);
    }
    return entries;
}

void Pool::erase(Place place) {
    const auto found = entries_.find(place);
    CHECK(found != entries_.end());
    const PooledTransaction& entry = found->second;
    const std::size_t bytes = entry.bytes();
    const auto account = account_bytes_.find(entry.transaction->content.first_authorizer());
    CHECK(account != account_bytes_.end() && account->second >= bytes);
    account->second -= bytes;
    if (account->second == 0) account_bytes_.erase(account);
    by_id_.erase(entry.transaction->id);
    by_expiration_.erase({entry.transaction->content.expiration, place});
    bytes_ -= bytes;
    entries_.erase(found);
}

void Pool::check_invariants() const {
    std::size_t bytes = 0;
    for (const auto& [place, entry] : entries_) {
        bytes += entry.bytes();
        CHECK(by_id_.at(entry.transaction->id) == place);
        CHECK(by_expiration_.contains({entry.transaction->content.expiration, place}));
    }
    CHECK(bytes == bytes_ && bytes_ <= bytes_max_);
    CHECK(by_id_.size() == entries_.size() && by_expiration_.size() == entries_.size());
    CHECK(entries_.empty() ||
          (entries_.begin()->first >= first_ && entries_.rbegin()->first < next_));
}

base::Bytes encode_pool_row(Pool::Place place, const PackedTransaction& packed) {
    base::Writer out;
    out.u64(place);
    encode(out, packed);
    return out.take();
}

base::Result<PoolRow> decode_pool_row(base::ByteView bytes) {
    constexpr std::string_view kName = "pool";
    base::Reader in(bytes);
    PoolRow row;
    row.place = in.u64("pool.place");
    if (in.ok() && (row.place < Pool::kPlaceMin || row.place > Pool::kPlaceMax)) {
        in.set_error("pool.place", "is no place of the pool's order");
    }
    decode(in, row.packed, kName);
    if (auto done = in.finish(); !done) return base::fail(std::move(done).error());
    return row;
}

}  // namespace chain
