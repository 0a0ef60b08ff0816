#pragma once

#include "chain/execution/elections.hpp"
#include "chain_fixture.hpp"

#include <catch2/catch.hpp>

#include <set>

namespace chain::test {

inline std::set<Name> producers_of(const std::vector<ScheduleEntry>& entries) {
    std::set<Name> names;
    for (const ScheduleEntry& each : entries) {
        names.insert(each.producer);
    }
    return names;
}

// Four validators and what happens between them.
class Network {
  public:
    explicit Network(std::uint64_t max_missed = 10) : chain_(options(max_missed)) {}
    explicit Network(std::vector<std::string> validators)
        : chain_(options(10, std::move(validators))) {}

    TestChain& chain() { return chain_; }
    static base::Bytes votes(std::string_view voter,
                             std::string_view proxy,
                             const std::vector<std::string>& producers) {
        std::vector<Name> names;
        names.reserve(producers.size());
        for (const std::string& producer : producers) {
            names.push_back(name(producer));
        }
        std::ranges::sort(names);
        base::Writer out;
        encode(out, name(voter));
        encode(out, name(proxy));
        encode_list(out, names);
        return out.take();
    }
    Failure act(const std::string& actor, std::string_view action, base::Bytes bytes) {
        return failure_of(
            chain_.push(TestChain::action("eosio", action, actor, std::move(bytes)), {actor}));
    }
    Failure vote(const std::string& voter,
                 const std::string& proxy,
                 const std::vector<std::string>& producers) {
        return act(voter, "voteproducer", votes(voter, proxy, producers));
    }
    Failure registers(const std::string& producer, const std::string& key) {
        base::Writer out;
        encode(out, name(producer));
        encode(out, public_key(key));
        out.string("");
        out.u16(0);
        return act(producer, "regproducer", out.take());
    }
    Failure says_ready(const std::string& producer, const std::vector<std::string>& keys) {
        return failure_of(
            chain_.push(TestChain::action("eosio", "ready", producer, data(name(producer))), keys));
    }
    // By setprods: these producers, each with a key.
    Failure fixes(const std::vector<std::pair<std::string, std::string>>& entries) {
        base::Writer out;
        out.varuint32(static_cast<std::uint32_t>(entries.size()));
        for (const auto& [producer, key] : entries) {
            encode(out, name(producer));
            out.varuint32(0);
            out.u32(1);
            out.varuint32(1);
            encode(out, public_key(key));
            out.u16(1);
        }
        return act("eosio", "setprods", out.take());
    }
    // A new account that is registered and ready.
    void add_candidate(const std::string& producer) {
        REQUIRE(chain_.create(producer).succeeded());
        REQUIRE(registers(producer, producer).code == 0);
        REQUIRE(act(producer, "ready", data(name(producer))).code == 0);
    }
    // Runs to the first block of the next period, in which the producers named are silent, and
    // returns who it proposes; empty: nothing.
    std::set<Name> election(const std::vector<std::string>& silent = {}) {
        while (true) {
            const Slot slot = chain_.block().slot + 1;
            const Schedule active = load_schedule(chain_.state()).value();
            std::uint32_t skipped = 0;
            while (std::ranges::find(silent,
                                     active.producer_of(slot + skipped, 1).producer.to_string()) !=
                   silent.end()) {
                ++skipped;
            }
            chain_.block().producer = active.producer_of(slot + skipped, 1).producer;
            const BlockSchedule begun = chain_.next_block(skipped + 1);
            if (chain_.block().slot / 120 != chain_.block().parent_slot / 120) {
                return begun.change ? producers_of(begun.change->entries) : std::set<Name>();
            }
        }
    }
    static std::set<Name> names(const std::vector<std::string>& texts) {
        std::set<Name> result;
        for (const std::string& text : texts) {
            result.insert(name(text));
        }
        return result;
    }

  private:
    static TestChain::Options options(std::uint64_t max_missed,
                                      std::vector<std::string> validators = {
                                          "v1", "v2", "v3", "v4"}) {
        TestChain::Options options = TestChain::open_options();
        options.validators = std::move(validators);
        options.parameters.max_missed = max_missed;
        return options;
    }
    TestChain chain_;
};

}  // namespace chain::test
