// Who signs a recovery: the members in the state of the block that it begins from, with the keys
// that they have there, whatever the genesis file says.
#include "chain/execution/rows.hpp"
#include "chain/state/views.hpp"
#include "node/core/core.hpp"
#include "node/core/recovery_origin.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;

genesis::Genesis chain_of_three() {
    genesis::Genesis genesis;
    genesis.times = {.initial = {1'700'000'000'000'000}, .interval_milliseconds = 500};
    for (const std::string name : {"ma", "mb", "mc"}) {
        const auto key = PrivateKey::generate(KeyType::k1).public_key();
        const auto member = *chain::Name::from_string(name);
        genesis.members.push_back({member, chain::Authority::of_key(key), 1});
        genesis.schedule.entries.push_back({member, key, key});
    }
    genesis.system_authority = genesis::members_authority(genesis.members);
    return genesis;
}

std::string refusal(const genesis::Recovery& recovery, const chain::StateView& state) {
    const auto outcome = node::check_origin(recovery, state);
    REQUIRE_FALSE(outcome.has_value());
    return outcome.error().detail;
}

}  // namespace

TEST_CASE("a recovery names the members of the state that it begins from") {
    const genesis::Genesis genesis = chain_of_three();
    auto storage = std::make_shared<support::MemoryStorage>();
    REQUIRE(storage->commit(*node::Core::first_batch(genesis), true).has_value());
    const chain::StoredView state(storage, [](const base::Error& error) { FAIL(error.detail); });
    genesis::Recovery recovery;
    for (const genesis::Member& member : genesis.members)
        recovery.members.push_back({member.name, member.authority});
    const auto key = PrivateKey::generate(KeyType::k1).public_key();
    recovery.reset.schedule = {9, {{*chain::Name::from_string("ma"), key, key}}};
    recovery.replaced = {genesis.schedule};
    CHECK(node::check_origin(recovery, state).has_value());
    SECTION("one is missing") {
        recovery.members.pop_back();
        CHECK_THAT(refusal(recovery, state), Catch::Contains("does not name the member mc"));
    }
    SECTION("one is none") {
        recovery.members.push_back({*chain::Name::from_string("md"), {}});
        CHECK_THAT(refusal(recovery, state), Catch::Contains("is no member"));
    }
    SECTION("one has another key by now") {
        recovery.members[1].authority = chain::Authority::of_key(key);
        CHECK_THAT(refusal(recovery, state), Catch::Contains("another authority of mb"));
    }
    SECTION("it replaces another schedule") {
        recovery.replaced[0].version = 7;
        CHECK_THAT(refusal(recovery, state), Catch::Contains("replaces another schedule"));
    }
}
