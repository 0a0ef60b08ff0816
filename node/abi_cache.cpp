#include "node/abi_cache.hpp"

#include "chain/execution/queries.hpp"
#include "chain/execution/rows.hpp"

#include <utility>

namespace node {

using chain::literals::operator""_n;

namespace {

bool is_same(const chain::Value& a, const chain::Value& b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a == b || *a == *b;
}

}  // namespace

chain::abi::SerializerPtr AbiCache::find(const chain::StateView& state, chain::Name account) {
    const chain::Value bytes = state.find(chain::Table::abi, chain::abi_key(account));
    // Without a row only eosio has an ABI, the native one.
    if (bytes == nullptr && account != "eosio"_n) return nullptr;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = entries_.find(account);
        if (found != entries_.end() && is_same(found->second.bytes, bytes)) {
            return found->second.serializer;
        }
    }
    auto made = chain::abi::Serializer::from_bytes(chain::account_abi(state, account));
    chain::abi::SerializerPtr serializer = made ? std::move(*made) : nullptr;
    const std::scoped_lock lock(mutex_);
    if (entries_.size() >= kEntriesMax) entries_.clear();
    entries_.insert_or_assign(account, Entry{bytes, serializer});
    return serializer;
}

chain::abi::Resolver AbiCache::resolver(std::shared_ptr<const chain::StateView> state) {
    return [this, state = std::move(state)](chain::Name account) { return find(*state, account); };
}

}  // namespace node
