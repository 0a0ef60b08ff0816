// The start of a broker: what its directory keeps, and what it says to the contract.
#include "node/bps/service/broker_start.hpp"

#include "node/bps/core/actions.hpp"
#include "tests/node/bps/server/served.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::BrokerStart;
using bps::actions::RegBroker;

constexpr std::int64_t kNow = 1'800'000'000'000;

// Broker 1 of the account broker1 as the last final block has it.
struct Chain {
    Chain() {
        row.id = 1;
        row.account = "broker1"_n;
        put();
    }
    void put() {
        const base::Bytes bytes = chain::pack(row);
        if (!directory.apply({bps::rows::Broker::kTable, "bps"_n, 1}, base::ByteView(bytes))) {
            throw std::runtime_error("a row that is not taken");
        }
    }
    // What was said is final.
    void take(const RegBroker& said) {
        row.boot = said.boot;
        row.start_id = said.start_id;
        row.log_id = said.log_id;
        put();
    }

    bps::rows::Broker row;
    bps::Directory directory;
    tests::LogLines log;
};

std::unique_ptr<BrokerStart> open(Chain& chain, const std::string& directory) {
    auto opened = BrokerStart::open({.directory = directory,
                                     .broker = 1,
                                     .account = "broker1"_n,
                                     .node_key = {},
                                     .listeners = {{"PLAINTEXT", "127.0.0.1", 9092}}},
                                    base::Log(chain.log, "bps"));
    if (!opened) throw std::runtime_error(opened.error().detail);
    return *std::move(opened);
}

BrokerStart::Step step(BrokerStart& start, const Chain& chain, std::int64_t now = kNow) {
    auto done = start.on_final(now, chain.directory);
    if (!done) throw std::runtime_error(done.error().detail);
    return *std::move(done);
}

// What it says to the contract.
RegBroker said(BrokerStart& start, const Chain& chain, std::int64_t now = kNow) {
    const auto done = step(start, chain, now);
    if (!done.regbroker) throw std::runtime_error("nothing is said");
    return *chain::unpack<RegBroker>(*done.regbroker, "action");
}

}  // namespace

TEST_CASE("a broker acts from the block on that has its start", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    auto start = open(chain, directory.path());
    const RegBroker first = said(*start, chain);
    CHECK(first.boot == 1);
    CHECK(first.earlier.empty());
    CHECK(first.start_id != base::Hash<16>());
    CHECK_FALSE(step(*start, chain).regbroker.has_value());
    CHECK_FALSE(start->boot().has_value());
    chain.take(first);
    CHECK(step(*start, chain).has_started);
    CHECK(start->boot() == 1U);
    CHECK_FALSE(step(*start, chain).has_started);

    start.reset();
    start = open(chain, directory.path());
    const RegBroker second = said(*start, chain);
    CHECK(second.boot == 2);
    CHECK(second.log_id == first.log_id);
    CHECK(second.start_id != first.start_id);
    CHECK(second.earlier == std::vector<base::Hash<16>>{first.start_id});
    chain.take(second);
    CHECK(step(*start, chain).has_started);

    const auto elsewhere = open(chain, directory / "elsewhere");
    chain.take(said(*elsewhere, chain));
    CHECK(step(*start, chain).has_ended);
    CHECK_FALSE(start->boot().has_value());
    CHECK_FALSE(step(*start, chain).regbroker.has_value());
}

TEST_CASE("a directory has one broker at a time", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    auto start = open(chain, directory.path());
    CHECK_THROWS_WITH(open(chain, directory.path()), Catch::Contains("is another process's"));
    start.reset();
    CHECK(open(chain, directory.path()) != nullptr);
}

TEST_CASE("starts that never were final do not push out the one that was", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    const RegBroker first = said(*open(chain, directory.path()), chain);
    chain.take(first);
    RegBroker last;
    for (int i = 0; i < 40; ++i) {
        last = said(*open(chain, directory.path()), chain);
        REQUIRE(last.earlier.size() <= 16);
        REQUIRE(last.earlier.front() == first.start_id);
    }
    chain.take(last);
    // And those before what is final are let go.
    CHECK(said(*open(chain, directory.path()), chain).earlier ==
          std::vector<base::Hash<16>>{last.start_id});
}

TEST_CASE("a directory that was copied or replaced is another one", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    const std::string original = directory / "original";
    const RegBroker first = said(*open(chain, original), chain);
    std::filesystem::copy(original, directory / "copy");
    const RegBroker copied = said(*open(chain, directory / "copy"), chain);
    CHECK(copied.log_id != first.log_id);
    CHECK(chain.log.has("is another directory than the one of the last start"));
    // Moved it is the same.
    std::filesystem::rename(original, directory / "moved");
    CHECK(said(*open(chain, directory / "moved"), chain).log_id == first.log_id);
}

TEST_CASE("a start that was refused is said again later, with the same id", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    const auto start = open(chain, directory.path());
    const RegBroker first = said(*start, chain);
    start->on_refused(kNow, "broker 1 has had its last generation");
    CHECK(chain.log.has("the start of this broker was refused: broker 1 has had its last"));
    CHECK_FALSE(step(*start, chain, kNow + 9'999).regbroker.has_value());
    CHECK(said(*start, chain, kNow + 10'000).start_id == first.start_id);
}

TEST_CASE("a broker that the contract does not know says what to type", "[bps][service]") {
    const TemporaryDirectory directory;
    Chain chain;
    chain.row.account = "other"_n;
    chain.put();
    const auto start = open(chain, directory.path());
    CHECK_FALSE(step(*start, chain).regbroker.has_value());
    CHECK_FALSE(step(*start, chain).regbroker.has_value());
    CHECK(chain.log.has("types 'bor-cli bps broker add 1 broker1'"));
    CHECK(chain.log.lines() == 1);
}
