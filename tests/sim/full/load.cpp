#include "tests/sim/full/load.hpp"

#include "tests/sim/full/fleet.hpp"

#include <algorithm>
#include <string>

// What a fleet is given to do: new accounts all the time, and the politics of its members, who
// register as producers, take that back, rotate keys, weigh and vote.

namespace sim::full {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Of ten things that a member may do.
constexpr std::size_t kGoes = 2;
constexpr std::size_t kWeighs = 4;

chain::Name name_of(const std::string& text) {
    return *chain::Name::from_string(text);
}

}  // namespace

chain::Name account_name(std::string_view letters, std::uint64_t number) {
    std::string name(letters);
    for (std::uint64_t rest = number; rest != 0; rest /= 26)
        name += static_cast<char>('a' + rest % 26);
    return name_of(name);
}

base::Bytes packed_account(chain::Name creator, chain::Name name) {
    const chain::Authority authority =
        chain::Authority::of_key(signing_key(kAccountsKey).public_key());
    base::Writer data;
    chain::encode(data, creator);
    chain::encode(data, name);
    chain::encode(data, authority);
    chain::encode(data, authority);
    return data.take();
}

base::Bytes packed_producer(chain::Name name, const base::crypto::PublicKey& key) {
    base::Writer data;
    chain::encode(data, name);
    chain::encode(data, key);
    data.string("");
    data.u16(0);
    return data.take();
}

base::Bytes packed_votes(chain::Name voter, const std::vector<chain::Name>& chosen) {
    base::Writer data;
    chain::encode(data, voter);
    chain::encode(data, chain::Name{});
    data.varuint32(static_cast<std::uint32_t>(chosen.size()));
    for (const chain::Name each : chosen)
        chain::encode(data, each);
    return data.take();
}

void Fleet::push(std::size_t i, std::size_t member, chain::Action action) {
    const Machine& machine = *machines_[i];
    if (!machine.runs() || machine.view == nullptr) return;
    ++submitted_;
    const chain::Block& final = *machine.view->finalized;
    const auto now = chain::TimePoint::from_timestamp(now_ + ahead_).microseconds / 1'000'000;
    chain::SignedTransaction content;
    content.expiration = {static_cast<std::uint32_t>(now + chance_.between(3, 60))};
    content.ref_block_num = static_cast<std::uint16_t>(final.header.height);
    content.ref_block_prefix = chain::ref_block_prefix_of(final.id);
    content.actions = {std::move(action)};
    const base::crypto::PrivateKey key = signing_key(member);
    content.signatures = {key.sign(content.signing_digest(world_.genesis.chain_id(), {}))};
    const auto transaction = chain::make_transaction(content);
    expirations_.emplace(transaction->id, content.expiration);
    later(i, microseconds(100), node::input::Submit{submitted_, transaction, {key.public_key()}});
}

chain::Action Fleet::action_of(std::size_t member, const char* name, base::Bytes data) {
    return action_of(world_.genesis.members[member].name, name, std::move(data));
}

chain::Action Fleet::action_of(chain::Name actor, const char* name, base::Bytes data) {
    chain::Action action;
    action.account = name_of("eosio");
    action.name = name_of(name);
    action.authorization = {{actor, name_of("active")}};
    action.data = std::move(data);
    return action;
}

void Fleet::submit() {
    at(milliseconds(chance_.between(20, 400)), [this] { submit(); });
    const std::size_t i = chance_.below(machines_.size());
    const std::size_t member = world_.member_of(i);
    push(i,
         member,
         action_of(member,
                   "newaccount",
                   packed_account(world_.genesis.members[member].name,
                                  account_name("acc", submitted_ + 1))));
}

void Fleet::submit_politics() {
    const std::size_t i = chance_.below(machines_.size());
    // First everybody registers, then they vote, and then anything.
    const bool is_early = slot() < 12;
    for (std::size_t member = 0; is_early && member < world_.members; ++member) {
        push(i, member, choose_politics(member));
    }
    if (!is_early) {
        const std::size_t member = chance_.below(world_.members);
        push(i, member, choose_politics(member));
    }
    at(milliseconds(chance_.between(200, 1'500)), [this] { submit_politics(); });
}

chain::Action Fleet::choose_politics(std::size_t member) {
    const chain::Name name = world_.genesis.members[member].name;
    std::size_t choice = slot() < 7 ? 0 : slot() < 12 ? 9 : chance_.below(10);
    if (world_.elects_itself && (choice == kGoes || choice == kWeighs)) choice = 9;
    base::Writer data;
    if (choice < 2) {
        const std::size_t which = slot() < 7 ? 0 : chance_.below(2);
        const auto key = signing_key(member, machines_[member]->first_key() + which);
        return action_of(member, "regproducer", packed_producer(name, key.public_key()));
    }
    if (choice == kGoes) {
        chain::encode(data, name);
        return action_of(member, "unregprod", data.take());
    }
    if (choice == 3) {
        chain::encode(data, name);
        const std::size_t which = machines_[member]->first_key() + chance_.below(2);
        chain::encode(data, signing_key(member, which).public_key());
        return action_of(member, "setvotekey", data.take());
    }
    if (choice == kWeighs) {  // Of another; the system's authority is the first member's.
        chain::encode(data, world_.genesis.members[chance_.below(world_.members)].name);
        data.u64(chance_.below(4));
        chain::Action action = action_of(0, "setweight", data.take());
        action.authorization = {{name_of("eosio"), name_of("active")}};
        return action;
    }
    std::vector<chain::Name> chosen;
    for (const genesis::Member& other : world_.genesis.members) {
        if (chance_.percent(75) || world_.elects_itself) chosen.push_back(other.name);
    }
    return action_of(member, "voteproducer", packed_votes(name, chosen));
}

void Fleet::report(std::size_t i, const chain::Evidence& evidence) {
    base::Writer packed;
    chain::encode(packed, evidence);
    base::Writer data;
    data.bytes(packed.view());
    push(i, world_.member_of(i), action_of(world_.member_of(i), "reportbad", data.take()));
}

void Fleet::report_falsely(const chain::Evidence& evidence) {
    report(world_.byzantine.front(), evidence);
}

}  // namespace sim::full
