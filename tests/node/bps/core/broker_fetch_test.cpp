// Fetch requests, which wait for records, for time, or for nothing.
#include "tests/node/bps/core/broker_fixture.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <string>
#include <vector>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

using bps::ErrorCode;
using support::BrokerFixture;
using support::make_batch;
using support::record;
using Texts = std::vector<std::string>;

const std::size_t kSize = make_batch(record("a")).size();

}  // namespace

TEST_CASE("a fetch sees what is durable, and nothing above it", "[bps][fetch]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.sync();
    f.produce(0, "b");
    const auto id = f.fetch({{0, 0}});
    const auto parts = f.fetched_parts(id);
    CHECK(parts[0].records.bytes == kSize);
    CHECK(parts[0].high_watermark == 1);
    CHECK(parts[0].last_stable_offset == 1);
    CHECK(parts[0].log_start_offset == 0);
    f.sync();
    CHECK(f.texts(f.fetch({{0, 0}})) == Texts{"0 a", "1 b"});
}

TEST_CASE("a fetch at the end waits until records are durable", "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}, {1, 0}});
    f.pass(100);
    CHECK_FALSE(f.reply(id).has_value());
    f.produce(1, "b");
    CHECK_FALSE(f.reply(id).has_value());
    f.sync();
    CHECK(f.texts(id) == Texts{"0 b"});
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("a fetch that waited long enough is answered with what is there", "[bps][fetch]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.sync();
    const auto id = f.fetch({{0, 0}, {1, 0}}, 1'000, 500);
    CHECK(f.broker->next_time() == f.now + 500);
    f.pass(499);
    CHECK_FALSE(f.reply(id).has_value());
    f.pass(1);
    CHECK(f.texts(id) == Texts{"0 a"});
    const auto none = f.fetch({{0, 1}});
    f.pass(500);
    CHECK(f.texts(none) == Texts{});
    const auto now = f.fetch({{0, 1}}, 1, 0);
    CHECK(f.texts(now) == Texts{});
}

TEST_CASE("bytes of all partitions count for the least that is wanted", "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}, {1, 0}}, static_cast<std::int32_t>(3 * kSize));
    for (const int index : {0, 1}) {
        f.produce(index, "a");
        f.sync();
        CHECK_FALSE(f.reply(id).has_value());
    }
    f.produce(0, "b");
    f.sync();
    CHECK(f.texts(id) == Texts{"0 a", "1 b", "0 a"});
}

TEST_CASE("bounds hold, but for the first batch of the response", "[bps][fetch]") {
    BrokerFixture f;
    for (const int index : {0, 1}) {
        f.produce(index, "a");
        f.produce(index, "b");
    }
    f.sync();
    const auto ask = [&](std::size_t whole, std::size_t part) {
        auto request = BrokerFixture::fetch_of({{0, 0}, {1, 0}});
        request.max_bytes = static_cast<std::int32_t>(whole);
        for (auto& each : request.topics[0].partitions)
            each.partition_max_bytes = static_cast<std::int32_t>(part);
        return f.texts(f.ask(12, request)).value();
    };
    CHECK(ask(1, 1) == Texts{"0 a"});
    CHECK(ask(4 * kSize, kSize) == Texts{"0 a", "0 a"});
    CHECK(ask(3 * kSize, 4 * kSize) == Texts{"0 a", "1 b", "0 a"});
    CHECK(ask(4 * kSize, 4 * kSize) == Texts{"0 a", "1 b", "0 a", "1 b"});
    CHECK(ask(2 * kSize + 1, 4 * kSize) == Texts{"0 a", "1 b"});
}

TEST_CASE("an error is answered at once, beside what other partitions have", "[bps][fetch]") {
    BrokerFixture f;
    f.produce(1, "a");
    f.sync();
    const auto code_of = [&](std::int32_t epoch, std::int64_t offset) {
        auto request = BrokerFixture::fetch_of({{0, offset}, {1, 0}}, 1 << 20);
        request.topics[0].partitions[0].current_leader_epoch = epoch;
        const auto parts = f.fetched_parts(f.ask(12, request));
        CHECK(parts[0].high_watermark == -1);
        CHECK(parts[0].records.bytes == 0);
        CHECK(parts[1].records.bytes == kSize);
        return parts[0].error_code;
    };
    CHECK(code_of(-1, 1) == ErrorCode::offset_out_of_range);
    CHECK(code_of(-1, -1) == ErrorCode::offset_out_of_range);
    CHECK(code_of(0, 0) == ErrorCode::fenced_leader_epoch);
    CHECK(code_of(9, 0) == ErrorCode::unknown_leader_epoch);
    f.broker->stop_leading(f.now, {1, 0}, f.effects);
    CHECK(code_of(-1, 0) == ErrorCode::not_leader_or_follower);
}

TEST_CASE("between the high watermark and the end a fetch is empty, not refused", "[bps][fetch]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.produce(0, "b");
    const auto id = f.fetch({{0, 1}}, 1, 0);
    CHECK(f.fetched_parts(id)[0].error_code == ErrorCode::none);
}

TEST_CASE("a grant that is revoked during the wait shows no record", "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}});
    f.view.revoke(f.tenant, bps::rows::Operation::consume);
    f.produce(0, "a");
    f.sync();
    const auto parts = f.fetched_parts(id);
    CHECK(parts[0].error_code == ErrorCode::topic_authorization_failed);
    CHECK(parts[0].records.bytes == 0);
}

TEST_CASE("a topic that goes, or is made again, answers who waits for the old one",
          "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}});
    f.make_again(1);
    f.add({2, 0}, 1);
    base::Bytes batch = make_batch(record("new"));
    f.produce(0, batch);
    f.sync();
    CHECK_FALSE(f.reply(id).has_value());
    f.broker->remove(f.now, {1, 0}, f.effects);
    const auto parts = f.fetched_parts(id);
    CHECK(parts[0].error_code == ErrorCode::unknown_topic_or_partition);
    CHECK(parts[0].records.bytes == 0);
    CHECK(f.texts(f.fetch({{0, 0}})) == Texts{"0 new"});
}

TEST_CASE("a leadership that ends answers who waits", "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}});
    f.broker->stop_leading(f.now, {1, 0}, f.effects);
    CHECK(f.fetched_parts(id)[0].error_code == ErrorCode::not_leader_or_follower);
}

TEST_CASE("no session is given out, and none is known", "[bps][fetch]") {
    BrokerFixture f;
    auto request = BrokerFixture::fetch_of({{0, 0}}, 1, 0);
    request.session_epoch = 0;
    CHECK(f.decoded<bps::FetchResponse>(f.ask(12, request), 12).session_id == 0);
    request.session_id = 5;
    CHECK(f.decoded<bps::FetchResponse>(f.ask(12, request), 12).error_code ==
          ErrorCode::fetch_session_id_not_found);
    request.session_id = 0;
    request.replica_id = 2;
    CHECK(f.fetched_parts(f.ask(12, request))[0].error_code ==
          ErrorCode::cluster_authorization_failed);
}

TEST_CASE("a tenant has no more fetches that wait than are worth their memory", "[bps][fetch]") {
    BrokerFixture f;
    for (std::size_t i = 0; i < bps::Fetches::kItemsWaitingMax / 2; ++i)
        (void)f.fetch({{0, 0}, {1, 0}});
    CHECK(f.effects.replies.empty());
    // It is answered at once, and others are not kept from waiting.
    CHECK(f.texts(f.fetch({{0, 0}})) == std::vector<std::string>{});
    f.tenant = "bob"_n;
    const auto waits = f.fetch({{0, 0}});
    CHECK_FALSE(f.reply(waits).has_value());
    f.broker->on_closed(f.now, 1);
    f.tenant = "alice"_n;
    CHECK_FALSE(f.reply(f.fetch({{0, 0}})).has_value());
}

TEST_CASE("a fetch that waits longest is answered after a minute", "[bps][fetch]") {
    BrokerFixture f;
    const auto id = f.fetch({{0, 0}}, 1, std::numeric_limits<std::int32_t>::max());
    f.pass(59'999);
    CHECK_FALSE(f.reply(id).has_value());
    f.pass(1);
    CHECK(f.texts(id) == std::vector<std::string>{});
}

TEST_CASE("one record wakes every fetch that waits for it, and no other", "[bps][fetch]") {
    BrokerFixture f;
    std::vector<std::uint64_t> on_0;
    on_0.reserve(100);
    for (int i = 0; i < 100; ++i)
        on_0.push_back(f.fetch({{0, 0}}));
    const auto on_1 = f.fetch({{1, 0}, {1, 0}});
    f.produce(0, "a");
    f.sync();
    for (const auto id : on_0)
        CHECK(f.texts(id) == Texts{"0 a"});
    CHECK_FALSE(f.reply(on_1).has_value());
    f.broker->on_closed(f.now, 1);
    f.produce(1, "a");
    f.sync();
    CHECK_FALSE(f.reply(on_1).has_value());
    CHECK_FALSE(f.broker->next_time().has_value());
}
