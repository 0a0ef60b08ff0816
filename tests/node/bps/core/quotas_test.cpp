// What a tenant may use of a broker.
#include "node/bps/core/quotas.hpp"

#include "tests/node/bps/core/group_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)
using bps::ErrorCode;
using support::BrokerFixture;
using support::make_batch;
using support::record;

void set(bps::Quotas& quotas, const bps::rows::Quota& row) {
    const base::Bytes packed = chain::pack(row);
    const bps::RowId id{bps::rows::Quota::kTable, "bps"_n, row.account.value};
    REQUIRE(quotas.apply(id, base::ByteView(packed)).has_value());
}

}  // namespace

TEST_CASE("bytes above the rate cost the time that they take at it", "[bps][quotas]") {
    bps::Quotas quotas;
    set(quotas, {.account = "alice"_n, .bytes_in = 1'000});
    constexpr std::int64_t kNow = 1'800'000'000'000;
    // Ahead of its rate by a second it may be.
    CHECK(quotas.take_in(kNow, "alice"_n, 1'000) == 0);
    CHECK(quotas.take_in(kNow, "alice"_n, 500) == 500);
    CHECK(quotas.take_in(kNow, "alice"_n, 1) == 501);
    CHECK(quotas.wait_of(kNow + 1, "alice"_n) == 500);
    CHECK(quotas.wait_of(kNow, "bob"_n) == 0);
    CHECK(quotas.take_in(kNow + 501, "alice"_n, 0) == 0);
    CHECK(quotas.take_in(kNow + 501, "alice"_n, 100) == 100);
    // What it has not used is kept for a second, and no longer.
    CHECK(quotas.take_in(kNow + 60'000, "alice"_n, 1'200) == 200);
    // Nobody else pays, and nothing goes by the other way.
    CHECK(quotas.take_in(kNow, "bob"_n, 1'000'000) == 0);
    CHECK(quotas.take_out(kNow, "alice"_n, 1'000'000) == 0);
}

TEST_CASE("a rate holds on the average, for whatever sizes", "[bps][quotas]") {
    bps::Quotas quotas;
    set(quotas, {.account = "alice"_n, .bytes_out = 100'000});
    std::int64_t now = 1'000'000;
    const std::int64_t begin = now;
    std::size_t sent = 0;
    for (std::size_t i = 0; i < 500; ++i) {
        const std::size_t bytes = i * 7'919 % 20'000;
        sent += bytes;
        now += quotas.take_out(now, "alice"_n, bytes);
    }
    const double rate = static_cast<double>(sent) * 1'000 / static_cast<double>(now - begin);
    CHECK(rate > 99'000);
    CHECK(rate < 105'000);
}

TEST_CASE("nobody waits for longer than five seconds, or owes more than thirty", "[bps][quotas]") {
    bps::Quotas quotas;
    set(quotas, {.account = "alice"_n, .bytes_in = 0, .bytes_out = 1});
    CHECK(quotas.take_in(1'000'000, "alice"_n, 100'000'000) == 5'000);
    CHECK(quotas.take_in(1'000'000, "alice"_n, 100'000'000) == 5'000);
    CHECK(quotas.take_out(1'000'000, "alice"_n, 100'000'000) == 5'000);
    CHECK(quotas.take_in(1'010'000, "alice"_n, 0) == 5'000);
    CHECK(quotas.take_in(1'028'000, "alice"_n, 0) == 2'000);
    CHECK(quotas.take_in(1'030'000, "alice"_n, 0) == 0);
}

TEST_CASE("who owes more than a wait is overdrawn until it owes a wait", "[bps][quotas]") {
    bps::Quotas quotas;
    set(quotas, {.account = "alice"_n, .bytes_in = 1'000, .bytes_out = 1'000});
    constexpr std::int64_t kNow = 1'000'000;
    CHECK_FALSE(quotas.overdrawn_until(kNow, "alice"_n).has_value());
    CHECK(quotas.take_in(kNow, "alice"_n, 6'000) == 5'000);
    CHECK_FALSE(quotas.overdrawn_until(kNow, "alice"_n).has_value());
    CHECK(quotas.take_in(kNow, "alice"_n, 2'000) == 5'000);
    CHECK(quotas.overdrawn_until(kNow, "alice"_n) == kNow + 2'000);
    CHECK(quotas.take_out(kNow, "alice"_n, 10'000) == 5'000);
    CHECK(quotas.overdrawn_until(kNow, "alice"_n) == kNow + 4'000);
    CHECK_FALSE(quotas.overdrawn_until(kNow + 4'000, "alice"_n).has_value());
    CHECK_FALSE(quotas.overdrawn_until(kNow, "bob"_n).has_value());
}

TEST_CASE("what groups store counts as bytes of who asks", "[bps][quotas]") {
    support::GroupFixture f;
    const support::GroupFixture::Member asked{.id = "", .instance = "one"};
    auto member = f.joined(f.join(asked, {{"range", std::string(3'000, 't')}})).member;
    member.instance = "one";
    const auto synced = f.sync_group(member);
    f.sync();
    REQUIRE(f.synced(synced).first == ErrorCode::none);
    set(f.quotas, {.account = "alice"_n, .bytes_in = 1'000});
    CHECK(f.quotas.wait_of(f.now, "alice"_n) == 0);
    // It was started again: its group is stored anew.
    const auto again = f.join(asked, {{"range", std::string(3'000, 't')}});
    f.sync();
    REQUIRE(f.joined(again).code == ErrorCode::none);
    const auto wait = f.quotas.wait_of(f.now, "alice"_n);
    CHECK(wait > 2'000);
    CHECK(wait < 2'500);
}

TEST_CASE("the row of the empty name is of all without one of their own", "[bps][quotas]") {
    bps::Quotas quotas;
    CHECK(quotas.may_connect("alice"_n, 1'000'000).has_value());
    set(quotas, {.account = {}, .connections = 2, .groups = 0});
    set(quotas, {.account = "bob"_n, .connections = 5});
    CHECK(quotas.may_connect("alice"_n, 1).has_value());
    const auto refused = quotas.may_connect("alice"_n, 2);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == ErrorCode::policy_violation);
    CHECK(refused.error().reason ==
          "alice has 2 connections at this broker, and its quota is 2: it needs fewer, or a larger "
          "quota (setquota of the contract)");
    CHECK_FALSE(quotas.may_add_group("alice"_n, 0).has_value());
    CHECK(quotas.may_connect("bob"_n, 4).has_value());
    CHECK(quotas.may_add_group("bob"_n, 1'000).has_value());
    // Without it again.
    REQUIRE(quotas.apply({bps::rows::Quota::kTable, "bps"_n, 0}, std::nullopt).has_value());
    CHECK(quotas.may_connect("alice"_n, 2).has_value());
}

TEST_CASE("a row of quotas that is none is named", "[bps][quotas]") {
    bps::Quotas quotas;
    const base::Bytes packed = chain::pack(bps::rows::Quota{.account = "alice"_n});
    const auto elsewhere =
        quotas.apply({bps::rows::Quota::kTable, "bps"_n, ("bob"_n).value}, base::ByteView(packed));
    CHECK_FALSE(elsewhere.has_value());
    const auto cut = quotas.apply({bps::rows::Quota::kTable, "bps"_n, ("alice"_n).value},
                                  base::ByteView(packed).first(20));
    CHECK_FALSE(cut.has_value());
    CHECK(quotas.apply({"topics"_n, "bps"_n, 1}, base::ByteView(packed)).has_value());
}

TEST_CASE("a producer and a consumer above their rates are told to wait", "[bps][quotas]") {
    BrokerFixture f;
    set(f.quotas, {.account = "alice"_n, .bytes_in = 200, .bytes_out = 250});
    const std::string text(300, 'x');
    const base::Bytes batch = make_batch(record(text));
    const auto id = f.produce(0, batch);
    f.sync();
    const auto produced = f.reply(id);
    REQUIRE(produced.has_value());
    const auto size = static_cast<std::int32_t>(batch.size());
    CHECK(produced->throttle_ms == size * 5 - 1'000);
    const auto fetched = f.reply(f.fetch({{0, 0}}));
    REQUIRE(fetched.has_value());
    CHECK(fetched->throttle_ms == size * 4 - 1'000);
    // The client reads it in the answer, too.
    const auto again = f.decoded<bps::FetchResponse>(f.fetch({{0, 0}}), 12);
    CHECK(again.throttle_time_ms == 2 * size * 4 - 1'000);
    // With acks=0 there is no answer, but the time is the same.
    const auto silent = f.reply(f.produce(0, batch, 0));
    REQUIRE(silent.has_value());
    CHECK_FALSE(silent->response.has_value());
    CHECK(silent->throttle_ms == 2 * size * 5 - 1'000);
}

TEST_CASE("a tenant has as many groups as its quota says", "[bps][quotas]") {
    support::GroupFixture f;
    set(f.quotas, {.account = "alice"_n, .groups = 0});
    CHECK(f.joined(f.join({})).code == ErrorCode::policy_violation);
    CHECK(f.committed(f.ask_commit({}, 5)) == ErrorCode::policy_violation);
    CHECK(f.broker->groups().all().empty());
    set(f.quotas, {.account = "alice"_n, .groups = 1});
    const auto id = f.ask_commit({}, 5);
    f.sync();
    CHECK(f.committed(id) == ErrorCode::none);
    // What is there stays.
    set(f.quotas, {.account = "alice"_n, .groups = 0});
    CHECK(f.joined(f.join({})).code == ErrorCode::member_id_required);
}

TEST_CASE("a tenant stores as many bytes as its quota says", "[bps][quotas]") {
    bps::PartitionSettings settings;
    settings.owner = "carol"_n;
    settings.log.segment_bytes = 600;
    settings.log.retention_bytes = 0;
    BrokerFixture f(settings);
    const base::Bytes batch = make_batch(record(std::string(400, 'x')));
    set(f.quotas,
        {.account = "carol"_n, .stored_bytes = static_cast<std::int64_t>(2 * batch.size())});
    const auto error = [&](std::int32_t index) {
        const auto id = f.produce(index, batch);
        f.sync();
        return f.produced(id).error_code;
    };
    // Of all its partitions here together, whoever produces.
    CHECK(error(0) == ErrorCode::none);
    CHECK(error(1) == ErrorCode::none);
    CHECK(error(0) == ErrorCode::policy_violation);
    // Once records are gone, there is room.
    set(f.quotas,
        {.account = "carol"_n, .stored_bytes = static_cast<std::int64_t>(3 * batch.size())});
    CHECK(error(0) == ErrorCode::none);
    CHECK(error(0) == ErrorCode::policy_violation);
    CHECK(f.expire());
    CHECK(error(0) == ErrorCode::none);
}

// Its files and what is known of them take room, however few records there are.
TEST_CASE("many segments with little in them count", "[bps][quotas]") {
    bps::PartitionSettings settings;
    settings.owner = "carol"_n;
    settings.log.segment_ms = 60'000;
    settings.log.retention_ms = -1;
    BrokerFixture f(settings);
    set(f.quotas, {.account = "carol"_n, .stored_bytes = 100'000});
    int minutes = 0;
    for (; minutes < 200; ++minutes) {
        const auto id = f.produce(0, "a");
        f.sync();
        if (f.produced(id).error_code == ErrorCode::policy_violation) break;
        f.now += 60'001;
        CHECK(f.expire());
    }
    CHECK(minutes == 13);  // 12 segments have 96 KiB.
}

// Its answer may have been lost: the producer asks again, and must not take it for refused.
TEST_CASE("what is stored is answered though its tenant may store no more", "[bps][quotas]") {
    bps::PartitionSettings settings;
    settings.owner = "carol"_n;
    if (GENERATE(false, true)) settings.stored_as = bps::Compression::gzip;
    BrokerFixture f(settings);
    const auto error = [&](std::int32_t sequence) {
        const auto id = f.produce(0,
                                  make_batch({.records = {{"k", "v", 0}},
                                              .producer_id = 5,
                                              .producer_epoch = 0,
                                              .base_sequence = sequence}));
        f.sync();
        return f.produced(id).error_code;
    };
    CHECK(error(0) == ErrorCode::none);
    SECTION("by its quota") {
        set(f.quotas, {.account = "carol"_n, .stored_bytes = 1});
        CHECK(error(0) == ErrorCode::none);
        CHECK(error(1) == ErrorCode::policy_violation);
    }
    SECTION("since the disk is nearly full") {
        f.broker->set_disk_low(true);
        CHECK(error(0) == ErrorCode::none);
        CHECK(error(1) == ErrorCode::kafka_storage_error);
    }
    CHECK(f.broker->partitions().find({1, 0})->log().end() == 1);
}
