// Produce requests against a broker whose disk syncs when the test says so.
#include "tests/node/bps/core/broker_fixture.hpp"

#include <catch2/catch.hpp>

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

namespace {

using bps::ErrorCode;
using support::BrokerFixture;
using support::make_batch;
using support::record;

}  // namespace

TEST_CASE("acks 1 and all are answered after the sync, and not before", "[bps][produce]") {
    for (const std::int16_t acks : {std::int16_t{1}, std::int16_t{-1}}) {
        BrokerFixture f;
        const auto id = f.produce(0, make_batch(record("a")), acks);
        CHECK(f.effects.replies.empty());
        CHECK(f.sync() == 1);
        const auto answer = f.produced(id);
        CHECK(answer.error_code == ErrorCode::none);
        CHECK(answer.base_offset == 0);
        CHECK(answer.log_append_time_ms == -1);
        CHECK(answer.log_start_offset == 0);
    }
}

TEST_CASE("acks 0 is never answered, and is synced all the same", "[bps][produce]") {
    BrokerFixture f;
    const auto id = f.produce(0, make_batch(record("a")), 0);
    const auto reply = f.reply(id);
    REQUIRE(reply.has_value());
    CHECK_FALSE(reply->response.has_value());
    CHECK(reply->close_reason.empty());
    CHECK(f.sync() == 1);
    CHECK(f.texts(f.fetch({{0, 0}})) == std::vector<std::string>{"0 a"});
}

TEST_CASE("an error with acks 0 closes the connection", "[bps][produce]") {
    BrokerFixture f;
    const auto reply = f.reply(f.produce(7, make_batch(record("a")), 0));
    REQUIRE(reply.has_value());
    CHECK_FALSE(reply->response.has_value());
    CHECK(reply->close_reason == "partition 7; there are 2");
}

TEST_CASE("a request with parts is answered when the last is durable", "[bps][produce]") {
    BrokerFixture f;
    const base::Bytes a = make_batch(record("a"));
    base::Bytes frame = a;
    frame.insert(frame.end(), a.begin(), a.end());
    const base::ByteView both = frame;
    bps::ProduceRequest request;
    request.acks = 1;
    request.timeout_ms = 1'000;
    request.topic_data = {
        {"t", {{0, both.first(a.size())}, {1, both.subspan(a.size())}, {2, both.first(0)}}},
        {"other", {{0, both.first(a.size())}}}};
    const auto id = f.ask(9, request, frame);
    f.broker->begin_sync(f.now, f.effects);
    CHECK(f.effects.sync->parts.size() == 2);
    CHECK(f.sync() == 1);
    const auto answer = f.decoded<bps::ProduceResponse>(id, 9);
    REQUIRE(answer.responses.size() == 2);
    const auto& parts = answer.responses[0].partition_responses;
    CHECK(parts[0].error_code == ErrorCode::none);
    CHECK(parts[1].error_code == ErrorCode::none);
    CHECK(parts[2].error_code == ErrorCode::unknown_topic_or_partition);
    CHECK(parts[2].base_offset == -1);
    const auto& other = answer.responses[1];
    CHECK(other.name == "other");
    CHECK(other.partition_responses[0].error_code == ErrorCode::topic_authorization_failed);
    CHECK(*other.partition_responses[0].error_message ==
          "there is no topic other, or you may not do this with it");
}

TEST_CASE("what may not be produced is refused with Kafka's code", "[bps][produce]") {
    BrokerFixture f;
    const base::Bytes batch = make_batch(record("a"));
    const auto code = [&](std::int16_t acks, std::int16_t version) {
        return f.produced(f.produce(0, batch, acks, version), version).error_code;
    };
    CHECK(code(2, 9) == ErrorCode::invalid_required_acks);
    for (std::int16_t version = 0; version < 3; ++version)
        CHECK(code(1, version) == ErrorCode::unsupported_for_message_format);
    // Its client has no text of it; who reads the log does.
    const auto old = f.reply(f.produce(0, batch, 1, 2));
    REQUIRE(old);
    CHECK(old->refusal ==
          "Produce 2; record batches of magic 2 need version 3 or later: use "
          "api.version.request=true");
    base::Bytes damaged = batch;
    damaged.back() ^= std::byte{1};
    CHECK(f.produced(f.produce(0, damaged)).error_code == ErrorCode::corrupt_message);
    bps::ProduceRequest request;
    request.transactional_id = "x";
    request.acks = -1;
    base::Bytes frame = batch;
    request.topic_data = {{"t", {{0, frame}}}};
    CHECK(f.produced(f.ask(9, request, frame)).error_code ==
          ErrorCode::transactional_id_authorization_failed);
    f.view.revoke(f.tenant, bps::rows::Operation::produce);
    CHECK(code(1, 9) == ErrorCode::topic_authorization_failed);
    CHECK(f.broker->partitions().find({1, 0})->log().end() == 0);
    CHECK(f.sync() == 0);
}

TEST_CASE("a reason that quotes the longest name fits into an answer of any version",
          "[bps][produce]") {
    BrokerFixture f;
    const std::string longest(32'767, 't');
    base::Bytes frame = make_batch(record("a"));
    bps::ProduceRequest request;
    request.acks = 1;
    request.topic_data = {{longest, {{0, frame}}}};
    for (const std::int16_t version : {std::int16_t{8}, std::int16_t{9}}) {
        const auto answer =
            f.decoded<bps::ProduceResponse>(f.ask(version, request, frame), version);
        CHECK(answer.responses[0].name == longest);
        const auto& part = answer.responses[0].partition_responses[0];
        CHECK(part.error_code == ErrorCode::topic_authorization_failed);
        CHECK(part.error_message->size() == bps::Refusal::kReasonBytesMax);
        CHECK(part.error_message->starts_with("there is no topic ttt"));
        CHECK(part.error_message->ends_with("ttt..."));
    }
}

TEST_CASE("zstd needs a client that knows it", "[bps][produce]") {
    BrokerFixture f;
    const base::Bytes batch =
        support::pack_batch({.records = {}, .attributes = 4}, 1, 0, base::as_bytes("zstd"));
    CHECK(f.produced(f.produce(0, batch, 1, 6), 6).error_code ==
          ErrorCode::unsupported_compression_type);
    const auto id = f.produce(0, batch, 1, 7);
    f.sync();
    CHECK(f.produced(id, 7).error_code == ErrorCode::none);
}

TEST_CASE("acks all needs the replicas that the topic wants, acks 1 does not", "[bps][produce]") {
    BrokerFixture f({.log = {}, .batches = {}, .insync_min = 2});
    const base::Bytes batch = make_batch(record("a"));
    CHECK(f.produced(f.produce(0, batch, -1)).error_code == ErrorCode::not_enough_replicas);
    const auto id = f.produce(0, batch, 1);
    f.sync();
    CHECK(f.produced(id).error_code == ErrorCode::none);
    REQUIRE(f.broker->lead(f.now, {1, 0}, f.epoch + 1, 2, f.effects).has_value());
    const auto all = f.produce(0, batch, -1);
    f.sync();
    CHECK(f.produced(all).error_code == ErrorCode::none);
}

TEST_CASE("with LogAppendTime the answer has the time of appending", "[bps][produce]") {
    BrokerFixture f({.log = {.append_time = true}, .batches = {}});
    const auto id = f.produce(0, make_batch(record("a", 5)));
    f.sync();
    CHECK(f.produced(id).log_append_time_ms == f.now);
}

TEST_CASE("a repeated batch waits for the same sync as the first", "[bps][produce]") {
    BrokerFixture f;
    const base::Bytes batch = make_batch(
        {.records = {{"k", "a", 0}}, .producer_id = 5, .producer_epoch = 0, .base_sequence = 0});
    const auto first = f.produce(0, batch);
    const auto again = f.produce(0, batch);
    CHECK(f.effects.replies.empty());
    f.sync();
    CHECK(f.produced(first).base_offset == 0);
    CHECK(f.produced(again).base_offset == 0);
    CHECK(f.broker->partitions().find({1, 0})->log().end() == 1);
    CHECK(f.produced(f.produce(0, batch)).error_code == ErrorCode::none);
}

// bob may write there, too; with alice's id his batch would be one of hers.
TEST_CASE("a producer id serves the account alone to which it was given", "[bps][produce]") {
    BrokerFixture f;
    const auto refused = [&](std::int64_t id) {
        const base::Bytes batch = make_batch({.records = {{"k", "b", 0}},
                                              .producer_id = id,
                                              .producer_epoch = 0,
                                              .base_sequence = 0});
        const auto asked = f.produce(0, batch);
        f.sync();
        return f.produced(asked).error_code;
    };
    constexpr std::int64_t kOfBob = (std::int64_t{7} << bps::kLeasedIdBits) + 5;
    CHECK(refused(5) == ErrorCode::none);
    CHECK(refused(kOfBob) == ErrorCode::invalid_producer_id_mapping);
    f.tenant = "bob"_n;
    CHECK(refused(5) == ErrorCode::invalid_producer_id_mapping);
    CHECK(refused(kOfBob) == ErrorCode::invalid_producer_id_mapping);
    f.view.id_space("bob"_n, 7);
    CHECK(refused(5) == ErrorCode::invalid_producer_id_mapping);
    CHECK(refused(kOfBob) == ErrorCode::none);
    CHECK(f.broker->partitions().find({1, 0})->log().end() == 2);
}

TEST_CASE("who waited too long for the disk is told so once", "[bps][produce]") {
    BrokerFixture f;
    const auto id = f.produce(0, make_batch(record("a")));
    CHECK(f.broker->next_time() == f.now + 1'000);
    f.pass(999);
    CHECK(f.effects.replies.empty());
    f.pass(1);
    CHECK(f.produced(id).error_code == ErrorCode::request_timed_out);
    CHECK_FALSE(f.broker->next_time().has_value());
    f.sync();
    CHECK(f.effects.replies.empty());
    CHECK(f.texts(f.fetch({{0, 0}})) == std::vector<std::string>{"0 a"});
}

TEST_CASE("a sync that fails fails who waited for it, and the log", "[bps][produce]") {
    BrokerFixture f;
    const auto first = f.produce(0, make_batch(record("a")));
    f.broker->begin_sync(f.now, f.effects);
    const auto other = f.produce(1, make_batch(record("b")));
    f.effects.sync.reset();
    f.broker->on_synced(f.now, {bps::PartitionId{1, 0}.log()}, f.effects);
    CHECK(f.produced(first).error_code == ErrorCode::kafka_storage_error);
    f.sync();
    CHECK(f.produced(other).error_code == ErrorCode::none);
    CHECK(f.produced(f.produce(0, make_batch(record("c")))).error_code ==
          ErrorCode::kafka_storage_error);
    // The batch of before is not made durable by a later sync.
    CHECK(f.sync() == 0);
    CHECK(f.fetched_parts(f.fetch({{0, 0}}))[0].error_code == ErrorCode::kafka_storage_error);
}

TEST_CASE("a disk that is nearly full is not written to", "[bps][produce]") {
    BrokerFixture f;
    f.broker->set_disk_low(true);
    CHECK(f.produced(f.produce(0, make_batch(record("a")))).error_code ==
          ErrorCode::kafka_storage_error);
    f.broker->set_disk_low(false);
    const auto id = f.produce(0, make_batch(record("a")));
    f.sync();
    CHECK(f.produced(id).error_code == ErrorCode::none);
}

TEST_CASE("a partition that is not led refuses, one that goes answers who waits",
          "[bps][produce]") {
    BrokerFixture f;
    const auto id = f.produce(1, make_batch(record("a")));
    f.broker->stop_leading(f.now, {1, 0}, f.effects);
    CHECK(f.produced(f.produce(0, make_batch(record("a")))).error_code ==
          ErrorCode::not_leader_or_follower);
    f.broker->remove(f.now, {1, 1}, f.effects);
    CHECK(f.produced(id).error_code == ErrorCode::unknown_topic_or_partition);
    CHECK(f.produced(f.produce(1, make_batch(record("a")))).error_code ==
          ErrorCode::not_leader_or_follower);
}

TEST_CASE("nothing is kept for a connection that is gone", "[bps][produce]") {
    BrokerFixture f;
    f.produce(0, make_batch(record("a")));
    f.broker->on_closed(f.now, 1);
    f.sync();
    CHECK(f.effects.replies.empty());
    CHECK_FALSE(f.broker->next_time().has_value());
}

TEST_CASE("while a sync runs, all that comes shares the next one", "[bps][produce]") {
    BrokerFixture f;
    const auto produce = [&] {
        for (int i = 0; i < 50; ++i)
            f.produce(i % 2, make_batch(record("a")));
    };
    produce();
    f.broker->begin_sync(f.now, f.effects);
    produce();
    CHECK(f.sync() == 2);
    CHECK(f.effects.replies.size() == 100);
}
