#include "chain/execution/authority_checker.hpp"

#include "base/check.hpp"
#include "chain/state/key_mix.hpp"

#include <algorithm>

namespace chain {

namespace {

// Units for an entry of an authority, used or not, since all are put in order; and for the
// permission that has them.
constexpr std::uint64_t kEntryUnits = 25;
constexpr std::uint64_t kPermissionUnits = 1'000;
constexpr std::size_t kFoundMax = 16;

// An entry of an authority in the order in which it is looked at: heavier first, then waits,
// keys, accounts, as in nodeos. The order decides which keys count as used.
struct Factor {
    Weight weight;
    std::uint8_t priority;  // 3 wait, 2 key, 1 account.
    std::size_t index;
};

std::vector<Factor> factors_of(const Authority& authority) {
    std::vector<Factor> factors;
    factors.reserve(authority.keys.size() + authority.accounts.size() + authority.waits.size());
    for (std::size_t i = 0; i < authority.accounts.size(); ++i) {
        factors.push_back({authority.accounts[i].weight, 1, i});
    }
    for (std::size_t i = 0; i < authority.keys.size(); ++i) {
        factors.push_back({authority.keys[i].weight, 2, i});
    }
    for (std::size_t i = 0; i < authority.waits.size(); ++i) {
        factors.push_back({authority.waits[i].weight, 3, i});
    }
    std::ranges::stable_sort(factors, [](const Factor& a, const Factor& b) {
        return a.weight != b.weight ? a.weight > b.weight : a.priority > b.priority;
    });
    return factors;
}

}  // namespace

PermissionPtr PermissionCache::find(const StateView& state, PermissionLevel level) {
    if (&state != running_ || !running_->changes(Table::permission).empty()) {
        return look_up(state, level);
    }
    for (const Found& found : found_) {
        if (found.level == level) return found.permission;
    }
    PermissionPtr permission = look_up(state, level);
    if (found_.size() < kFoundMax) found_.push_back({level, permission});
    return permission;
}

PermissionPtr PermissionCache::look_up(const StateView& state, PermissionLevel level) {
    Value value = state.find(Table::permission, permission_key(level));
    if (!value) return nullptr;
    const std::uint64_t mixed = stir(level.actor.value, level.permission.value);
    Entry& entry = entries_[mixed & (kSlots - 1)];
    if (entry.value == value && entry.level == level) return entry.permission;
    auto row = decode_row<PermissionRow>(*value);
    CHECK(row);
    entry = {level, std::move(value), std::make_shared<const PermissionRow>(std::move(*row))};
    return entry.permission;
}

void PermissionCache::begin(const StateDelta& state) {
    running_ = &state;
    found_.clear();
}

void PermissionCache::end() {
    running_ = nullptr;
}

AuthorityChecker::AuthorityChecker(const AuthoritySource& source, const Provided& provided)
    : source_(source), provided_(provided), used_(provided.keys.size()) {}

bool AuthorityChecker::satisfied(PermissionLevel level) {
    Statuses statuses;
    return permission_satisfied(level, statuses, 0);
}

bool AuthorityChecker::all_keys_used() const {
    return std::ranges::find(used_, false) == used_.end();
}

std::vector<PublicKey> AuthorityChecker::used_keys() const {
    std::vector<PublicKey> keys;
    for (std::size_t i = 0; i < used_.size(); ++i) {
        if (used_[i]) keys.push_back(provided_.keys[i]);
    }
    return keys;
}

std::vector<PublicKey> AuthorityChecker::unused_keys() const {
    std::vector<PublicKey> keys;
    for (std::size_t i = 0; i < used_.size(); ++i) {
        if (!used_[i]) keys.push_back(provided_.keys[i]);
    }
    return keys;
}

std::optional<AuthorityChecker::Status> AuthorityChecker::status_of(
    PermissionLevel level, const Statuses& statuses) const {
    if (const auto known = statuses.find(level); known != statuses.end()) return known->second;
    for (const PermissionLevel& given : {level, PermissionLevel{level.actor, Name{}}}) {
        if (std::ranges::binary_search(provided_.permissions, given)) return Status::satisfied;
    }
    return std::nullopt;
}

// Recursion is bounded by max_authority_depth, a chain parameter of at most 6 by default.
// NOLINTBEGIN(misc-no-recursion)
bool AuthorityChecker::permission_satisfied(PermissionLevel level,
                                            Statuses& statuses,
                                            std::uint16_t depth) {
    if (const auto status = status_of(level, statuses)) return *status == Status::satisfied;
    if (depth >= source_.depth_max) return false;
    if (!source_.meter.charge(kPermissionUnits) || !source_.meter.goes_on()) return false;
    const PermissionPtr permission = source_.cache.find(source_.state, level);
    if (!permission) return false;
    statuses.emplace(level, Status::being_evaluated);
    const bool result =
        authority_satisfied(permission->authority, statuses, static_cast<std::uint16_t>(depth + 1));
    statuses[level] = result ? Status::satisfied : Status::unsatisfied;
    return result;
}

bool AuthorityChecker::authority_satisfied(const Authority& authority,
                                           Statuses& statuses,
                                           std::uint16_t depth) {
    const std::size_t entries =
        authority.keys.size() + authority.accounts.size() + authority.waits.size();
    if (!source_.meter.charge(kEntryUnits * entries)) return false;
    // Keys used for an authority that is not satisfied in the end are not used.
    std::vector<bool> used_before = used_;
    std::uint64_t total = 0;
    for (const Factor& factor : factors_of(authority)) {
        bool counts = false;
        if (factor.priority == 3) {
            counts = provided_.delay_seconds >= authority.waits[factor.index].wait_sec;
        } else if (factor.priority == 2) {
            counts = use_key(authority.keys[factor.index].key);
        } else {
            const PermissionLevel level = authority.accounts[factor.index].permission;
            counts = permission_satisfied(level, statuses, depth);
        }
        if (counts) total += factor.weight;
        if (total >= authority.threshold) return true;
    }
    used_ = std::move(used_before);
    return false;
}
// NOLINTEND(misc-no-recursion)

bool AuthorityChecker::use_key(const PublicKey& key) {
    const auto found = std::ranges::lower_bound(provided_.keys, key);
    if (found == provided_.keys.end() || *found != key) return false;
    used_[static_cast<std::size_t>(found - provided_.keys.begin())] = true;
    return true;
}

}  // namespace chain
