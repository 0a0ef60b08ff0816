#include "cli/proof.hpp"

#include "cli/files.hpp"
#include "tests/genesis/recovery_fixture.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

// How the schedules are followed for a proof, from the links in its file: votes, then a recovery,
// then votes again.

using namespace cli;

namespace {

using base::crypto::PrivateKey;
using Catch::Matchers::Contains;
using genesis::test::key_of;

// That this header is final, by the votes of those with these keys.
chain::FinalityProof final_by(const chain::BlockHeader& header,
                              const std::vector<PrivateKey>& keys,
                              const chain::ChainId& chain_id) {
    const std::vector<base::Hash256> ids{header.id()};
    chain::BlockHeader above;
    above.height = header.height + 1;
    above.slot = header.slot + 1;
    above.schedule_version = header.schedule_version;
    above.finalized = {header.slot, ids[0]};
    above.finality_root = chain::merkle_root(ids);
    chain::Certificate certificate;
    certificate.data = {.kind = chain::VoteKind::commit,
                        .schedule_version = above.schedule_version,
                        .slot = above.slot,
                        .height = above.height,
                        .block_id = above.id(),
                        .justify_slot = 0};
    certificate.bitmaps = {{static_cast<std::byte>((1U << keys.size()) - 1)}};
    for (const PrivateKey& key : keys)
        certificate.signatures.push_back(key.sign(certificate.data.digest(chain_id)));
    return {above, certificate, chain::merkle_proof(ids, 0)};
}

// Of height 1, so that the path is short.
chain::BlockHeader header_under(std::uint32_t version, chain::Slot slot) {
    chain::BlockHeader header;
    header.height = 1;
    header.slot = slot;
    header.schedule_version = version;
    return header;
}

struct Chain {
    genesis::Genesis genesis = genesis::test::chain_of_four();
    chain::ChainId id = genesis.chain_id();
    std::vector<PrivateKey> all{key_of(1), key_of(2), key_of(3), key_of(4)};
    chain::ScheduleLink first = link(genesis.schedule, 2, all);
    genesis::Recovery recovery = recover(*first.proposing.schedule_change);
    chain::ScheduleLink last = link(recovery.reset.schedule, 12, {key_of(50)});

    // To a schedule with another number, of the same validators.
    [[nodiscard]] chain::ScheduleLink link(const chain::Schedule& from,
                                           chain::Slot slot,
                                           const std::vector<PrivateKey>& keys) const {
        chain::BlockHeader header = header_under(from.version, slot);
        header.schedule_change = from;
        header.schedule_change->version += 1;
        return {header, final_by(header, keys, id)};
    }
    [[nodiscard]] static chain::BlockHeader origin() { return header_under(1, 8); }
    void sign(genesis::Recovery& made) const {
        for (const genesis::Member& member : genesis.members)
            made.members.push_back({member.name, member.authority});
        for (const PrivateKey& key : all)
            made.signatures.push_back(key.sign(made.id()));
    }
    [[nodiscard]] genesis::Recovery recover(const chain::Schedule& replaced) const {
        genesis::Recovery made;
        made.chain_id = id;
        made.reset.from = origin().id();
        made.reset.gives_up_final = true;
        const auto key = key_of(50).public_key();
        made.reset.schedule.entries = {{*chain::Name::from_string("ma"), key, key}};
        made.replaced = {replaced};
        made.reset.schedule.version =
            genesis::version_after(made.replaced, made.reset.schedule.entries);
        sign(made);
        return made;
    }
    // That sets the time back alone.
    [[nodiscard]] genesis::Recovery retime() const {
        genesis::Recovery made;
        made.chain_id = id;
        made.reset.from = last.proposing.id();
        made.retimes = {{made.reset.from, 20, {1'700'000'100'000'000}}};
        sign(made);
        return made;
    }
    // As 'proof get' writes it.
    [[nodiscard]] Json file() const {
        const chain::RecoveryLink step{origin(), *genesis::reset_of(recovery)};
        chain::Proof proof;
        proof.header = header_under(last.proposing.schedule_change->version, 16);
        proof.finality = final_by(proof.header, {key_of(50)}, id);
        return Json{{"links",
                     Json::array({base::to_hex(chain::pack(first)),
                                  Json{{"recovery", base::to_hex(chain::pack(step))}},
                                  base::to_hex(chain::pack(last))})},
                    {"proof", base::to_hex(chain::pack(proof))}};
    }
};

std::string name_of(const genesis::Recovery& recovery) {
    return base::to_hex(recovery.id().view());
}

base::Result<genesis::Trust> trust_by(const Chain& chain, const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t i = 0; i + 1 < words.size(); i += 2)
        arguments.options.emplace(words[i].substr(2), words[i + 1]);
    return trust_of(chain.genesis, arguments);
}

base::Result<Followed> follow_by(const Chain& chain, const std::vector<std::string>& words) {
    const auto trust = trust_by(chain, words);
    if (!trust) return base::fail(trust.error());
    return follow_links(chain.file(), *trust);
}

}  // namespace

TEST_CASE("a proof leads over a recovery for who confirms it, and names it to others") {
    const Chain chain;
    const std::string name = name_of(chain.recovery);
    const auto followed = follow_by(chain, {"--recover-from", name});
    if (!followed) FAIL(followed.error().detail);
    CHECK(followed->schedule() == *chain.last.proposing.schedule_change);
    CHECK(followed->links == chain.file().at("links"));
    CHECK(followed->walk.check_complete().has_value());
    CHECK(how_to_check("FILE", *followed) ==
          "bor-cli proof verify FILE --genesis GENESIS --recover-from " + name);
    const auto proof = unpack_member<chain::Proof>(chain.file(), "proof");
    REQUIRE(proof.has_value());
    CHECK(chain::verify(*proof, followed->schedule(), certificate_check(chain.id)).has_value());

    const auto refused = follow_by(chain, {});
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().detail,
               Contains("the proof does not hold: link of recovery " + name));
    CHECK_THAT(refused.error().detail, Contains("recover-from = " + name));
    CHECK_THAT(refused.error().detail, Contains("(--recover-from on a command line)"));
}

TEST_CASE("the link of a recovery is refused that is no packed text, or leads on from elsewhere") {
    const Chain chain;
    const auto trust = trust_by(chain, {"--recover-from", name_of(chain.recovery)});
    REQUIRE(trust.has_value());
    const auto refusal = [&](Json links) {
        const auto followed = follow_links(Json{{"links", std::move(links)}}, *trust);
        REQUIRE_FALSE(followed.has_value());
        return followed.error().detail;
    };
    const Json links = chain.file().at("links");
    CHECK_THAT(refusal(Json::array({Json{{"recovery", 7}}})),
               Contains("link from schedule 0: there is no member recovery"));
    CHECK_THAT(refusal(Json::array({Json{{"recovery", "00"}}})),
               Contains("link from schedule 0: slot at offset 0"));
    CHECK_THAT(refusal(Json::array({links.at(1)})), Contains("it does not begin under schedule 0"));
    CHECK_THAT(refusal(Json::array({links.at(0), links.at(2)})), Contains("link from schedule 1"));
}

TEST_CASE("a recovery that set the time back is no link: who names it gives its file") {
    const Chain chain;
    const TemporaryDirectory directory;
    const std::string file = directory / "retime";
    const genesis::Recovery retime = chain.retime();
    REQUIRE(write_file(file, genesis::to_text(retime)).has_value());
    std::vector<std::string> words{
        "--recover-from", name_of(chain.recovery), "--recover-from", name_of(retime)};
    const auto without = follow_by(chain, words);
    REQUIRE(without.has_value());
    const auto whole = without->walk.check_complete();
    REQUIRE_FALSE(whole.has_value());
    CHECK_THAT(whole.error().detail, Contains("recovery " + name_of(retime)));
    CHECK_THAT(whole.error().detail, Contains("--recovery FILE"));
    // Of the other, which is a link, a file may be given, too.
    const std::string other = directory / "schedule";
    REQUIRE(write_file(other, genesis::to_text(chain.recovery)).has_value());
    words.insert(words.end(), {"--recovery", other, "--recovery", file});
    const auto followed = follow_by(chain, words);
    if (!followed) FAIL(followed.error().detail);
    CHECK(followed->walk.check_complete().has_value());
    CHECK(followed->walk.trust().retimes == retime.retimes);

    const auto refusal = [&](const std::vector<std::string>& each) {
        const auto trust = trust_by(chain, each);
        REQUIRE_FALSE(trust.has_value());
        return trust.error().detail;
    };
    CHECK_THAT(refusal({"--recovery", file}), Contains("needs --recover-from ID"));
    CHECK_THAT(refusal({"--recovery", file, "--recover-from", name_of(chain.recovery)}),
               Contains("which 'recover-from' does not name"));
    CHECK_THAT(refusal({"--recover-from", "xyz"}), Contains("recover-from = xyz"));
}

TEST_CASE("two final blocks of a height under two schedules part by a recovery") {
    const auto same = version_at_fork(header_under(7, 20), header_under(7, 21));
    CHECK(same.value() == 7);
    const auto parted = version_at_fork(header_under(7, 20), header_under(1'070, 21));
    REQUIRE_FALSE(parted.has_value());
    CHECK_THAT(parted.error().detail, Contains("block 1 is under schedule 7 at the first node"));
    CHECK_THAT(parted.error().detail, Contains("they part by a recovery"));
}
