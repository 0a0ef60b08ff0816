#include "wallet/validator_journals.hpp"

#include "scratch.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace wallet {
namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;
using chain::VoteKind;

base::Hash256 block(std::uint8_t number) {
    base::Hash256 id;
    id.bytes[0] = std::byte{number};
    return id;
}

chain::BlockHeader header(chain::Slot slot) {
    chain::BlockHeader made;
    made.slot = slot;
    return made;
}

chain::VoteData vote(VoteKind kind, chain::Slot slot, chain::Slot justify, std::uint8_t id) {
    chain::VoteData made;
    made.kind = kind;
    made.slot = slot;
    made.block_id = block(id);
    made.justify_slot = justify;
    return made;
}
chain::VoteData notarize(chain::Slot slot, chain::Slot justify) {
    return vote(VoteKind::notarize, slot, justify, static_cast<std::uint8_t>(slot));
}
chain::VoteData commit(chain::Slot slot) {
    return vote(VoteKind::commit, slot, slot - 1, static_cast<std::uint8_t>(slot));
}

struct Fixture {
    tests::Scratch scratch;
    PublicKey key = PrivateKey::generate(KeyType::k1).public_key();
    std::unique_ptr<ValidatorJournals> journals =
        std::make_unique<ValidatorJournals>(scratch.path());

    Fixture() { REQUIRE(journals->create(key)); }
    void restart() {
        journals.reset();
        journals = std::make_unique<ValidatorJournals>(scratch.path());
    }
    [[nodiscard]] std::string refusal(const chain::VoteData& data) const {
        const auto allowed = journals->allow_vote(key, data);
        return allowed ? "" : allowed.error().detail;
    }
};

TEST_CASE("a validator's key has one journal, which is never made anew") {
    Fixture fixture;
    CHECK(fixture.journals->has(fixture.key));
    CHECK_FALSE(fixture.journals->has(PrivateKey::generate(KeyType::k1).public_key()));
    CHECK_FALSE(fixture.journals->create(fixture.key));
    fixture.restart();
    CHECK(fixture.journals->has(fixture.key));
    CHECK_FALSE(fixture.journals->create(fixture.key));
}

// As when the disk has room for the old file to grow, and not for a new one.
TEST_CASE("a journal that cannot be compacted for a while goes on, also after a restart") {
    Fixture fixture;
    const std::string next =
        fixture.scratch.path() + "/" + fixture.key.to_string() + ".journal.next";
    std::filesystem::create_directory(next);
    chain::Slot slot = 0;
    for (; slot < 1'030; ++slot)
        REQUIRE(fixture.refusal(notarize(slot + 1, slot)) == "");
    CHECK_FALSE(fixture.refusal(notarize(slot, slot - 1)).empty());
    if (GENERATE(false, true)) fixture.restart();
    CHECK(fixture.refusal(notarize(2'000, 1'999)) == "");
    std::filesystem::remove(next);
    CHECK(fixture.refusal(notarize(2'001, 2'000)) == "");
    fixture.restart();
    CHECK(fixture.refusal(notarize(2'002, 2'001)) == "");
}

TEST_CASE("one header for a slot, also after a restart") {
    Fixture fixture;
    CHECK(fixture.journals->allow_header(fixture.key, header(7)));
    CHECK_FALSE(fixture.journals->allow_header(fixture.key, header(7)));
    CHECK_FALSE(fixture.journals->allow_header(fixture.key, header(6)));
    fixture.restart();
    CHECK_FALSE(fixture.journals->allow_header(fixture.key, header(7)));
    CHECK(fixture.journals->allow_header(fixture.key, header(8)));
}

TEST_CASE("NOTARIZE goes upwards and respects the lock") {
    Fixture fixture;
    CHECK(fixture.refusal(notarize(5, 4)).empty());
    CHECK(fixture.refusal(notarize(5, 4)).find("slot 5 already") != std::string::npos);
    CHECK(fixture.refusal(commit(5)).empty());
    fixture.restart();
    CHECK(fixture.refusal(notarize(4, 3)).find("slot 5 already") != std::string::npos);
    // Another block of the slot, and one that does not build on the lock.
    CHECK_FALSE(fixture.refusal(vote(VoteKind::notarize, 5, 4, 99)).empty());
    CHECK(fixture.refusal(notarize(6, 4)).find("locked on slot 5") != std::string::npos);
    CHECK(fixture.refusal(notarize(6, 5)).empty());
}

TEST_CASE("COMMIT goes upwards and respects past votes") {
    Fixture fixture;
    CHECK(fixture.refusal(notarize(9, 3)).empty());
    // The block of slot 9 skipped 3 to 9: a COMMIT there may be of another branch.
    CHECK(fixture.refusal(commit(5)).find("may conflict") != std::string::npos);
    CHECK(fixture.refusal(commit(3)).empty());
    CHECK(fixture.refusal(commit(3)).find("locked on slot 3") != std::string::npos);
    CHECK(fixture.refusal(commit(9)).empty());
    fixture.restart();
    CHECK(fixture.refusal(commit(9)).find("locked on slot 9") != std::string::npos);
    CHECK(fixture.refusal(vote(VoteKind::commit, 9, 8, 99)).find("locked") != std::string::npos);
    CHECK(fixture.refusal(commit(10)).empty());
}

// The block of a lock is lost with all who had it: its node votes on below it, where its operator
// says so. The journal goes on to keep what was signed from being signed again.
TEST_CASE("a lock that is given up binds no more, and all else does") {
    Fixture fixture;
    REQUIRE(fixture.journals->allow_header(fixture.key, header(9)));
    REQUIRE(fixture.refusal(notarize(5, 4)).empty());
    REQUIRE(fixture.refusal(commit(5)).empty());
    REQUIRE(fixture.refusal(notarize(9, 5)).empty());
    const auto is_locked = [&] {
        return fixture.refusal(notarize(10, 3)).find("locked on slot 5") != std::string::npos;
    };
    CHECK(is_locked());
    fixture.restart();
    CHECK(is_locked());
    const auto given_up = fixture.journals->give_up_lock(fixture.key);
    REQUIRE(given_up.has_value());
    CHECK(given_up->lock_slot == 5);
    CHECK(given_up->lock == block(5));
    CHECK(given_up->up_to == 9);
    SECTION("at once") {}
    SECTION("after a restart") {
        fixture.restart();
    }
    SECTION("after a restart that found a torn page") {
        const std::string file = fixture.key.to_string() + ".journal";
        std::string bytes = fixture.scratch.read(file);
        const std::size_t blocks = bytes.find_last_not_of('\0') / 4096 + 1;
        bytes[blocks * 4096 + 7] = 'x';
        fixture.restart();
        fixture.scratch.write(file, bytes);
    }
    CHECK_FALSE(fixture.journals->allow_header(fixture.key, header(9)));
    // Neither for the slot of the last vote nor below, whatever they build on.
    CHECK(fixture.refusal(notarize(9, 5)).find("slot 9 already") != std::string::npos);
    CHECK(fixture.refusal(notarize(9, 8)).find("slot 9 already") != std::string::npos);
    for (const chain::Slot slot : {4U, 5U, 6U, 9U}) {
        CHECK(fixture.refusal(commit(slot)).find("up to slot 9 is forgotten") != std::string::npos);
    }
    CHECK(fixture.refusal(notarize(10, 3)).empty());
    CHECK(fixture.refusal(commit(10)).empty());
    CHECK(fixture.refusal(notarize(11, 3)).find("locked on slot 10") != std::string::npos);
    CHECK(fixture.refusal(notarize(11, 10)).empty());
}

TEST_CASE("a lock above the last vote binds up to its own slot when it is given up") {
    Fixture fixture;
    REQUIRE(fixture.refusal(notarize(5, 4)).empty());
    REQUIRE(fixture.refusal(commit(8)).empty());
    REQUIRE(fixture.journals->give_up_lock(fixture.key)->up_to == 8);
    CHECK_FALSE(fixture.refusal(notarize(8, 7)).empty());
    CHECK_FALSE(fixture.refusal(commit(8)).empty());
    CHECK(fixture.refusal(notarize(9, 3)).empty());
}

TEST_CASE("only a lock that there is can be given up, by a key that still signs") {
    Fixture fixture;
    const auto refusal = [&](const PublicKey& key) {
        const auto given_up = fixture.journals->give_up_lock(key);
        return given_up ? "" : given_up.error().detail;
    };
    const PublicKey other = PrivateKey::generate(KeyType::k1).public_key();
    CHECK(refusal(other).find(other.to_string() + " has no safety journal here") == 0);
    CHECK(refusal(fixture.key).find("locked on nothing") != std::string::npos);
    REQUIRE(fixture.refusal(commit(5)).empty());
    CHECK(refusal(fixture.key).empty());
    CHECK(refusal(fixture.key).find("locked on nothing") != std::string::npos);
    REQUIRE(fixture.refusal(commit(6)).empty());
    REQUIRE(fixture.journals->stop(fixture.key));
    CHECK(refusal(fixture.key).find("has answered a recovery") != std::string::npos);
    CHECK_FALSE(fixture.refusal(notarize(9, 6)).empty());
}

TEST_CASE("a long life keeps the journal small") {
    Fixture fixture;
    for (chain::Slot slot = 1; slot < 600; ++slot) {
        REQUIRE(fixture.journals->allow_header(fixture.key, header(slot)));
        REQUIRE(fixture.refusal(notarize(slot, slot - 1)).empty());
        REQUIRE(fixture.refusal(commit(slot)).empty());
    }
    for (const auto& entry : std::filesystem::directory_iterator(fixture.scratch.path())) {
        CHECK(entry.file_size() < std::uintmax_t{8} << 20U);
    }
    fixture.restart();
    CHECK_FALSE(fixture.journals->allow_header(fixture.key, header(599)));
    CHECK_FALSE(fixture.refusal(notarize(599, 598)).empty());
    CHECK_FALSE(fixture.refusal(commit(599)).empty());
    CHECK(fixture.refusal(notarize(600, 599)).empty());
}

TEST_CASE("without its journal, or with another's, a key promises nothing") {
    Fixture fixture;
    const PublicKey other = PrivateKey::generate(KeyType::k1).public_key();
    CHECK_FALSE(fixture.journals->allow_vote(other, notarize(5, 4)));
    REQUIRE(fixture.journals->create(other));
    const auto path = [&](const PublicKey& key) {
        return fixture.scratch.file(key.to_string() + ".journal");
    };
    std::filesystem::copy_file(
        path(fixture.key), path(other), std::filesystem::copy_options::overwrite_existing);
    CHECK_FALSE(fixture.journals->allow_vote(other, notarize(5, 4)));
    fixture.scratch.write(fixture.key.to_string() + ".journal", "damaged");
    CHECK_FALSE(fixture.refusal(notarize(5, 4)).empty());
}

}  // namespace
}  // namespace wallet
