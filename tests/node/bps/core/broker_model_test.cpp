// A partition against a model of it, over 10,000 random calls: records, syncs, kills, retention and
// deletions between questions of where records lie, and how far behind a group is.
#include "tests/node/bps/core/broker_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using bps::ErrorCode;
using support::BrokerFixture;

constexpr std::int64_t kRetention = 20'000;

// All records that were ever produced, by offset.
class Modelled {
  public:
    Modelled() : f_({.log = {.segment_bytes = 600, .retention_ms = kRetention}, .batches = {}}) {}

    void step() {
        f_.now += static_cast<std::int64_t>(rng_.below(100));
        switch (rng_.below(14)) {
            case 0:
            case 1:
            case 2:
                return produce();
            case 3:
                return sync();
            case 4:
                return ends();
            case 5:
            case 6:
                return by_time();
            case 7:
            case 8:
                return fetch();
            case 9:
                return erase();
            case 10:
                return expire();
            case 11:
                return commit();
            case 12:
                return lag();
            default:
                return restart();
        }
    }

  private:
    void produce() {
        support::BatchSpec batch;
        batch.base_timestamp = f_.now - static_cast<std::int64_t>(rng_.below(5'000));
        for (std::uint64_t i = 0; i <= rng_.below(4); ++i) {
            const auto delta = static_cast<std::int64_t>(rng_.below(2'000));
            batch.records.push_back({"k", std::to_string(times_.size()), delta});
            times_.push_back(batch.base_timestamp + delta);
        }
        f_.produce(0, support::make_batch(batch));
        produced_at_.resize(times_.size(), f_.now);
    }
    void sync() {
        f_.sync();
        high_ = end();
        f_.effects.replies.clear();
    }
    void restart() {
        if (rng_.below(10) != 0) return;
        f_.restart();
        // What a killed process has written stays, and is made durable at the start.
        high_ = end();
    }
    [[nodiscard]] std::int64_t end() const { return static_cast<std::int64_t>(times_.size()); }
    [[nodiscard]] std::int64_t time_of(std::int64_t offset) const {
        return times_[static_cast<std::size_t>(offset)];
    }
    std::pair<std::int64_t, std::int64_t> list(std::int64_t time) {
        bps::ListOffsetsRequest request;
        request.isolation_level = static_cast<std::int8_t>(rng_.below(2));
        request.topics = {{"t", {{0, -1, time}}}};
        const auto id = f_.ask(7, request);
        const auto part = f_.decoded<bps::ListOffsetsResponse>(id, 7).topics.at(0).partitions.at(0);
        REQUIRE(part.error_code == ErrorCode::none);
        return {part.offset, part.timestamp};
    }
    void ends() {
        REQUIRE(list(-1) == std::pair{high_, std::int64_t{-1}});
        REQUIRE(list(-2) == std::pair{start_, std::int64_t{-1}});
        std::pair<std::int64_t, std::int64_t> latest{-1, -1};
        for (std::int64_t offset = start_; offset < high_; ++offset) {
            if (time_of(offset) > latest.second) latest = {offset, time_of(offset)};
        }
        REQUIRE(list(-3) == latest);
    }
    void by_time() {
        const std::int64_t time = f_.now - static_cast<std::int64_t>(rng_.below(10'000));
        std::pair<std::int64_t, std::int64_t> first{-1, -1};
        for (std::int64_t offset = start_; offset < high_; ++offset) {
            if (time_of(offset) < time) continue;
            first = {offset, time_of(offset)};
            break;
        }
        REQUIRE(list(time) == first);
    }
    void fetch() {
        const auto from = std::max<std::int64_t>(start_ - 2, 0);
        const auto offset = from + static_cast<std::int64_t>(
                                       rng_.below(static_cast<std::uint64_t>(end() - from + 3)));
        auto request = BrokerFixture::fetch_of({{0, offset}}, 1, 0);
        request.isolation_level = static_cast<std::int8_t>(rng_.below(2));
        request.max_bytes = static_cast<std::int32_t>(rng_.below(1'000));
        const auto id = f_.ask(12, request);
        const bps::Reply reply = *f_.reply(id);
        f_.effects.replies.push_back(reply);
        const auto part = f_.fetched_parts(id).at(0);
        if (offset < start_ || offset > end()) {
            REQUIRE(part.error_code == ErrorCode::offset_out_of_range);
            return;
        }
        REQUIRE(part.error_code == ErrorCode::none);
        REQUIRE(part.high_watermark == high_);
        REQUIRE(part.last_stable_offset == high_);
        REQUIRE(part.log_start_offset == start_);
        f_.effects.replies.push_back(reply);
        const auto texts = *f_.texts(id);
        REQUIRE(texts.empty() == (offset >= high_));
        if (texts.empty()) return;
        // Whole batches from the one with the offset on: each record under its own.
        const std::int64_t first = std::stoll(texts.front());
        REQUIRE(first <= offset);
        REQUIRE(offset < first + static_cast<std::int64_t>(texts.size()));
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::string number = std::to_string(first + static_cast<std::int64_t>(i));
            REQUIRE(texts[i] == number + " " + number);
        }
        REQUIRE(first + static_cast<std::int64_t>(texts.size()) <= high_);
    }
    void erase() {
        if (rng_.below(4) != 0) return;
        const auto span = static_cast<std::uint64_t>(high_ - start_ + 1);
        start_ += static_cast<std::int64_t>(rng_.below(span) / 4);
        REQUIRE(f_.broker->set_log_start(f_.now, {1, 0}, start_, f_.effects).has_value());
    }
    // A group has read up to here.
    void commit() {
        if (rng_.below(3) != 0) return;
        committed_ = start_ + static_cast<std::int64_t>(
                                  rng_.below(static_cast<std::uint64_t>(high_ - start_ + 1)));
        bps::OffsetCommitRequest request;
        request.group_id = "g";
        request.generation_id_or_member_epoch = -1;
        request.topics = {{"t", {{0, committed_, -1, "m"}}}};
        const auto id = f_.ask(8, request);
        f_.sync();
        high_ = end();
        const auto answer = f_.decoded<bps::OffsetCommitResponse>(id, 8);
        REQUIRE(answer.topics.at(0).partitions.at(0).error_code == ErrorCode::none);
        f_.effects.replies.clear();
    }
    // As a client tells it: from what the group has committed to what a read_committed one sees.
    // What is behind the log's start, it has missed.
    void lag() {
        bps::OffsetFetchRequest request;
        request.group_id = "g";
        request.topics = {{{"t", {0}}}};
        const auto id = f_.ask(7, request);
        const auto told = f_.decoded<bps::OffsetFetchResponse>(id, 7).topics.at(0).partitions.at(0);
        REQUIRE(told.committed_offset == committed_);
        if (committed_ < 0) return;
        const std::int64_t first = std::max(told.committed_offset, list(-2).first);
        REQUIRE(list(-1).first - first == high_ - std::max(committed_, start_));
        ++lags_;
    }
    // Which segments there are, the model does not know; but what goes is too old, and durable.
    void expire() {
        REQUIRE(f_.expire());
        const std::int64_t start = list(-2).first;
        REQUIRE(start >= start_);
        REQUIRE(start <= high_);
        for (std::int64_t offset = start_; offset < start; ++offset) {
            const auto at = produced_at_[static_cast<std::size_t>(offset)];
            REQUIRE(std::min(time_of(offset), at) < f_.now - kRetention);
        }
        expired_ += start - start_;
        start_ = start;
    }

    BrokerFixture f_;
    base::Rng rng_{7};
    std::vector<std::int64_t> times_;
    std::vector<std::int64_t> produced_at_;
    std::int64_t start_ = 0;
    std::int64_t high_ = 0;
    std::int64_t committed_ = -1;

  public:
    std::int64_t expired_ = 0;
    std::size_t lags_ = 0;
};

}  // namespace

TEST_CASE("offsets are those of a model over 10,000 random calls", "[bps][offsets]") {
    Modelled modelled;
    for (int i = 0; i < 10'000; ++i)
        modelled.step();
    // Else nothing of it was tried.
    CHECK(modelled.expired_ > 100);
    CHECK(modelled.lags_ > 100);
}
