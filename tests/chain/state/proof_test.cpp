// Proofs made of what a data directory holds, and checked with the first schedule alone. Each is
// broken in every way that matters; none of these may pass.
#include "base/codec.hpp"
#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <string>

namespace {

using namespace chain::literals;
using chain::Height;

chain::Schedule schedule_of(std::uint32_t version) {
    chain::Schedule schedule{.version = version, .entries = {}};
    chain::ScheduleEntry entry{.producer = "one"_n, .signing_key = {}, .vote_key = {}};
    entry.vote_key.point[1] = static_cast<std::byte>(version);
    schedule.entries.push_back(entry);
    return schedule;
}

// A certificate is good when its signature names the version of the schedule.
base::Result<void> check(const chain::Certificate& certificate, const chain::ScheduleState& state) {
    const bool good =
        certificate.signatures.size() == 1 && certificate.bitmaps.size() == 1 &&
        certificate.signatures[0].compact[1] == state.active->entries[0].vote_key.point[1];
    if (good) return {};
    return base::fail(base::Errc::invalid, "bad signature");
}

chain::Certificate commit(const chain::BlockHeader& header) {
    chain::Certificate certificate;
    certificate.data = {.kind = chain::VoteKind::commit,
                        .schedule_version = header.schedule_version,
                        .slot = header.slot,
                        .height = header.height,
                        .block_id = header.id(),
                        .justify_slot = header.justify.slot};
    certificate.bitmaps = {{std::byte{1}}, {std::byte{1}}};
    certificate.signatures.resize(2);
    certificate.signatures[0].compact[1] = static_cast<std::byte>(header.schedule_version);
    return certificate;
}

// A chain in which each block finds its grandparent final, and some propose schedules.
class Chain {
  public:
    Chain() { append({}, {}); }

    void append(std::optional<chain::Schedule> change, const std::vector<std::string>& contents) {
        chain::BlockHeader header;
        header.height = static_cast<Height>(blocks_.size() + 1);
        header.slot = header.height * 3;
        header.producer = "one"_n;
        header.schedule_version = version_;
        header.schedule_change = std::move(change);
        chain::Witness witness;
        if (header.height > 1) header.previous = blocks_.back()->id;
        if (header.height > 2) {
            const chain::Block& final = *blocks_[header.height - 3];
            header.finalized = {final.header.slot, final.id};
            witness.finalized = commit(final.header);
            proofs_.append(final.id, batch_);
            header.finality_root = proofs_.range().root();
        }
        std::vector<chain::TransactionReceipt> receipts;
        std::vector<chain::TransactionTrace> traces;
        add_contents(contents, receipts, traces, header);
        blocks_.push_back(chain::make_block({header, {}}, receipts, witness));
        chain::append_final(batch_, *blocks_.back(), traces);
        if (witness.finalized) {
            const auto& certified = blocks_[header.height - 3]->header;
            REQUIRE(proofs_.certify(*witness.finalized, certified, storage_, batch_).has_value());
        }
        if (header.schedule_change) proofs_.propose(header);
        flush();
    }
    void grow(int count) {
        for (int i = 0; i < count; ++i) {
            append({}, {"t" + std::to_string(blocks_.size())});
        }
    }
    void set_version(std::uint32_t version) { version_ = version; }
    void flush() {
        const chain::Certificate newest = commit(blocks_.back()->header);
        batch_.put(base::Family::meta,
                   base::to_bytes(base::as_bytes(chain::kMetaFinalCertificate)),
                   chain::pack(newest));
        REQUIRE(storage_.commit(batch_, true).has_value());
        batch_ = {};
        proofs_.begin_batch();
    }
    [[nodiscard]] chain::ProofMaker maker() const { return chain::ProofMaker(storage_); }
    [[nodiscard]] const chain::Block& block(Height height) const { return *blocks_[height - 1]; }
    [[nodiscard]] Height height() const { return static_cast<Height>(blocks_.size()); }
    [[nodiscard]] chain::TransactionId transaction(const std::string& text) const {
        return ids_.at(text);
    }
    support::MemoryStorage& storage() { return storage_; }

  private:
    void add_contents(const std::vector<std::string>& contents,
                      std::vector<chain::TransactionReceipt>& receipts,
                      std::vector<chain::TransactionTrace>& traces,
                      chain::BlockHeader& header) {
        std::vector<chain::Digest> transactions;
        std::vector<chain::Digest> actions;
        for (const std::string& text : contents) {
            chain::SignedTransaction content;
            content.actions.push_back({.account = "token"_n,
                                       .name = "transfer"_n,
                                       .authorization = {},
                                       .data = base::to_bytes(base::as_bytes(text))});
            const auto decoded = chain::make_transaction(content);
            ids_[text] = decoded->id;
            chain::TransactionReceipt& receipt = receipts.emplace_back();
            receipt.transaction = decoded->packed;
            transactions.push_back(receipt.digest());
            chain::TransactionTrace& trace = traces.emplace_back();
            trace.id = decoded->id;
            for (std::uint32_t ordinal = 1; ordinal <= 2; ++ordinal) {
                chain::ActionTrace& action = trace.action_traces.emplace_back();
                action.action_ordinal = ordinal;
                action.receipt.emplace().global_sequence = ++sequence_;
                actions.push_back(action.receipt->digest());
            }
        }
        header.transaction_root = chain::merkle_root(transactions);
        header.action_root = chain::merkle_root(actions);
    }

    support::MemoryStorage storage_;
    base::Batch batch_;
    chain::ProofIndex proofs_{{}, std::nullopt};
    std::vector<chain::BlockPtr> blocks_;
    std::map<std::string, chain::TransactionId> ids_;
    std::uint64_t sequence_ = 0;
    std::uint32_t version_ = 0;
};

std::string refusal(const chain::Proof& proof, const chain::Schedule& trusted = schedule_of(0)) {
    const auto verified = chain::verify(proof, trusted, check);
    REQUIRE_FALSE(verified.has_value());
    return verified.error().detail;
}

}  // namespace

TEST_CASE("every stored block, transaction and action is proven under its certified head") {
    Chain chain;
    chain.grow(40);
    const chain::ProofMaker maker = chain.maker();
    for (Height height = 1; height <= chain.height(); ++height) {
        const auto proof = maker.of_block(height, 0);
        if (height >= chain.height() - 1) {
            // Above what the head calls final: the next ones prove it, the head too.
            CHECK(proof.error().code == base::Errc::would_block);
            continue;
        }
        REQUIRE(proof.has_value());
        CHECK(chain::verify(*proof, schedule_of(0), check).has_value());
        CHECK(chain::unpack<chain::Proof>(chain::pack(*proof), "proof").value() == *proof);
    }
    for (int i = 1; i <= 38; ++i) {
        const auto id = chain.transaction("t" + std::to_string(i));
        const auto transaction = maker.of_transaction(id, 0);
        REQUIRE(transaction.has_value());
        CHECK(chain::verify(*transaction, schedule_of(0), check).has_value());
        const auto action = maker.of_action(id, 2, 0);
        REQUIRE(action.has_value());
        CHECK(action->action->global_sequence == static_cast<std::uint64_t>(2 * i));
        CHECK(chain::verify(*action, schedule_of(0), check).has_value());
        CHECK(chain::unpack<chain::Proof>(chain::pack(*action), "proof").value() == *action);
        CHECK(maker.of_action(id, 3, 0).error().code == base::Errc::not_found);
    }
    CHECK(maker.of_block(99, 0).error().code == base::Errc::not_found);
    CHECK(maker.of_transaction({}, 0).error().code == base::Errc::not_found);
}

TEST_CASE("votes for a block prove what it calls final, and not the block") {
    Chain chain;
    chain.grow(9);
    const chain::BlockHeader& head = chain.block(chain.height()).header;
    const chain::FinalityProof alone{head, chain::active_part(commit(head)), std::nullopt};
    CHECK(chain::check_certified(alone, schedule_of(0), check).has_value());
    chain::Proof proof;
    proof.header = head;
    proof.finality = alone;
    CHECK_THAT(refusal(proof), Catch::Contains("block 10: no path leads there"));
    CHECK_THAT(refusal(proof), Catch::Contains("ask for the proof again"));
    // Nor with a path of its own height.
    chain::Proof other = chain.maker().of_block(8, 0).value();
    CHECK(chain::verify(other, schedule_of(0), check).has_value());
    CHECK(other.finality.certified == head);
    other.header = head;
    CHECK_THAT(refusal(other), Catch::Contains("of another height"));
    // Here a change may be pending: there are votes of two schedules.
    CHECK(chain.maker().certified_alone(head).error().code == base::Errc::would_block);
}

TEST_CASE("more schedules than a proof may hold are followed in parts") {
    constexpr std::uint32_t kSchedules = 1'100;
    Chain chain;
    for (std::uint32_t version = 1; version <= kSchedules; ++version) {
        chain.append(schedule_of(version), {});
        chain.grow(3);
        chain.set_version(version);
    }
    chain.grow(4);
    const chain::ProofMaker maker = chain.maker();
    CHECK_THAT(maker.of_block(2, 0).error().detail,
               Catch::Contains("more than 1024 schedules since version 0: ask for the links in "
                               "parts"));
    chain::Schedule trusted = schedule_of(0);
    std::size_t parts = 0;
    for (auto links = maker.next_links(0); !links->empty();
         links = maker.next_links(trusted.version)) {
        REQUIRE(links.has_value());
        std::size_t bytes = 0;
        std::vector<chain::ScheduleLink> steps;
        for (const chain::Link& link : *links) {
            bytes += chain::pack(link).size();
            steps.push_back(std::get<chain::ScheduleLink>(link));
        }
        CHECK(bytes <= chain::kLinksPartBytes + 10'000);
        const auto last = chain::follow(steps, trusted, check);
        REQUIRE(last.has_value());
        trusted = *last;
        ++parts;
    }
    CHECK(parts > 1);
    CHECK(trusted == schedule_of(kSchedules));
    CHECK(maker.next_links(kSchedules + 1)->empty());
    const auto proof = maker.of_block(2, trusted.version);
    REQUIRE(proof.has_value());
    CHECK(proof->links.empty());
    CHECK(chain::verify(*proof, trusted, check).has_value());
}

TEST_CASE("a proof that was tampered with proves nothing") {
    Chain chain;
    chain.append({}, {"a", "b", "c"});
    chain.grow(9);
    const chain::Proof good = chain.maker().of_transaction(chain.transaction("b"), 0).value();
    REQUIRE(chain::verify(good, schedule_of(0), check).has_value());
    chain::Proof proof = good;
    SECTION("another transaction") {
        proof.transaction = chain.maker().of_transaction(chain.transaction("a"), 0)->transaction;
        CHECK(refusal(proof).find("to its transaction_root") != std::string::npos);
    }
    SECTION("another place") {
        proof.path.index = 0;
        CHECK(refusal(proof).find("to its transaction_root") != std::string::npos);
    }
    SECTION("no receipt") {
        proof.transaction.reset();
        CHECK(refusal(proof).find("receipt is missing") != std::string::npos);
    }
    SECTION("another header") {
        proof.header.transaction_root = {};
        CHECK(refusal(proof).find("finality_root") != std::string::npos);
    }
    SECTION("another height") {
        proof.header.height += 1;
        CHECK(refusal(proof).find("of another height") != std::string::npos);
    }
    SECTION("no path") {
        proof.finality.ancestor.reset();
        CHECK(refusal(proof).find("no path leads there") != std::string::npos);
    }
    SECTION("another certified header") {
        proof.finality.certified.finality_root = {};
        CHECK(refusal(proof).find("certificate is of another block") != std::string::npos);
    }
    SECTION("a NOTARIZE") {
        proof.finality.certificate.data.kind = chain::VoteKind::notarize;
        CHECK(refusal(proof).find("no COMMIT") != std::string::npos);
    }
    SECTION("a forged certificate") {
        proof.finality.certificate.signatures[0].compact[1] = std::byte{9};
        CHECK(refusal(proof) == "bad signature");
    }
    SECTION("another chain's schedule") {
        CHECK(refusal(proof, schedule_of(3)).find("schedule 0, 3 is the one") != std::string::npos);
    }
    SECTION("bytes that are cut off") {
        const base::Bytes packed = chain::pack(good);
        for (std::size_t size = 0; size < packed.size(); size += 7) {
            CHECK_FALSE(chain::unpack<chain::Proof>(base::ByteView(packed).first(size), "proof"));
        }
    }
}

TEST_CASE("the schedules are followed from the first one to that of the certificate") {
    Chain chain;
    chain.grow(5);
    for (std::uint32_t version = 1; version <= 3; ++version) {
        chain.append(schedule_of(version), {});
        chain.grow(6);
        chain.set_version(version);
        chain.grow(6);
    }
    const chain::Proof good = chain.maker().of_block(2, 0).value();
    REQUIRE(good.links.size() == 3);
    CHECK(chain::verify(good, schedule_of(0), check).has_value());
    CHECK(chain::follow(good.links, schedule_of(0), check).value() == schedule_of(3));
    // Who trusts a later schedule needs fewer links.
    const chain::Proof later = chain.maker().of_block(2, 2).value();
    CHECK(later.links.size() == 1);
    CHECK(chain::verify(later, schedule_of(2), check).has_value());
    CHECK(refusal(later).find("it is under schedule 2, 0") != std::string::npos);
    chain::Proof proof = good;
    SECTION("a link is left out") {
        proof.links.erase(proof.links.begin() + 1);
        CHECK(refusal(proof).find("it is under schedule 2, 1") != std::string::npos);
    }
    SECTION("a link proposes nothing") {
        proof.links[0].proposing = chain.block(3).header;
        proof.links[0].finality.ancestor =
            chain.maker().path_of(3, proof.links[0].finality.certified).value();
        CHECK(refusal(proof).find("does not propose schedule 1") != std::string::npos);
    }
    SECTION("a link is certified and no more") {
        // By the height of its own votes it may be under two schedules, and on no final branch.
        const chain::BlockHeader proposing = proof.links[0].proposing;
        proof.links[0].finality = {proposing, chain::active_part(commit(proposing)), std::nullopt};
        CHECK(refusal(proof).find("no path leads there") != std::string::npos);
    }
    SECTION("the new schedule vouches for itself") {
        const chain::BlockHeader& head = chain.block(chain.height()).header;
        proof.links[0].finality.certificate = chain::active_part(commit(head));
        proof.links[0].finality.certified = head;
        CHECK(refusal(proof).find("it is under schedule 3, 0") != std::string::npos);
    }
}

TEST_CASE("what a data directory never had is said, not guessed") {
    Chain chain;
    chain.grow(9);
    base::Batch batch;
    batch.erase(base::Family::index,
                base::to_bytes(base::as_bytes(std::string("n\0\0\0\0\0\0\0\0\2", 10))));
    REQUIRE(chain.storage().commit(batch, true).has_value());
    const auto proof = chain.maker().of_block(4, 0);
    CHECK(proof.error().code == base::Errc::not_found);
    CHECK(proof.error().detail.find("begins later") != std::string::npos);
    CHECK(chain.maker().of_block(1, 0).has_value());
    CHECK(chain.maker().links(0, 1).error().code == base::Errc::not_found);
}
