#include "node/core/failure_budget.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using Budget = node::FailureBudget<std::string>;

const base::Timestamp kStart{seconds(1'000)};

}  // namespace

TEST_CASE("an allowance is used up and refills evenly", "[budget]") {
    Budget budget(milliseconds(200));
    CHECK_FALSE(budget.is_over("a", kStart));
    budget.charge("a", milliseconds(199), kStart);
    CHECK_FALSE(budget.is_over("a", kStart));
    budget.charge("a", milliseconds(1), kStart);
    CHECK(budget.is_over("a", kStart));
    CHECK_FALSE(budget.is_over("b", kStart));
    // 1 ms of 200 takes 300 ms of a minute.
    CHECK(budget.is_over("a", kStart));
    CHECK_FALSE(budget.is_over("a", kStart + milliseconds(1)));
    budget.charge("a", milliseconds(100), kStart);
    CHECK(budget.is_over("a", kStart + seconds(30)));
    CHECK_FALSE(budget.is_over("a", kStart + seconds(30) + milliseconds(1)));
}

TEST_CASE("what goes beyond the allowance is a debt", "[budget]") {
    Budget budget(milliseconds(100));
    budget.charge("a", milliseconds(250), kStart);
    CHECK(budget.is_over("a", kStart + seconds(90)));
    CHECK_FALSE(budget.is_over("a", kStart + seconds(91)));
    // Over an hour: whoever fails whenever he may gets an allowance a minute, and one run.
    base::Duration used{};
    for (base::Timestamp now = kStart; now < kStart + minutes(60); now += milliseconds(100)) {
        if (budget.is_over("b", now)) continue;
        budget.charge("b", milliseconds(70), now);
        used += milliseconds(70);
    }
    CHECK(used <= 61 * milliseconds(100) + milliseconds(70));
    CHECK(used >= 59 * milliseconds(100));
}

TEST_CASE("a whole allowance is not more than one", "[budget]") {
    Budget budget(milliseconds(100));
    budget.charge("a", milliseconds(10), kStart);
    budget.charge("a", milliseconds(100), kStart + minutes(10));
    CHECK(budget.is_over("a", kStart + minutes(10)));
}

TEST_CASE("an allowance of zero is no limit, a run of a day not for ever", "[budget]") {
    Budget none(milliseconds(0));
    none.charge("a", seconds(100), kStart);
    CHECK_FALSE(none.is_over("a", kStart));
    CHECK(none.size() == 0);
    Budget budget(milliseconds(1));
    budget.charge("a", std::chrono::hours(24'000), kStart);
    CHECK(budget.is_over("a", kStart + std::chrono::hours(23)));
    CHECK_FALSE(budget.is_over("a", kStart + std::chrono::hours(24)));
    // Beyond a minute a minute nothing changes: no arithmetic overflows.
    Budget large(std::chrono::hours(1'000'000));
    large.charge("a", std::chrono::hours(1), kStart);
    CHECK(large.is_over("a", kStart + minutes(58)));
    CHECK_FALSE(large.is_over("a", kStart + minutes(60)));
}

TEST_CASE("few payers are known, and those who owe most are not forgotten", "[budget]") {
    Budget budget(milliseconds(100), 10);
    budget.charge("heavy", milliseconds(500), kStart);
    for (int i = 0; i < 1'000; ++i)
        budget.charge("light" + std::to_string(i), milliseconds(10), kStart);
    CHECK(budget.size() == 10);
    CHECK(budget.is_over("heavy", kStart));
    // Whoever has his allowance back is forgotten with the next charge.
    budget.charge("other", milliseconds(1), kStart + minutes(10));
    CHECK(budget.size() == 1);
}

TEST_CASE("a shorter window gives back sooner what it gave", "[budget]") {
    constexpr milliseconds kWindow{2'000};
    Budget budget(milliseconds(6), Budget::kPayersMax, kWindow);
    const base::Timestamp now = kStart;
    budget.charge("eve", milliseconds(6), now);
    CHECK(budget.is_over("eve", now));
    CHECK_FALSE(budget.is_over("eve", now + milliseconds(1)));
    budget.charge("eve", milliseconds(3), now + milliseconds(1));
    CHECK(budget.is_over("eve", now + milliseconds(1'000)));
    CHECK_FALSE(budget.is_over("eve", now + milliseconds(1'001)));
}
