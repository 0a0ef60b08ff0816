#include "p2p/dialer.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kFirstWait = milliseconds(500);
constexpr base::Duration kWaitMax = seconds(4);
constexpr base::Duration kStayingWaitMax = seconds(15);
constexpr base::Duration kDialTimeout = seconds(15);
}  // namespace

void Dialer::add(const std::string& address, std::optional<PublicKey> pinned) {
    Entry& entry = entries_[address];
    entry.pinned = std::move(pinned);
    if (entry.stage == Stage::idle) entry.next_try = {};
}

std::optional<PublicKey> Dialer::pinned(const std::string& address) const {
    const auto at = entries_.find(address);
    return at == entries_.end() ? std::nullopt : at->second.pinned;
}

void Dialer::on_up(const std::string& address, const PublicKey& key) {
    const auto at = entries_.find(address);
    if (at == entries_.end()) return;
    at->second.stage = Stage::up;
    at->second.key = key;
}

void Dialer::on_ready(const std::string& address) {
    const auto at = entries_.find(address);
    if (at == entries_.end()) return;
    at->second.failures = 0;
    at->second.last_error.clear();
}

void Dialer::on_failed(base::Timestamp now, const std::string& address, const Failure& failure) {
    const auto at = entries_.find(address);
    if (at == entries_.end()) return;
    Entry& entry = at->second;
    const base::Duration longest = failure.stays ? kStayingWaitMax : kWaitMax;
    const base::Duration wait =
        std::min(kFirstWait * (1U << std::min(entry.failures, 10U)), longest);
    const auto quarter = static_cast<std::uint64_t>(wait.count()) / 4;
    entry.next_try = now + wait - base::Duration(rng_.below(quarter + 1));
    ++entry.failures;
    entry.stage = Stage::idle;
    entry.last_error = failure.text;
}

void Dialer::try_again() {
    for (auto& [address, entry] : entries_) {
        if (entry.stage != Stage::idle) continue;
        entry.failures = 0;
        entry.next_try = {};
    }
}

void Dialer::on_ready(const PublicKey& key) {
    for (auto& [address, entry] : entries_) {
        if ((entry.pinned ? entry.pinned : entry.key) != key) continue;
        entry.failures = 0;
        entry.last_error.clear();
    }
}

void Dialer::dial(base::Timestamp now,
                  const std::function<bool(const PublicKey&)>& is_connected,
                  Effects& out) {
    for (auto& [address, entry] : entries_) {
        if (entry.stage == Stage::up || now < entry.next_try) continue;
        if (entry.stage == Stage::dialling) {
            on_failed(now, address, {.text = "no answer within 15 s"});
            continue;
        }
        const auto& key = entry.pinned ? entry.pinned : entry.key;
        if (key && is_connected(*key)) continue;
        entry.stage = Stage::dialling;
        entry.next_try = now + kDialTimeout;
        out.emplace_back(effect::Connect{address, entry.pinned});
    }
}

std::vector<DialStatus> Dialer::status() const {
    std::vector<DialStatus> all;
    all.reserve(entries_.size());
    for (const auto& [address, entry] : entries_) {
        all.push_back({.address = address,
                       .pinned = entry.pinned,
                       .connected = entry.stage == Stage::up,
                       .failures = entry.failures,
                       .next_try = entry.next_try,
                       .last_error = entry.last_error});
    }
    return all;
}

}  // namespace p2p
