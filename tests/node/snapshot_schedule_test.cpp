#include "node/snapshot_schedule.hpp"

#include "chain/types/exception.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <fstream>

// nodeos' requests for snapshots: which heights they name, which are refused, and that they survive
// a restart.

namespace {

using node::SnapshotRequest;
using node::SnapshotSchedule;

std::unique_ptr<SnapshotSchedule> opened(const std::string& file) {
    auto schedule = SnapshotSchedule::open(file);
    if (!schedule) FAIL(schedule.error().detail);
    return std::move(*schedule);
}

SnapshotRequest request(std::uint32_t spacing, chain::Height start, chain::Height end) {
    return {.spacing = spacing, .start = start, .end = end, .description = "nightly"};
}

std::uint32_t exception_of(const base::Result<SnapshotRequest>& outcome) {
    REQUIRE_FALSE(outcome);
    return outcome.error().exception;
}

std::uint32_t number(chain::Exception exception) {
    return static_cast<std::uint32_t>(exception);
}

}  // namespace

TEST_CASE("a request names the heights from its start to its end by its spacing") {
    const SnapshotRequest spaced = request(10, 100, 125);
    for (chain::Height height = 0; height < 200; ++height) {
        const bool wanted = height == 100 || height == 110 || height == 120;
        CHECK(spaced.names(height) == wanted);
        CHECK(request(0, 100, UINT32_MAX).names(height) == (height == 100));
    }
}

TEST_CASE("requests are numbered from 0 on, also after a restart") {
    const TemporaryDirectory home;
    const std::string file = home / "snapshots/schedule.json";
    {
        const auto schedule = opened(file);
        CHECK(schedule->add(request(10, 100, 200))->id == 0);
        CHECK(schedule->add(request(0, 150, UINT32_MAX))->id == 1);
        CHECK(schedule->remove(0)->end == 200);
    }
    const auto schedule = opened(file);
    REQUIRE(schedule->list().size() == 1);
    CHECK(schedule->list().front().asks_same(request(0, 150, UINT32_MAX)));
    CHECK(schedule->add(request(10, 100, 200))->id == 2);
    CHECK(schedule->names(150));
    CHECK(schedule->names(110));
    CHECK_FALSE(schedule->names(151));
    // The first is past then, the second is not.
    const auto gone = schedule->forget_before(151);
    REQUIRE(gone);
    REQUIRE(gone->size() == 1);
    CHECK(gone->front().id == 1);
    REQUIRE(schedule->list().size() == 1);
    CHECK(schedule->list().front().id == 2);
    CHECK(opened(file)->list().size() == 1);
}

TEST_CASE("a request that is there, or asks for nothing, is refused as nodeos does") {
    const TemporaryDirectory home;
    const auto schedule = opened(home / "schedule.json");
    REQUIRE(schedule->add(request(10, 100, 200)));
    CHECK(exception_of(schedule->add(request(10, 100, 200))) ==
          number(chain::Exception::duplicate_snapshot_request));
    CHECK(schedule->add(request(10, 100, 201)));
    CHECK(exception_of(schedule->add(request(0, 2, 1))) ==
          number(chain::Exception::invalid_snapshot_request));
    CHECK(exception_of(schedule->add(request(100, 1'000'000, 1'000'010))) ==
          number(chain::Exception::invalid_snapshot_request));
    CHECK(exception_of(schedule->remove(77)) ==
          number(chain::Exception::snapshot_request_not_found));
    CHECK(schedule->list().size() == 2);
}

TEST_CASE("a file that is none of requests is refused with what to do") {
    const TemporaryDirectory home;
    const std::string file = home / "schedule.json";
    const std::string content = GENERATE("",
                                         "{}",
                                         R"({"next_id": 1})",
                                         R"({"next_id": -1, "requests": []})",
                                         R"({"next_id": 1, "requests": [{}]})");
    std::ofstream(file) << content;
    const auto schedule = SnapshotSchedule::open(file);
    REQUIRE_FALSE(schedule);
    CHECK(schedule.error().code == base::Errc::corrupt);
    CHECK(schedule.error().detail.find(file) != std::string::npos);
    CHECK(schedule.error().detail.find("remove the file") != std::string::npos);
}

TEST_CASE("what was taken can be read again, and a longer description is not taken") {
    const TemporaryDirectory home;
    const std::string file = home / "requests.json";
    SnapshotRequest longest = request(10, 100, 200);
    longest.description = std::string(1'024, '\x01');  // Six characters each in the file.
    {
        const auto schedule = opened(file);
        REQUIRE(schedule->add(longest));
        SnapshotRequest longer = longest;
        longer.description += "x";
        CHECK(exception_of(schedule->add(longer)) ==
              number(chain::Exception::invalid_snapshot_request));
    }
    const auto list = opened(file)->list();
    REQUIRE(list.size() == 1);
    CHECK(list.front().description == longest.description);
}
