// Who signs a recovery: the members in the state of the block that it begins from, with the keys
// that they have there, whatever the genesis file says. And which one a node goes on by.
#include "node/recovery.hpp"

#include "chain/execution/rows.hpp"
#include "chain/state/proof_store.hpp"
#include "chain/state/views.hpp"
#include "node/core/core.hpp"
#include "node/core/recovery_origin.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <unistd.h>

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

TEST_CASE("a node goes on by the last recovery that recover-from names, and needs its file") {
    const PrivateKey key = PrivateKey::generate(KeyType::k1);
    const chain::ChainId chain_id{{std::byte{3}}};
    const auto make = [&](chain::Slot first) {
        genesis::Recovery recovery;
        recovery.chain_id = chain_id;
        recovery.reset.from.bytes[3] = std::byte{9};
        recovery.retimes = {{recovery.reset.from, first, {1'800'000'000'000'000}}};
        recovery.members = {
            {*chain::Name::from_string("ma"), chain::Authority::of_key(key.public_key())}};
        recovery.signatures = {key.sign(recovery.id())};
        return recovery;
    };
    const genesis::Recovery first = make(50);
    const genesis::Recovery last = make(60);
    const auto name = [](const genesis::Recovery& each) { return base::to_hex(each.id().view()); };
    namespace fs = std::filesystem;
    node::Options options;
    options.data_dir = fs::temp_directory_path() / ("bor-recovery-" + std::to_string(::getpid()));
    fs::create_directories(options.data_dir);
    const auto read = [&](const genesis::Recovery& in_file) {
        std::ofstream(options.data_dir / genesis::kRecoveryFile, std::ios::trunc)
            << genesis::to_text(in_file);
        return node::read_recovery(options, chain_id);
    };
    CHECK(node::read_recovery(options, chain_id).value() == std::nullopt);
    options.recover_from = {name(first), name(last)};
    CHECK(node::confirmed_recoveries(options).value() == std::vector{first.id(), last.id()});
    const auto good = read(last);
    if (!good) FAIL(good.error().detail);
    CHECK(*good == last);
    CHECK_FALSE(node::reset_of(*good).has_value());
    const auto earlier = read(first);
    REQUIRE_FALSE(earlier.has_value());
    CHECK_THAT(earlier.error().detail, Catch::Contains("recover-from = " + name(last)));
    CHECK_THAT(earlier.error().detail, Catch::Contains("put the file of the last there"));
    options.recover_from = {name(first), "xyz"};
    CHECK_THAT(node::confirmed_recoveries(options).error().detail,
               Catch::Contains("recover-from = xyz"));
    fs::remove_all(options.data_dir);
}

TEST_CASE("the newest recovery is the confirmed one, or a stored one that begins above it") {
    const auto header_of = [](chain::Height height) {
        chain::BlockHeader header;
        header.height = height;
        return header;
    };
    const auto recovery_from = [&](chain::Height height) {
        genesis::Recovery recovery;
        recovery.reset.from = header_of(height).id();
        const auto key = PrivateKey::generate(KeyType::k1).public_key();
        recovery.reset.schedule = {100 + height, {{*chain::Name::from_string("ma"), key, key}}};
        return recovery;
    };
    const auto point = [](const genesis::Recovery& each) {
        return p2p::RecoveryPoint{each.id(), each.reset.from};
    };
    support::MemoryStorage storage;
    const auto store = [&](const genesis::Recovery& each, base::Bytes record) {
        chain::RecoveryLink link;
        link.from = header_of(chain::height_of(each.reset.from));
        link.reset = *genesis::reset_of(each);
        link.reset.record = std::move(record);
        base::Batch batch;
        chain::append_link(batch, link);
        REQUIRE(storage.commit(batch, true).has_value());
    };
    const auto newest = [&](const std::optional<genesis::Recovery>& confirmed) {
        return node::newest_recovery(confirmed, storage);
    };
    CHECK(newest(std::nullopt).value() == p2p::RecoveryPoint{});
    const genesis::Recovery low = recovery_from(9);
    CHECK(newest(low).value() == point(low));
    const genesis::Recovery middle = recovery_from(20);
    store(middle, genesis::reset_of(middle)->record);
    CHECK(newest(std::nullopt).value() == point(middle));
    CHECK(newest(low).value() == point(middle));
    CHECK(newest(middle).value() == point(middle));
    const genesis::Recovery high = recovery_from(30);
    CHECK(newest(high).value() == point(high));
    store(recovery_from(25), {std::byte{'x'}});
    CHECK(newest(low).error().code == base::Errc::corrupt);
    CHECK(newest(high).value() == point(high));
}
