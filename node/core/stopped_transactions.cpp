#include "node/core/stopped_transactions.hpp"

#include "base/codec.hpp"

#include <algorithm>

namespace node {

namespace {

// Longer reasons are cut: they are for people.
constexpr std::size_t kReasonBytesMax = 512;

base::Bytes row_key(const chain::TransactionId& id) {
    base::Bytes key = base::to_bytes(base::as_bytes(StoppedTransactions::kRow));
    key.insert(key.end(), id.bytes.begin(), id.bytes.end());
    return key;
}

base::Bytes row_of(const StoppedTransactions::Entry& entry) {
    base::Writer out;
    out.u32(entry.expiration.seconds);
    out.u32(entry.reason.exception);
    out.string(std::string_view(entry.reason.detail).substr(0, kReasonBytesMax));
    return out.take();
}

base::Result<StoppedTransactions::Entry> entry_of(base::ByteView id, base::ByteView row) {
    constexpr std::string_view kName = "stopped transaction";
    StoppedTransactions::Entry entry;
    base::Reader in(row);
    entry.expiration.seconds = in.u32(kName);
    entry.reason.exception = in.u32(kName);
    entry.reason.detail = in.string(kName, kReasonBytesMax);
    if (auto done = in.finish(); !done) {
        return base::fail(base::Errc::corrupt, done.error().detail);
    }
    const auto hash = base::to_hash<32>(id);
    if (!hash) return base::fail(base::Errc::corrupt, "stopped transaction: the key is no id");
    entry.id = *hash;
    return entry;
}

}  // namespace

void StoppedTransactions::add(const Entry& entry, base::Batch& batch) {
    batch.put(base::Family::meta, row_key(entry.id), row_of(entry));
    insert(entry);
    if (entries_.size() > entries_max_) erase_first(batch);
}

void StoppedTransactions::expire(chain::TimePoint now, base::Batch& batch) {
    while (!by_expiration_.empty() && by_expiration_.begin()->first.to_time_point() < now)
        erase_first(batch);
}

void StoppedTransactions::remove(const chain::TransactionId& id, base::Batch& batch) {
    const auto found = entries_.find(id);
    if (found == entries_.end()) return;
    batch.erase(base::Family::meta, row_key(id));
    by_expiration_.erase({found->second.expiration, id});
    entries_.erase(found);
}

const base::Error* StoppedTransactions::find(const chain::TransactionId& id) const {
    const auto found = entries_.find(id);
    return found == entries_.end() ? nullptr : &found->second.reason;
}

base::Result<std::vector<StoppedTransactions::Entry>> StoppedTransactions::load(
    const base::StorageView& storage) {
    std::vector<Entry> loaded;
    base::Result<void> good;
    const base::ByteView prefix = base::as_bytes(kRow);
    auto read = storage.scan(base::Family::meta, prefix, [&](auto key, auto value) {
        if (key.size() < prefix.size() || !std::ranges::equal(key.first(prefix.size()), prefix)) {
            return false;
        }
        auto entry = entry_of(key.subspan(prefix.size()), value);
        if (!entry) {
            good = base::fail(std::move(entry).error());
            return false;
        }
        loaded.push_back(*std::move(entry));
        return true;
    });
    if (!read) return base::fail(std::move(read).error());
    if (!good) return base::fail(std::move(good).error());
    for (const Entry& entry : loaded)
        insert(entry);
    return loaded;
}

void StoppedTransactions::insert(const Entry& entry) {
    if (!entries_.try_emplace(entry.id, Known{entry.expiration, entry.reason}).second) return;
    by_expiration_.emplace(entry.expiration, entry.id);
}

void StoppedTransactions::erase_first(base::Batch& batch) {
    const chain::TransactionId id = by_expiration_.begin()->second;
    remove(id, batch);
}

}  // namespace node
