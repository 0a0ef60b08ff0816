#include "chain/types/authority.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chain {

namespace {

// What nodeos bills for an entry beyond its key ("billable_size", rounded up to 16).
constexpr std::int64_t kBilledKey = 16;
constexpr std::int64_t kBilledAccount = 32;
constexpr std::int64_t kBilledWait = 16;

// Whether `key_of` ascends strictly along `items`.
template <class Items, class KeyOf>
bool ascends(const Items& items, KeyOf key_of) {
    return std::ranges::adjacent_find(items, [&](const auto& a, const auto& b) {
               return !(key_of(a) < key_of(b));
           }) == items.end();
}

template <class Items>
std::uint64_t weight_of(const Items& items) {
    std::uint64_t sum = 0;
    for (const auto& item : items) {
        sum += item.weight;
    }
    return sum;
}

}  // namespace

std::string PermissionLevel::to_json() const {
    return fmt::format(
        R"({{"actor":"{}","permission":"{}"}})", actor.to_string(), permission.to_string());
}

Authority Authority::of_key(const base::crypto::PublicKey& key) {
    Authority authority;
    authority.threshold = 1;
    authority.keys.push_back({key, 1});
    return authority;
}

bool Authority::is_valid() const {
    const bool sorted = ascends(keys, [](const KeyWeight& entry) { return entry.key; }) &&
                        ascends(accounts, [](const auto& entry) { return entry.permission; }) &&
                        ascends(waits, [](const WaitWeight& entry) { return entry.wait_sec; });
    if (!sorted || threshold == 0) return false;
    if (!waits.empty() && waits.front().wait_sec == 0) return false;
    return weight_of(keys) + weight_of(accounts) + weight_of(waits) >= threshold;
}

std::int64_t Authority::billable_bytes() const {
    std::int64_t bytes = static_cast<std::int64_t>(accounts.size()) * kBilledAccount +
                         static_cast<std::int64_t>(waits.size()) * kBilledWait;
    for (const KeyWeight& entry : keys) {
        bytes += kBilledKey + static_cast<std::int64_t>(pack(entry.key).size());
    }
    return bytes;
}

}  // namespace chain
