#include "chain/state/state_manager.hpp"

#include "base/rng.hpp"
#include "tests/support/memory_storage.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using chain::BlockAt;
using chain::StateManager;
using chain::Table;
using Model = std::map<std::string, std::string, std::less<>>;

base::Bytes bytes(std::string_view text) {
    return base::to_bytes(base::as_bytes(text));
}

base::Hash256 id_number(std::uint64_t number) {
    base::Hash256 id;
    for (std::size_t i = 0; i < 8; ++i)
        id.bytes[i] = std::byte((number >> (8 * i)) & 0xFFU);
    return id;
}

std::string text(const chain::Value& value) {
    return value ? std::string(base::as_text(*value)) : "none";
}

std::string key_of(const std::optional<chain::Row>& row) {
    return row ? std::string(base::as_text(row->key)) : "none";
}

std::string key_number(std::uint64_t number) {
    return "key " + std::to_string(number % 40);
}

constexpr Table kTable = Table::permission;

void require_same(const chain::StateView& view, const Model& model) {
    for (std::uint64_t i = 0; i < 40; ++i) {
        const std::string key = key_number(i);
        const auto at = model.find(key);
        REQUIRE(text(view.find(kTable, base::as_bytes(key))) ==
                (at == model.end() ? "none" : at->second));
        const auto next = model.lower_bound(key);
        REQUIRE(key_of(view.at_or_after(kTable, base::as_bytes(key))) ==
                (next == model.end() ? "none" : next->first));
        REQUIRE(key_of(view.before(kTable, base::as_bytes(key))) ==
                (next == model.begin() ? "none" : std::prev(next)->first));
    }
    // Rows of the tables beside must not be taken for ours.
    REQUIRE(key_of(view.at_or_after(kTable, base::as_bytes("l"))) == "none");
    REQUIRE(key_of(view.before(kTable, base::as_bytes("a"))) == "none");
}

struct Fixture {
    support::MemoryStorage storage;
    std::vector<base::Error> faults;
    std::unique_ptr<StateManager> manager;

    Fixture() { open(); }
    void open() {
        StateManager::Options options;
        options.cache_bytes = 20'000;
        options.on_fault = [this](const base::Error& error) { faults.push_back(error); };
        manager = StateManager::open(storage.snapshot(), options).value();
    }
    // A block that writes one row and its own height.
    void add(std::uint64_t number, std::uint64_t parent, std::uint32_t height) {
        auto delta = manager->child(id_number(parent));
        REQUIRE(delta);
        delta->put(kTable, base::as_bytes(key_number(number)), bytes(std::to_string(number)));
        delta->put(Table::global, base::as_bytes("height"), bytes(std::to_string(height)));
        REQUIRE(manager->adopt(
            {{height, id_number(number)}, id_number(parent), delta->take(), chain::StateLanes()}));
    }
    void finalize(std::uint64_t number) {
        const chain::FinalState final = manager->finalize(id_number(number));
        base::Batch batch;
        final.append_to(batch);
        REQUIRE(storage.commit(batch, true));
    }
};

}  // namespace

TEST_CASE("each block has its own state, and a fork is another leaf") {
    Fixture f;
    f.add(1, 0, 1);
    f.add(2, 1, 2);
    f.add(3, 1, 2);
    CHECK(text(f.manager->view(id_number(2))->find(kTable, base::as_bytes("key 2"))) == "2");
    CHECK(text(f.manager->view(id_number(2))->find(kTable, base::as_bytes("key 3"))) == "none");
    CHECK(text(f.manager->view(id_number(3))->find(kTable, base::as_bytes("key 2"))) == "none");
    CHECK(text(f.manager->view(id_number(3))->find(kTable, base::as_bytes("key 1"))) == "1");
    CHECK(f.manager->view(id_number(9)) == nullptr);
    CHECK(f.manager->child(id_number(9)) == nullptr);
    CHECK_FALSE(f.manager->known_lanes(id_number(9)).has_value());
}

TEST_CASE("lanes that were not computed are found below, with what was done since") {
    Fixture f;
    f.add(1, 0, 1);
    const auto add_without_lanes = [&](std::uint64_t number, std::uint64_t parent) {
        auto delta = f.manager->child(id_number(parent));
        delta->put(kTable, base::as_bytes("key"), bytes(std::to_string(number)));
        const auto height = static_cast<std::uint32_t>(number);
        REQUIRE(f.manager->adopt(
            {{height, id_number(number)}, id_number(parent), delta->take(), std::nullopt}));
    };
    add_without_lanes(2, 1);
    add_without_lanes(3, 2);
    const auto here = f.manager->known_lanes(id_number(1));
    REQUIRE(here);
    CHECK(here->since.empty());
    const auto below = f.manager->known_lanes(id_number(3));
    REQUIRE(below);
    REQUIRE(below->since.size() == 2);
    const auto newest = [](const chain::ChangeSet& changes) {
        return text(changes.of(kTable).find(base::as_bytes("key"))->value);
    };
    CHECK(newest(*below->since[0]) == "2");
    CHECK(newest(*below->since[1]) == "3");
    CHECK(text(below->state->find(kTable, base::as_bytes("key 1"))) == "1");
    CHECK(text(below->state->find(kTable, base::as_bytes("key"))) == "none");
}

TEST_CASE("a delta begun before a commit reads on through what is known of the new state") {
    Fixture f;
    Model model;
    for (std::uint64_t number = 1; number <= 3; ++number) {
        f.add(number, number - 1, static_cast<std::uint32_t>(number));
        model[key_number(number)] = std::to_string(number);
    }
    const auto delta = f.manager->child(id_number(3));
    delta->put(kTable, base::as_bytes("key 20"), bytes("own"));
    delta->erase(kTable, base::as_bytes("key 1"));
    model["key 20"] = "own";
    model.erase("key 1");
    require_same(*delta, model);
    f.finalize(2);
    REQUIRE(f.manager->committed(f.storage.snapshot()));
    require_same(*delta, model);
    CHECK(text(f.manager->view(id_number(3))->find(kTable, base::as_bytes("key 30"))) == "none");

    f.storage.fail_reads(base::Error{base::Errc::corrupt, "cannot be read"});
    CHECK(text(delta->find(kTable, base::as_bytes("key 30"))) == "none");
    REQUIRE(f.faults.size() == 1);  // It passed by what is known.
    delta->read_through(f.manager->view(id_number(3)));
    CHECK(text(delta->find(kTable, base::as_bytes("key 30"))) == "none");
    CHECK(text(delta->find(kTable, base::as_bytes("key 2"))) == "2");
    CHECK(f.faults.size() == 1);
    f.storage.fail_reads(std::nullopt);
    require_same(*delta, model);
}

TEST_CASE("a block without a parent, or with a height that is not the next, is refused") {
    Fixture f;
    const auto orphan = f.manager->adopt({{2, id_number(2)}, id_number(1), {}, {}});
    REQUIRE_FALSE(orphan);
    CHECK(orphan.error().code == base::Errc::not_found);
    const auto jump = f.manager->adopt({{2, id_number(2)}, id_number(0), {}, {}});
    REQUIRE_FALSE(jump);
    CHECK(jump.error().code == base::Errc::invalid);
    CHECK(f.manager->block_count() == 0);
    REQUIRE(f.manager->adopt({{1, id_number(2)}, id_number(0), {}, {}}));
    REQUIRE(f.manager->adopt({{1, id_number(2)}, id_number(0), {}, {}}));
    CHECK(f.manager->block_count() == 1);
}

TEST_CASE("a final block kills its siblings; the base moves when storage has it") {
    Fixture f;
    f.add(1, 0, 1);
    f.add(2, 1, 2);
    f.add(3, 1, 2);
    f.add(4, 3, 3);
    f.add(5, 2, 3);
    f.finalize(2);
    CHECK(f.manager->has(id_number(5)));
    CHECK_FALSE(f.manager->has(id_number(3)));
    CHECK_FALSE(f.manager->has(id_number(4)));
    CHECK(f.manager->base() == BlockAt{});
    CHECK(text(f.manager->view(id_number(5))->find(kTable, base::as_bytes("key 1"))) == "1");
    f.manager->check_invariants();

    REQUIRE(f.manager->committed(f.storage.snapshot()));
    f.manager->check_invariants();
    CHECK(f.manager->base() == BlockAt{2, id_number(2)});
    CHECK(f.manager->block_count() == 1);
    CHECK(f.manager->view(id_number(1)) == nullptr);
    CHECK(text(f.manager->view(id_number(5))->find(kTable, base::as_bytes("key 1"))) == "1");

    f.open();
    CHECK(f.manager->base() == BlockAt{2, id_number(2)});
    CHECK(text(f.manager->view(id_number(2))->find(kTable, base::as_bytes("key 2"))) == "2");
}

TEST_CASE("storage that moved to a block it was not given is corrupt") {
    Fixture f;
    f.add(1, 0, 1);
    base::Batch batch;
    chain::append_state_block(batch, {1, id_number(1)}, {});
    REQUIRE(f.storage.commit(batch, true));
    const auto moved = f.manager->committed(f.storage.snapshot());
    REQUIRE_FALSE(moved);
    CHECK(moved.error().code == base::Errc::corrupt);
}

TEST_CASE("a damaged record of the final state is refused with what to do") {
    Fixture f;
    f.add(1, 0, 1);
    f.finalize(1);
    base::Batch batch;
    batch.put(base::Family::meta, bytes("state"), base::Bytes(35));
    REQUIRE(f.storage.commit(batch, true));
    const auto opened = StateManager::open(f.storage.snapshot(), {.on_fault = [](const auto&) {}});
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == base::Errc::corrupt);
    CHECK(opened.error().detail.find("snapshot") != std::string::npos);
}

TEST_CASE("an error of the storage is told, not taken for a missing row") {
    Fixture f;
    f.add(1, 0, 1);
    f.storage.fail_reads(base::Error{base::Errc::corrupt, "checksum mismatch"});
    CHECK(f.manager->view(id_number(1))->find(kTable, base::as_bytes("key 7")) == nullptr);
    CHECK(f.faults.size() == 1);
    CHECK_FALSE(f.manager->view(id_number(1))->at_or_after(kTable, base::as_bytes("z")));
    CHECK_FALSE(f.manager->view(id_number(1))->before(kTable, base::as_bytes("a")));
    CHECK(f.faults.size() == 3);
}

TEST_CASE("after a power cut the state is that of the last synced block") {
    Fixture f;
    f.add(1, 0, 1);
    f.add(2, 1, 2);
    f.finalize(1);
    const chain::FinalState final = f.manager->finalize(id_number(2));
    base::Batch batch;
    final.append_to(batch);
    REQUIRE(f.storage.commit(batch, false));
    f.manager.reset();
    f.storage.cut_power();
    f.open();
    CHECK(f.manager->base() == BlockAt{1, id_number(1)});
    CHECK(text(f.manager->view(id_number(1))->find(kTable, base::as_bytes("key 2"))) == "none");
}

// Finality far behind: 700 blocks in a row, so runs of 16 and 256 are made, read through, and
// cut by the base at heights that are inside of them.
TEST_CASE("reads stay right and pass few layers when nothing becomes final for long") {
    Fixture f;
    Model model;
    std::vector<Model> models = {model};
    base::Rng rng(11);
    for (std::uint32_t height = 1; height <= 700; ++height) {
        auto delta = f.manager->child(id_number(height - 1));
        for (int i = 0; i < 2; ++i) {
            const std::string key = key_number(rng.below(40));
            if (rng.below(3) == 0) {
                delta->erase(kTable, base::as_bytes(key));
                model.erase(key);
            } else {
                delta->put(kTable, base::as_bytes(key), bytes(std::to_string(height)));
                model[key] = std::to_string(height);
            }
        }
        models.push_back(model);
        REQUIRE(f.manager->adopt({{height, id_number(height)},
                                  id_number(height - 1),
                                  delta->take(),
                                  chain::StateLanes()}));
        if (height % 37 == 0) require_same(*f.manager->view(id_number(height)), model);
    }
    const auto view = f.manager->view(id_number(700));
    const auto& layered = dynamic_cast<const chain::LayeredView&>(*view);
    CHECK(layered.layers().size() < 2 * 16 + 3);
    for (const std::uint32_t final : {3U, 250U, 256U, 263U, 600U}) {
        f.finalize(final);
        REQUIRE(f.manager->committed(f.storage.snapshot()));
        f.manager->check_invariants();
        for (const std::uint32_t height : {final, final + 1, final + 20, 700U}) {
            require_same(*f.manager->view(id_number(height)), models[height]);
        }
    }
    require_same(*view, models[700]);
}

// Random trees of blocks against one std::map a block: views are held across everything that
// happens to the manager, and must not change.
TEST_CASE("views never become stale, whatever becomes final, forgotten or committed") {
    base::Rng rng(12);
    for (int round = 0; round < 20; ++round) {
        Fixture f;
        struct Known {
            std::uint32_t height = 0;
            Model model;
            std::shared_ptr<const chain::StateView> held;
        };
        std::map<std::uint64_t, Known> known;
        known[0].held = f.manager->view(id_number(0));
        std::uint64_t last = 0;
        std::uint32_t final_height = 0;
        for (int step = 0; step < 150; ++step) {
            std::vector<std::uint64_t> living;
            for (const auto& [number, block] : known) {
                if (f.manager->view(id_number(number))) living.push_back(number);
            }
            const std::uint64_t pick = living[rng.below(living.size())];
            const std::uint64_t choice = rng.below(20);
            const bool above = known[pick].height > final_height;
            if (choice < 12) {
                const std::uint64_t number = ++last;
                Known made{known[pick].height + 1, known[pick].model, nullptr};
                auto delta = f.manager->child(id_number(pick));
                for (int i = 0; i < 3; ++i) {
                    const std::string key = key_number(rng.below(40));
                    if (rng.below(3) == 0) {
                        delta->erase(kTable, base::as_bytes(key));
                        made.model.erase(key);
                    } else {
                        delta->put(kTable, base::as_bytes(key), bytes(std::to_string(number)));
                        made.model[key] = std::to_string(number);
                    }
                }
                const auto adopted = f.manager->adopt({{made.height, id_number(number)},
                                                       id_number(pick),
                                                       delta->take(),
                                                       chain::StateLanes()});
                REQUIRE(adopted.has_value() == (made.height > final_height));
                if (!adopted) continue;
                made.held = rng.below(2) == 0 ? f.manager->view(id_number(number))
                                              : f.manager->shared_view(id_number(number));
                known[number] = std::move(made);
            } else if (choice < 14 && above) {
                f.finalize(pick);
                final_height = known[pick].height;
                if (rng.below(2) == 0) REQUIRE(f.manager->committed(f.storage.snapshot()));
            } else if (choice == 14) {
                REQUIRE(f.manager->committed(f.storage.snapshot()));
            }
            f.manager->check_invariants();
            require_same(*known[pick].held, known[pick].model);
            if (const auto view = f.manager->view(id_number(pick))) {
                require_same(*view, known[pick].model);
                require_same(*f.manager->shared_view(id_number(pick)), known[pick].model);
            }
        }
        for (const auto& [number, block] : known)
            require_same(*block.held, block.model);
        CHECK(f.faults.empty());
    }
}

TEST_CASE("a forgotten block takes with it what follows it, and nothing else") {
    Fixture f;
    f.add(1, 0, 1);
    f.add(2, 1, 2);
    f.add(3, 2, 3);
    f.add(4, 1, 2);
    f.finalize(1);
    const auto late = f.manager->adopt({{1, id_number(9)}, id_number(0), {}, {}});
    REQUIRE_FALSE(late);
    CHECK(late.error().code == base::Errc::invalid);
    f.manager->forget(id_number(2));
    f.manager->forget(id_number(77));
    f.manager->check_invariants();
    CHECK(f.manager->block_count() == 2);
    CHECK(f.manager->has(id_number(4)));
    CHECK_FALSE(f.manager->has(id_number(3)));
}
