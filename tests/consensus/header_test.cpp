#include "tests/consensus/fixture.hpp"
#include "tests/sim/consensus/early_blocks.hpp"

// Which headers may be adopted (spec 04, "Blocks and their validity").

namespace input = consensus::input;
using test::kCommit;
using test::kNotarize;
using test::schedule_of;
using test::Validator;
using Fate = consensus::HeaderVerdict::Fate;

namespace {

// A copy with another header.
template <class Change>
chain::BlockPtr changed(const chain::BlockPtr& block, Change change) {
    chain::BlockHeader header = block->header;
    change(header);
    return chain::make_block({header, {}}, {}, block->witness);
}

template <class Change>
chain::BlockPtr with_witness(const chain::BlockPtr& block, Change change) {
    chain::Witness witness = block->witness;
    change(witness);
    return chain::make_block({block->header, {}}, {}, witness);
}

}  // namespace

TEST_CASE("a header must follow from its parent's", "[consensus][header]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    v.adopt(a);
    v.adopt(b);
    const auto good = v.block(4, b, {.justify = b, .finalized = a});
    const auto fate = [&](const chain::BlockPtr& block) { return v->check(v.at(4), *block); };
    REQUIRE(fate(good).fate == Fate::good);
    CHECK(fate(good).certificates.size() == 2);
    const auto refused = [&](auto change) {
        const auto verdict = fate(changed(good, change));
        CHECK_FALSE(verdict.reason.empty());
        return verdict.fate == Fate::invalid;
    };
    CHECK(refused([](auto& header) { header.height = 9; }));
    CHECK(refused([](auto& header) { header.slot = 3; }));
    CHECK(refused([](auto& header) { header.schedule_version = 1; }));
    CHECK(refused([](auto& header) { header.producer = chain::Name{2}; }));
    CHECK(refused([](auto& header) { header.slot = 5; }));  // Another's slot.
    CHECK(refused([](auto& header) { header.justify.id.bytes[9] ^= std::byte{1}; }));
    CHECK(refused([](auto& header) { header.finalized.id.bytes[9] ^= std::byte{1}; }));
    CHECK(refused([](auto& header) { header.finalized = {4, header.previous}; }));
    CHECK(refused([](auto& header) { std::swap(header.justify, header.finalized); }));
    CHECK(refused([&](auto& header) { header.schedule_change = schedule_of({1, 2}, 1); }));
}

// Two blocks of a slot by each producer, for as long as nothing is final: what they hold is
// bounded.
TEST_CASE("a block has no transactions far above the final block that it names",
          "[consensus][header]") {
    const auto within = [](std::uint32_t interval) {
        return consensus::full_within({.initial = {}, .interval_milliseconds = interval});
    };
    CHECK(within(10) == 700);
    CHECK(within(100) == 120);
    CHECK(within(500) == 120);
    CHECK(within(5'000) == 12);
    Validator v;
    const auto full = [&v](chain::Slot slot) {
        const auto block = changed(v.block(slot, v.genesis()), [](chain::BlockHeader& header) {
            header.transaction_root.bytes[0] = std::byte{1};
        });
        return v->check(v.at(slot), *block);
    };
    CHECK(full(120).fate == Fate::good);
    CHECK(full(121).fate == Fate::invalid);
    CHECK(full(121).reason.find("transactions 121 slots above") != std::string::npos);
    CHECK(v->check(v.at(121), *v.block(121, v.genesis())).fate == Fate::good);
}

TEST_CASE("justify and final never go back", "[consensus][header]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a, {.justify = a, .finalized = a});
    v.adopt(a);
    v.adopt(b);
    const auto child = v.block(4, b);
    CHECK(v->check(v.at(4), *child).fate == Fate::good);
    CHECK(v->check(v.at(4), *changed(child, [](auto& header) { header.justify = {}; })).fate ==
          Fate::invalid);
    CHECK(v->check(v.at(4), *changed(child, [](auto& header) { header.finalized = {}; })).fate ==
          Fate::invalid);
}

TEST_CASE("a witness is there where the parent's refs move, and only there",
          "[consensus][header]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    v.adopt(a);
    const auto good = v.block(3, a, {.justify = a});
    const auto fate = [&](const chain::BlockPtr& block) { return v->check(v.at(3), *block).fate; };
    CHECK(fate(good) == Fate::good);
    CHECK(fate(with_witness(good, [](auto& w) { w.justify.reset(); })) == Fate::bad_witness);
    CHECK(fate(with_witness(good, [](auto& w) { w.finalized = w.justify; })) == Fate::bad_witness);
    CHECK(fate(with_witness(good, [](auto& w) { w.justify->data.slot = 1; })) == Fate::bad_witness);
    CHECK(fate(with_witness(good, [](auto& w) { w.justify->bitmaps[0][0] = std::byte{3}; })) ==
          Fate::bad_witness);
    CHECK(fate(with_witness(good, [](auto& w) { w.justify->signatures.pop_back(); })) ==
          Fate::bad_witness);
    CHECK(fate(with_witness(v.block(3, a), [&](auto& w) { w.justify = good->witness.justify; })) ==
          Fate::bad_witness);
    SECTION("what was verified before need not be again") {
        v.certify(kNotarize, a);
        CHECK(v->check(v.at(3), *good).certificates.empty());
    }
}

TEST_CASE("a block that comes early is held; much too early it is refused", "[consensus][header]") {
    Validator v;
    const auto next = v.block(3, v.genesis());
    const auto verdict = v->check(v.at(2, 1), *next);
    CHECK(verdict.fate == Fate::early);
    CHECK(verdict.ready_at == v.at(3));
    CHECK(v->check(v.at(1, 499), *next).fate == Fate::too_early);
    CHECK(v->check(v.at(3), *next).fate == Fate::good);

    consensus::EarlyBlocks early;
    CHECK(early.hold(next, v.at(3)));
    CHECK_FALSE(early.hold(v.block(3, v.genesis(), {.variant = 1}), v.at(3)));
    CHECK(early.take_ready(v.at(2, 499)).empty());
    CHECK(early.take_ready(v.at(3)).size() == 1);
    CHECK(early.take_ready(v.at(3)).empty());
}

TEST_CASE("a block without its parent is not linked, a known one is stale", "[consensus][header]") {
    Validator v;
    const auto a = v.block(2, v.genesis());
    const auto b = v.block(3, a);
    CHECK(v->check(v.at(3), *b).fate == Fate::unlinkable);
    v.adopt(a);
    CHECK(v->check(v.at(3), *b).fate == Fate::good);
    CHECK(v->check(v.at(3), *a).fate == Fate::stale);
}

TEST_CASE(
    "a schedule is proposed by the first block of a period, pending once that is final, "
    "and active once the first pending block is",
    "[consensus][header][schedule]") {
    Validator v;
    const auto next = schedule_of({2, 3, 4, 5}, 1);
    const auto before = v.block(9, v.genesis());
    v.adopt(before);
    const auto fate = [&](const chain::BlockPtr& block) {
        return v->check(v.at(block->header.slot), *block).fate;
    };
    CHECK(fate(v.block(10, before, {.change = schedule_of({2, 3}, 2)})) == Fate::invalid);
    const auto c = v.block(10, before, {.change = next});
    REQUIRE(fate(c) == Fate::good);
    v.adopt(c);
    const auto version = [&](const chain::BlockPtr& parent, chain::Slot slot) {
        chain::BlockHeader header = v.block(slot, parent)->header;
        const auto* state = v->schedules_of({.block_id = parent->id});
        const auto below = chain::schedules_below(*state, parent->header);
        return std::pair(below.active->version, below.pending() != nullptr);
    };
    CHECK(version(c, 11) == std::pair(0U, false));
    SECTION("while it is on its way nothing else is proposed") {
        const auto late = v.block(20, c, {.change = schedule_of({1, 2}, 1)});
        CHECK(fate(late) == Fate::invalid);
    }
    const auto d = v.block(11, c, {.justify = c, .finalized = c});
    v.adopt(d);
    CHECK(version(d, 12) == std::pair(0U, true));
    const auto p = v.block(12, d);
    v.adopt(p);
    CHECK(version(p, 13) == std::pair(0U, true));
    // The local certificate does not matter; the header does.
    SECTION("final here, but not yet in a header") {
        const auto* state = v->schedules_of({.block_id = p->id});
        auto made = v.certificate(kCommit, p);
        made.bitmaps.push_back({std::byte{15}});
        made.signatures.resize(5);
        REQUIRE(consensus::check_form(made, *state).has_value());
        v.step(v.at(12, 30), input::CertificateReceived{made});
        CHECK(v->finalized().id == p->id);
        CHECK(version(p, 13) == std::pair(0U, true));
        CHECK(v->next_schedules().active->version == 0);
    }
}

TEST_CASE("the owner of a slot has `repetitions` of them in a row", "[consensus][header]") {
    Validator v;
    v.options().repetitions = 3;
    v.restart(v.fresh_journals());
    CHECK(v->producer_at(3).producer == chain::Name{2});
    CHECK(v->producer_at(5).producer == chain::Name{2});
    CHECK(v->producer_at(6).producer == chain::Name{3});
    CHECK(v->check(v.at(5), *v.block(5, v.genesis())).fate == Fate::good);
}
