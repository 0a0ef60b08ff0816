// Offsets by time and epoch, and what deletes records.
#include "tests/node/bps/core/broker_fixture.hpp"

#include <catch2/catch.hpp>

#include <tuple>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::BrokerFixture;
using support::make_batch;
using support::record;

bps::ListOffsetsResponse::Partition list(BrokerFixture& f,
                                         std::int64_t timestamp,
                                         std::int16_t version = 7,
                                         std::int32_t epoch = -1) {
    bps::ListOffsetsRequest request;
    request.replica_id = -1;
    request.topics = {{"t", {{0, epoch, timestamp}}}};
    const auto id = f.ask(version, request);
    return f.decoded<bps::ListOffsetsResponse>(id, version).topics.at(0).partitions.at(0);
}

std::pair<std::int64_t, std::int64_t> offset_and_time(
    const bps::ListOffsetsResponse::Partition& of) {
    CHECK(of.error_code == ErrorCode::none);
    return {of.offset, of.timestamp};
}
using Hit = std::pair<std::int64_t, std::int64_t>;

std::uint64_t ask_delete(BrokerFixture& f, std::int64_t offset) {
    bps::DeleteRecordsRequest request;
    request.timeout_ms = 1'000;
    request.topics = {{"t", {{0, offset}}}};
    return f.ask(2, request);
}
bps::DeleteRecordsResponse::Partition deleted(BrokerFixture& f, std::uint64_t id) {
    return f.decoded<bps::DeleteRecordsResponse>(id, 2).topics.at(0).partitions.at(0);
}

}  // namespace

TEST_CASE("offsets are found by time, at both ends, and by the greatest time", "[bps][offsets]") {
    BrokerFixture f;
    CHECK(offset_and_time(list(f, -1)) == Hit{0, -1});
    CHECK(offset_and_time(list(f, -2)) == Hit{0, -1});
    CHECK(offset_and_time(list(f, -3)) == Hit{-1, -1});
    for (const std::int64_t time : {10, 30, 20})
        f.produce(0, make_batch(record("a", time)));
    f.sync();
    f.produce(0, make_batch(record("not durable", 40)));
    CHECK(offset_and_time(list(f, -1)) == Hit{3, -1});
    CHECK(list(f, -1).leader_epoch == 1);
    CHECK(offset_and_time(list(f, -2)) == Hit{0, -1});
    CHECK(offset_and_time(list(f, -3)) == Hit{1, 30});
    CHECK(offset_and_time(list(f, 0)) == Hit{0, 10});
    CHECK(offset_and_time(list(f, 11)) == Hit{1, 30});
    CHECK(offset_and_time(list(f, 31)) == Hit{-1, -1});
    f.sync();
    CHECK(offset_and_time(list(f, 31)) == Hit{3, 40});
    CHECK(offset_and_time(list(f, -3)) == Hit{3, 40});
}

TEST_CASE("the greatest time is that of a record which is there", "[bps][offsets]") {
    BrokerFixture f;
    f.produce(0, make_batch({.records = {{"k", "a", 90}, {"k", "b", 10}, {"k", "c", 20}}}));
    f.produce(0, make_batch(record("d", 15)));
    f.sync();
    CHECK(offset_and_time(list(f, -3)) == Hit{0, 90});
    REQUIRE(f.broker->set_log_start(f.now, {1, 0}, 1, f.effects).has_value());
    CHECK(offset_and_time(list(f, -3)) == Hit{2, 20});
    REQUIRE(f.broker->set_log_start(f.now, {1, 0}, 3, f.effects).has_value());
    CHECK(offset_and_time(list(f, -3)) == Hit{3, 15});
}

TEST_CASE("a version answers only what it knows", "[bps][offsets]") {
    BrokerFixture f;
    CHECK(list(f, -3, 6).error_code == ErrorCode::unsupported_version);
    CHECK(list(f, -4, 7).error_code == ErrorCode::unsupported_version);
    CHECK(list(f, -1, 4, 0).error_code == ErrorCode::fenced_leader_epoch);
    CHECK(list(f, -1, 4, 2).error_code == ErrorCode::unknown_leader_epoch);
    CHECK(list(f, -1, 1).error_code == ErrorCode::none);
}

TEST_CASE("until the log of before is durable, its end is not told", "[bps][offsets]") {
    BrokerFixture f;
    f.produce(0, make_batch(record("a")));
    f.broker.reset();
    f.effects = {};
    f.broker = f.make_broker();
    auto opened = bps::Log::open(f.files[{1, 0}], {}, f.now);
    REQUIRE(opened.has_value());
    REQUIRE(opened->log->end() == 1);
    f.broker->add({1, 0}, std::move(opened->log), {});
    REQUIRE(f.broker->lead(f.now, {1, 0}, 9, 1, f.effects).has_value());
    CHECK(list(f, -1, 7).error_code == ErrorCode::offset_not_available);
    CHECK(list(f, -1, 4).error_code == ErrorCode::leader_not_available);
    CHECK(offset_and_time(list(f, -2)) == Hit{0, -1});
    CHECK(f.sync() == 1);
    CHECK(offset_and_time(list(f, -1)) == Hit{1, -1});
}

TEST_CASE("the end of an epoch is told, also of one that wrote nothing", "[bps][offsets]") {
    BrokerFixture f;  // Partition 0 has epoch 1.
    f.produce(0, "a");
    f.sync();
    REQUIRE(f.broker->lead(f.now, {1, 0}, 5, 1, f.effects).has_value());
    f.produce(0, "b");
    f.sync();
    const auto end_of = [&](std::int32_t epoch) {
        bps::OffsetForLeaderEpochRequest request;
        request.topics = {{"t", {{0, -1, epoch}}}};
        const auto id = f.ask(4, request);
        const auto answer = f.decoded<bps::OffsetForLeaderEpochResponse>(id, 4);
        const auto& part = answer.topics.at(0).partitions.at(0);
        CHECK(part.error_code == ErrorCode::none);
        return std::pair{part.leader_epoch, part.end_offset};
    };
    CHECK(end_of(1) == std::pair{1, std::int64_t{1}});
    CHECK(end_of(3) == std::pair{1, std::int64_t{1}});
    CHECK(end_of(5) == std::pair{5, std::int64_t{2}});
    CHECK(end_of(6) == std::pair{-1, std::int64_t{-1}});
    CHECK(list(f, -2).leader_epoch == 1);
}

TEST_CASE("records are deleted once the chain says so", "[bps][offsets]") {
    BrokerFixture f;
    for (const char* text : {"a", "b", "c"})
        f.produce(0, text);
    f.sync();
    const auto id = ask_delete(f, 2);
    CHECK_FALSE(f.reply(id).has_value());
    REQUIRE(f.effects.calls.size() == 1);
    CHECK(f.effects.calls[0].action == "deleterecs"_n);
    const auto asked =
        chain::unpack<bps::actions::DeleteRecords>(f.effects.calls[0].data, "action");
    REQUIRE(asked.has_value());
    CHECK(asked->by == "broker1"_n);
    CHECK(asked->topic == 1);
    REQUIRE(asked->starts.size() == 1);
    CHECK(asked->starts[0].partition == 0);
    CHECK(asked->starts[0].offset == 2);
    CHECK(offset_and_time(list(f, -2)) == Hit{0, -1});
    REQUIRE(f.broker->set_log_start(f.now, {1, 0}, 2, f.effects).has_value());
    CHECK_FALSE(f.reply(id).has_value());
    f.broker->on_called(f.effects.calls[0].ticket, {}, f.effects);
    const auto answer = deleted(f, id);
    CHECK(answer.error_code == ErrorCode::none);
    CHECK(answer.low_watermark == 2);
    CHECK(offset_and_time(list(f, -2)) == Hit{2, -1});
    // What is deleted already is no action.
    CHECK(deleted(f, ask_delete(f, 1)).low_watermark == 2);
    CHECK(f.effects.calls.size() == 1);
    f.restart();
    CHECK(offset_and_time(list(f, -2)) == Hit{2, -1});
}

TEST_CASE("one action deletes records of all partitions that a request names", "[bps][offsets]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.produce(1, "b");
    f.sync();
    bps::DeleteRecordsRequest request;
    request.timeout_ms = 1'000;
    request.topics = {{"t", {{0, -1}, {1, 1}, {1, 1}, {2, 1}}}};
    const auto id = f.ask(2, request);
    REQUIRE(f.effects.calls.size() == 1);
    f.broker->on_called(f.effects.calls[0].ticket, {}, f.effects);
    const auto parts = f.decoded<bps::DeleteRecordsResponse>(id, 2).topics.at(0).partitions;
    REQUIRE(parts.size() == 4);
    CHECK(parts[0].low_watermark == 1);
    CHECK(parts[1].low_watermark == 1);
    CHECK(parts[2].error_code == ErrorCode::invalid_request);
    CHECK(parts[2].low_watermark == -1);
    CHECK(parts[3].error_code == ErrorCode::unknown_topic_or_partition);
}

TEST_CASE("deleting is refused above the high watermark, late, or by the chain", "[bps][offsets]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.sync();
    f.produce(0, "b");
    CHECK(deleted(f, ask_delete(f, 2)).error_code == ErrorCode::offset_out_of_range);
    CHECK(deleted(f, ask_delete(f, -2)).error_code == ErrorCode::offset_out_of_range);
    const auto late = ask_delete(f, -1);
    f.pass(999);
    CHECK_FALSE(f.reply(late).has_value());
    f.pass(1);
    const auto timed_out = deleted(f, late);
    CHECK(timed_out.error_code == ErrorCode::request_timed_out);
    CHECK(timed_out.low_watermark == -1);
    const auto refused = ask_delete(f, 1);
    f.broker->on_called(
        f.effects.calls.at(1).ticket, bps::refuse(ErrorCode::policy_violation, "no"), f.effects);
    CHECK(deleted(f, refused).error_code == ErrorCode::policy_violation);
    f.settings.deletes_records = false;
    f.broker->configure({1, 0}, f.settings);
    CHECK(deleted(f, ask_delete(f, 1)).error_code == ErrorCode::policy_violation);
    f.settings.deletes_records = true;
    f.broker->configure({1, 0}, f.settings);
    f.view.delegate(support::ChainView::kOwner, {"createtopic"_n});
    CHECK(deleted(f, ask_delete(f, 1)).error_code == ErrorCode::policy_violation);
    f.view.revoke(f.tenant, bps::rows::Operation::admin);
    CHECK(deleted(f, ask_delete(f, 1)).error_code == ErrorCode::topic_authorization_failed);
    CHECK(f.effects.calls.size() == 2);
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("a start that the row has before the log is durable comes with it", "[bps][offsets]") {
    BrokerFixture f;
    f.produce(0, "a");
    f.produce(0, "b");
    REQUIRE(f.broker->set_log_start(f.now, {1, 0}, 2, f.effects).has_value());
    CHECK(offset_and_time(list(f, -2)) == Hit{0, -1});
    f.sync();
    CHECK(f.expire());
    CHECK(offset_and_time(list(f, -2)) == Hit{2, -1});
}

TEST_CASE("records are kept as long as the topic says, and its changes count", "[bps][offsets]") {
    BrokerFixture f({.log = {.segment_bytes = 200}, .batches = {}});
    for (int i = 0; i < 10; ++i) {
        f.produce(0, "a");
        f.sync();
        f.now += 1'000;
    }
    CHECK(f.expire());
    CHECK(list(f, -2).offset == 0);
    f.settings.log.retention_ms = 5'500;
    f.broker->configure({1, 0}, f.settings);
    CHECK(f.expire());
    const std::int64_t start = list(f, -2).offset;
    CHECK(start >= 3);
    CHECK(start <= 5);
    f.settings.log.retention_bytes = 200;
    f.broker->configure({1, 0}, f.settings);
    CHECK(f.expire());
    CHECK(list(f, -2).offset > start);
    CHECK(f.fetched_parts(f.fetch({{0, 0}}))[0].error_code == ErrorCode::offset_out_of_range);
}

TEST_CASE("who has much to drop keeps no other waiting", "[bps][offsets]") {
    BrokerFixture f({.log = {.segment_bytes = 200, .retention_ms = 1'000}, .batches = {}});
    for (int i = 0; i < 40; ++i) {
        f.produce(0, "a");
        f.produce(1, "a");
        f.sync();
    }
    f.now += 2'000;
    const auto left = [&](std::int32_t index) {
        return f.broker->partitions().find({1, index})->log().segments().size();
    };
    const std::size_t before = left(0);
    REQUIRE(before > 10);
    f.broker->begin_expiring(f.now, f.effects);
    // One partition in a step, and the minute's sweep and what is left of it by turns.
    std::size_t both = 2 * before;
    for (int i = 0; i < 4; ++i) {
        CHECK(f.broker->expire(f.now, f.effects).empty());
        CHECK(left(0) + left(1) == both - bps::Log::kRemovedAtOnce);
        both = left(0) + left(1);
    }
    CHECK(left(1) < before);
    // The next minute's begins, whatever is left.
    f.broker->begin_expiring(f.now, f.effects);
    CHECK(f.expire());
    CHECK(left(0) + left(1) == 2);
}

TEST_CASE("a step of retention writes for one partition, and owners take turns", "[bps][offsets]") {
    BrokerFixture f({.log = {.segment_bytes = 200, .retention_ms = 1'000}, .batches = {}});
    constexpr std::int32_t kOthers = 8;
    f.view.topic(1, "t", kOthers + 1);
    for (std::int32_t index = 2; index <= kOthers; ++index) {
        if (index == kOthers) f.settings.owner = "other"_n;
        f.add({1, index}, ++f.epoch);
    }
    for (int i = 0; i < 40; ++i) {
        for (std::int32_t index = 0; index <= kOthers; ++index)
            f.produce(index, "a");
        f.sync();
    }
    f.now += 2'000;
    std::map<bps::PartitionId, std::size_t> seen;
    const auto take_written = [&] {
        std::vector<bps::PartitionId> written;
        for (const auto& [id, files] : f.files) {
            const std::size_t now = files.writes();
            if (std::exchange(seen[id], now) != now) written.push_back(id);
        }
        return written;
    };
    (void)take_written();
    f.broker->begin_expiring(f.now, f.effects);
    std::vector<bps::PartitionId> order;
    while (f.broker->is_expiring()) {
        CHECK(f.broker->expire(f.now, f.effects).empty());
        const auto written = take_written();
        CHECK(written.size() <= 1);
        order.insert(order.end(), written.begin(), written.end());
    }
    // Once it is known to have much, the other owner's partition has every second step.
    const bps::PartitionId other{1, kOthers};
    const auto first = std::ranges::find(order, other);
    const auto steps = std::ranges::count(order, other);
    REQUIRE(steps > 4);
    CHECK(std::count(first, first + 2 * steps, other) >= steps - 1);
    CHECK(order.end() - first > 2 * steps);
}

TEST_CASE("a log whose retention ends its compaction keeps no other from being compacted",
          "[bps][offsets]") {
    BrokerFixture f({.log = {.segment_bytes = 200, .compacts = true}, .batches = {}});
    const auto fill = [&](std::int32_t index, int count) {
        for (int i = 0; i < count; ++i)
            f.produce(index, "a");
        f.sync();
    };
    fill(0, 40);
    fill(1, 40);
    bps::PartitionSettings drops = f.settings;
    drops.log.retention_ms = 10'000;
    f.broker->configure({1, 0}, drops);
    const bps::Partition& other = *f.broker->partitions().find({1, 1});
    REQUIRE(other.wants_compaction());
    int steps = 0;
    for (; other.wants_compaction() && steps < 100; ++steps) {
        fill(0, 4);
        f.now += 1'000;
        CHECK(f.expire());
        CHECK(f.broker->compact(f.now, f.effects).has_value());
        f.sync();
    }
    CHECK(steps < 100);
}

TEST_CASE("what was deleted is not seen again once a restart has made it durable",
          "[bps][offsets]") {
    BrokerFixture f;
    for (int i = 0; i < 3; ++i)
        f.produce(0, make_batch(record("a")));
    f.sync();
    f.files.at({1, 0}).die_at(f.files.at({1, 0}).writes() + 1);  // Before it notes the start.
    CHECK_FALSE(f.broker->set_log_start(f.now, {1, 0}, 2, f.effects).has_value());
    f.files.at({1, 0}).restart_after_kill();
    f.broker = f.make_broker();
    f.effects = {};
    auto opened = bps::Log::open(f.files.at({1, 0}), f.settings.log, f.now);
    REQUIRE(opened.has_value());
    f.broker->add({1, 0}, std::move(opened->log), f.settings);
    f.view.partition({1, 0}, ++f.epoch);
    REQUIRE(f.broker->lead(f.now, {1, 0}, f.epoch, 1, f.effects).has_value());
    // As the row says, when nothing is known to be durable.
    REQUIRE(f.broker->set_log_start(f.now, {1, 0}, 2, f.effects).has_value());
    f.sync();
    CHECK(offset_and_time(list(f, -2)) == Hit{2, -1});
}
