#include "tests/sim/consensus/universe.hpp"

#include <algorithm>
#include <cstring>

namespace sim {

namespace {

constexpr std::size_t kChoices = 4;

std::uint64_t mix(std::uint64_t value) {
    value ^= value >> 29U;
    value *= 0xBF58476D1CE4E5B9ULL;
    return value ^ value >> 32U;
}

std::uint64_t first_bytes(const base::Hash256& hash, std::size_t from) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        value = value << 8U | std::to_integer<std::uint64_t>(hash.bytes[from + i]);
    }
    return value;
}

base::crypto::PublicKey make_key(std::size_t tag) {
    base::crypto::PublicKey key;
    key.point[0] = std::byte{2};
    key.point[1] = static_cast<std::byte>(tag);
    return key;
}

// Members named by a schedule, some of which change from one choice to the next.
std::vector<std::size_t> next_members(const std::vector<std::size_t>& before,
                                      std::size_t size,
                                      std::size_t universe,
                                      Chance& chance) {
    std::vector<std::size_t> stay = before;
    chance.shuffle(stay);
    const std::size_t replaced = chance.below(std::min(stay.size(), size) + 1);
    stay.resize(std::min(stay.size(), size) - replaced);
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < universe; ++i) {
        if (std::ranges::find(before, i) == before.end()) others.push_back(i);
    }
    chance.shuffle(others);
    while (stay.size() < size && !others.empty()) {
        stay.push_back(others.back());
        others.pop_back();
    }
    for (const std::size_t one : before) {
        if (stay.size() < size && std::ranges::find(stay, one) == stay.end()) stay.push_back(one);
    }
    chance.shuffle(stay);
    return stay;
}

std::size_t byzantine_in(const Universe& universe,
                         const std::vector<chain::ScheduleEntry>& entries,
                         const std::vector<char>& also) {
    std::size_t count = 0;
    for (const chain::ScheduleEntry& entry : entries) {
        const auto index = static_cast<std::size_t>(
            std::ranges::find(universe.members, entry.producer, &Member::name) -
            universe.members.begin());
        const bool silent = index < also.size() && also[index] != 0;
        const Member& member = universe.members[index];
        if (member.byzantine || member.copied || silent) ++count;
    }
    return count;
}

// One, where a schedule with it has room for a fault.
void choose_copied(Universe& universe, Chance& chance) {
    Member& member = chance.pick(universe.members);
    member.copied = true;
    if (universe.overwhelmed({})) member.copied = false;
}

// As many as fit: at most f of each schedule, and what the plan adds.
void choose_byzantine(Universe& universe, const Plan& plan, Chance& chance) {
    std::vector<std::size_t> order;
    order.reserve(universe.members.size());
    for (std::size_t i = 0; i < universe.members.size(); ++i) {
        order.push_back(i);
    }
    chance.shuffle(order);
    for (const std::size_t one : order) {
        Member& member = universe.members[one];
        if (member.copied) continue;
        member.byzantine = true;
        const bool fits = std::ranges::all_of(universe.choices, [&](const auto& entries) {
            return byzantine_in(universe, entries, {}) <=
                   (entries.size() - 1) / 3 + plan.faults_beyond;
        });
        if (!fits) member.byzantine = false;
    }
}

// A new chain's milliseconds, and in one world of sixteen others. The seed decides, since a draw
// would change what every other world draws after it.
std::uint32_t choose_interval(std::uint64_t seed) {
    static constexpr std::array<std::uint32_t, 5> kOthers{100, 200, 300, 1'000, 5'000};
    return seed % 16 == 5 ? kOthers[seed / 16 % kOthers.size()]
                          : chain::SlotTimes{}.interval_milliseconds;
}

// Of schedules, in turn: few, as each message is sent to all; now and then any size. More than f
// of fewer than four may be all.
std::array<std::size_t, 2> choose_sizes(const Plan& plan, Chance& chance) {
    static constexpr std::array<std::array<std::size_t, 2>, 4> kSizes{
        {{4, 4}, {4, 4}, {4, 7}, {7, 4}}};
    const std::size_t draw = chance.below(200);
    if (draw == 0) return {8 + chance.below(14), 8 + chance.below(14)};
    if (draw < 20 && plan.faults_beyond == 0) return {1 + chance.below(6), 1 + chance.below(6)};
    return kSizes[chance.below(kSizes.size())];
}

}  // namespace

const Member* Universe::owner(const base::crypto::PublicKey& key) const {
    const auto found = std::ranges::find_if(members, [&](const Member& member) {
        return member.signing_key == key ||
               std::ranges::find(member.vote_keys, key) != member.vote_keys.end();
    });
    return found == members.end() ? nullptr : &*found;
}

std::optional<chain::Schedule> Universe::proposal(const chain::BlockId& parent,
                                                  const chain::Schedule& active) const {
    const std::uint64_t draw = mix(first_bytes(parent, 8));
    if (draw % 4 == 0) return std::nullopt;
    const auto& entries = choices[(draw >> 8U) % choices.size()];
    if (entries == active.entries) return std::nullopt;
    return chain::Schedule{active.version + 1, entries};
}

bool Universe::overwhelmed(const std::vector<char>& silent) const {
    return std::ranges::any_of(choices, [&](const auto& entries) {
        return byzantine_in(*this, entries, silent) > (entries.size() - 1) / 3;
    });
}

Universe make_universe(const Plan& plan, Chance& chance) {
    Universe universe;
    universe.times.interval_milliseconds = choose_interval(plan.seed);
    universe.repetitions = static_cast<std::uint32_t>(chance.percent(70) ? 1 : 2);
    universe.period = static_cast<std::uint64_t>(chance.between(6, 24));
    const auto sizes = choose_sizes(plan, chance);
    const std::size_t count = std::max(sizes[0], sizes[1]) + 1;
    for (std::size_t i = 0; i < count; ++i) {
        universe.members.push_back({.name = chain::Name{i + 1},
                                    .signing_key = make_key(3 * i + 1),
                                    .vote_keys = {make_key(3 * i + 2), make_key(3 * i + 3)}});
    }
    std::vector<std::size_t> named;
    for (std::size_t choice = 0; choice < kChoices; ++choice) {
        const std::size_t size = sizes[choice % 2];
        if (choice == 0) {
            for (std::size_t i = 0; i < size; ++i) {
                named.push_back(i);
            }
        } else {
            named = next_members(named, size, count, chance);
        }
        auto& entries = universe.choices.emplace_back();
        for (const std::size_t one : named) {
            const Member& member = universe.members[one];
            const std::size_t key = choice != 0 && chance.percent(15) ? 1 : 0;
            // Not its own in each schedule.
            const bool is_other = choice != 0 && chance.percent(25);
            const auto& signing_key = is_other ? member.vote_keys[1] : member.signing_key;
            entries.push_back({member.name, signing_key, member.vote_keys[key]});
        }
    }
    if (chance.percent(20)) universe.choices.resize(1);  // Nothing ever changes.
    if (plan.faults_beyond == 0 && chance.percent(20)) choose_copied(universe, chance);
    if (plan.faults_beyond > 0 || chance.percent(75)) choose_byzantine(universe, plan, chance);

    chain::BlockHeader header;
    header.height = 1;
    header.producer = universe.choices[0][0].producer;
    header.state_digest.bytes[0] = std::byte{1};
    universe.genesis = chain::make_block({header, {}}, {}, {});
    return universe;
}

namespace {
std::uint64_t signed_value(const base::crypto::PublicKey& key, const chain::VoteData& data) {
    std::uint64_t value = mix(first_bytes(data.block_id, 8) ^ (data.slot << 16U));
    value ^= std::to_integer<std::uint64_t>(key.point[1]) * 0x9E3779B97F4A7C15ULL;
    value = mix(value + static_cast<std::uint64_t>(data.kind) + (data.justify_slot << 32U) +
                data.schedule_version + data.height);
    return value;
}
}  // namespace

base::crypto::Signature sign(const base::crypto::PublicKey& key, const chain::VoteData& data) {
    const std::uint64_t value = signed_value(key, data);
    base::crypto::Signature signature;
    std::memcpy(signature.compact.data(), &value, sizeof value);
    return signature;
}

bool is_signed(const base::crypto::Signature& signature,
               const base::crypto::PublicKey& key,
               const chain::VoteData& data) {
    static constexpr decltype(signature.compact) kZero{};
    const std::uint64_t value = signed_value(key, data);
    const auto& bytes = signature.compact;
    return std::memcmp(bytes.data(), &value, sizeof value) == 0 &&
           std::memcmp(bytes.data() + sizeof value, kZero.data(), bytes.size() - sizeof value) ==
               0 &&
           signature.type == base::crypto::KeyType::k1 && signature.auth_data.empty() &&
           signature.client_json.empty();
}

}  // namespace sim
