#include "node/bps/core/producers.hpp"

#include "base/rng.hpp"

#include <catch2/catch.hpp>

#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace {

using bps::BatchHeader;
using bps::ErrorCode;
using bps::Producers;

struct Sent {
    std::int64_t id = 1;
    std::int16_t epoch = 0;
    std::int32_t sequence = 0;
    std::int32_t records = 1;
};

BatchHeader batch_of(const Sent& sent, std::int64_t offset = 0, std::int64_t time = 0) {
    BatchHeader header;
    header.base_offset = offset;
    header.max_timestamp = time;
    header.producer_id = sent.id;
    header.producer_epoch = sent.epoch;
    header.base_sequence = sent.sequence;
    header.records_count = sent.records;
    header.last_offset_delta = sent.records - 1;
    return header;
}

ErrorCode code_of(const Producers& producers, const Sent& sent) {
    const auto verdict = producers.check(batch_of(sent));
    return verdict ? ErrorCode::none : verdict.error().code;
}

// The offset of the batch that this one repeats; -1: none.
std::int64_t repeats(const Producers& producers, const Sent& sent) {
    const auto verdict = producers.check(batch_of(sent));
    REQUIRE(verdict.has_value());
    return *verdict ? (*verdict)->base_offset : -1;
}

}  // namespace

TEST_CASE("a batch that comes again gets its first offset, five batches back", "[bps][producers]") {
    Producers producers;
    for (std::int32_t i = 0; i < 7; ++i) {
        const Sent sent{.sequence = 3 * i, .records = 3};
        CHECK(repeats(producers, sent) == -1);
        producers.add(batch_of(sent, 100 + 3 * i));
        producers.check_invariants();
    }
    for (std::int32_t i = 2; i < 7; ++i) {
        CHECK(repeats(producers, {.sequence = 3 * i, .records = 3}) == 100 + 3 * i);
    }
    // Older ones are not remembered; another length makes another batch.
    CHECK(code_of(producers, {.sequence = 3, .records = 3}) ==
          ErrorCode::out_of_order_sequence_number);
    CHECK(code_of(producers, {.sequence = 18, .records = 2}) ==
          ErrorCode::out_of_order_sequence_number);
}

TEST_CASE("a sequence must follow on the last", "[bps][producers]") {
    Producers producers;
    producers.add(batch_of({.sequence = 5, .records = 2}, 10));
    CHECK(code_of(producers, {.sequence = 7}) == ErrorCode::none);
    CHECK(code_of(producers, {.sequence = 8}) == ErrorCode::out_of_order_sequence_number);
    CHECK(code_of(producers, {.sequence = 6}) == ErrorCode::out_of_order_sequence_number);
    // Of one that is not known, any is the first.
    CHECK(code_of(producers, {.id = 2, .sequence = 70}) == ErrorCode::none);
    // Without an id there is no order.
    CHECK(code_of(producers, {.id = -1, .epoch = -1, .sequence = -1}) == ErrorCode::none);
}

TEST_CASE("sequences wrap around", "[bps][producers]") {
    Producers producers;
    constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
    producers.add(batch_of({.sequence = kMax, .records = 1}, 10));
    CHECK(code_of(producers, {.sequence = 1}) == ErrorCode::out_of_order_sequence_number);
    CHECK(code_of(producers, {.sequence = 0}) == ErrorCode::none);
    producers.add(batch_of({.id = 3, .sequence = kMax - 1, .records = 4}, 11));
    CHECK(code_of(producers, {.id = 3, .sequence = 2}) == ErrorCode::none);
    CHECK(repeats(producers, {.id = 3, .sequence = kMax - 1, .records = 4}) == 11);
}

TEST_CASE("a later epoch fences the earlier one and begins with 0", "[bps][producers]") {
    Producers producers;
    producers.add(batch_of({.epoch = 1, .sequence = 4}, 10));
    CHECK(code_of(producers, {.epoch = 0, .sequence = 5}) == ErrorCode::invalid_producer_epoch);
    CHECK(code_of(producers, {.epoch = 2, .sequence = 5}) ==
          ErrorCode::out_of_order_sequence_number);
    CHECK(code_of(producers, {.epoch = 2, .sequence = 0}) == ErrorCode::none);
    producers.add(batch_of({.epoch = 2, .sequence = 0}, 11));
    CHECK(code_of(producers, {.epoch = 1, .sequence = 4}) == ErrorCode::invalid_producer_epoch);
    CHECK(repeats(producers, {.epoch = 2, .sequence = 0}) == 11);
}

TEST_CASE("who has not produced for long is forgotten", "[bps][producers]") {
    Producers producers;
    producers.add(batch_of({.id = 1}, 10, 500));
    producers.add(batch_of({.id = 2}, 11, 600));
    producers.expire(600);
    producers.check_invariants();
    CHECK(producers.size() == 1);
    CHECK(code_of(producers, {.id = 1, .sequence = 9}) == ErrorCode::none);
    CHECK(code_of(producers, {.id = 2, .sequence = 9}) == ErrorCode::out_of_order_sequence_number);
}

// Such as who copies records of last year.
TEST_CASE("a producer is known for as long as it produces, of whatever time its records are",
          "[bps][producers]") {
    Producers producers;
    producers.add(batch_of({.id = 1}, 10, 5));
    producers.note_use(1, 1'000);
    producers.add(batch_of({.id = 2}, 11, 5));
    producers.expire(1'000);
    CHECK(producers.size() == 1);
    CHECK(code_of(producers, {.id = 1, .sequence = 9}) == ErrorCode::out_of_order_sequence_number);
    producers.note_use_of_all(2'000);
    producers.expire(2'000);
    CHECK(producers.size() == 1);
    producers.expire(2'001);
    CHECK(producers.size() == 0);
}

TEST_CASE("above a bound the producer of longest ago is forgotten", "[bps][producers]") {
    Producers producers;
    constexpr auto kMax = static_cast<std::int64_t>(Producers::kProducersMax);
    for (std::int64_t id = 0; id < kMax; ++id) {
        producers.add(batch_of({.id = id}, id));
    }
    producers.add(batch_of({.id = 0, .sequence = 1}, kMax));
    producers.add(batch_of({.id = kMax}, kMax + 1));
    producers.check_invariants();
    CHECK(producers.size() == Producers::kProducersMax);
    CHECK(repeats(producers, {.id = 0, .sequence = 1}) == kMax);
    CHECK(repeats(producers, {.id = 1, .sequence = 0}) == -1);
    CHECK(repeats(producers, {.id = 2, .sequence = 0}) == 2);
}

TEST_CASE("an account with many producers takes no other's away", "[bps][producers]") {
    Producers producers;
    constexpr std::int64_t kOne = std::int64_t{1} << bps::kLeasedIdBits;
    producers.add(batch_of({.id = kOne}, 0));
    constexpr auto kMax = static_cast<std::int64_t>(Producers::kProducersMax);
    for (std::int64_t i = 0; i < 2 * kMax; ++i)
        producers.add(batch_of({.id = 2 * kOne + i}, 1 + i));
    producers.check_invariants();
    CHECK(producers.size() == Producers::kProducersMax);
    CHECK(repeats(producers, {.id = kOne, .sequence = 0}) == 0);
    CHECK(repeats(producers, {.id = 2 * kOne + kMax, .sequence = 0}) == -1);
    const auto read = Producers::read_snapshot(producers.snapshot(1 + 2 * kMax), 1 + 2 * kMax);
    REQUIRE(read.has_value());
    CHECK(repeats(*read, {.id = kOne, .sequence = 0}) == 0);
    CHECK(*read == producers);
}

TEST_CASE("a snapshot and the batches behind it give what all batches give", "[bps][producers]") {
    base::Rng rng(7);
    std::vector<BatchHeader> log;
    Producers live;
    std::map<std::pair<std::int64_t, std::int16_t>, std::int32_t> next_sequence;
    for (int draw = 0; draw < 400; ++draw) {
        Sent sent{.id = static_cast<std::int64_t>(rng.below(8)),
                  .epoch = static_cast<std::int16_t>(draw / 100),
                  .records = static_cast<std::int32_t>(1 + rng.below(3))};
        std::int32_t& next = next_sequence[{sent.id, sent.epoch}];
        sent.sequence = rng.below(4) == 0 ? static_cast<std::int32_t>(rng.below(6)) : next;
        const std::int64_t end = log.empty() ? 0 : log.back().next_offset();
        const auto verdict = live.check(batch_of(sent));
        if (!verdict || *verdict) continue;
        next = sent.sequence + sent.records;
        log.push_back(batch_of(sent, end, static_cast<std::int64_t>(log.size())));
        live.add(log.back());
    }
    REQUIRE(log.size() > 200);
    Producers before;
    for (std::size_t cut = 0; cut < log.size(); ++cut) {
        const std::int64_t offset = log[cut].base_offset;
        auto again = Producers::read_snapshot(before.snapshot(offset), offset);
        REQUIRE(again.has_value());
        REQUIRE(*again == before);
        for (std::size_t i = cut; i < log.size(); ++i) {
            again->add(log[i]);
        }
        again->check_invariants();
        REQUIRE(*again == live);
        before.add(log[cut]);
    }
}

TEST_CASE("a snapshot that is damaged, or of another offset, is refused", "[bps][producers]") {
    Producers producers;
    producers.add(batch_of({.id = 1}, 10, 500));
    const base::Bytes snapshot = producers.snapshot(11);
    CHECK(Producers::read_snapshot(snapshot, 11).has_value());
    CHECK_FALSE(Producers::read_snapshot(snapshot, 12).has_value());
    for (std::size_t at = 0; at < snapshot.size(); ++at) {
        base::Bytes damaged = snapshot;
        damaged[at] ^= std::byte{1};
        CHECK_FALSE(Producers::read_snapshot(damaged, 11).has_value());
        damaged.resize(at);
        CHECK_FALSE(Producers::read_snapshot(damaged, 11).has_value());
    }
}
