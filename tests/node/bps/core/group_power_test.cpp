// What a group was told it has committed is there after the power went, at every write and sync.
#include "tests/node/bps/core/group_fixture.hpp"

#include <catch2/catch.hpp>

namespace {

using bps::ErrorCode;
using support::GroupFixture;

constexpr std::int64_t kCommits = 6;

// Syncs as long as the disk lives.
void sync_or_fail(GroupFixture& f) {
    for (f.broker->begin_sync(f.now, f.effects); f.effects.sync;
         f.broker->begin_sync(f.now, f.effects)) {
        const auto asked = *std::exchange(f.effects.sync, std::nullopt);
        std::vector<bps::LogId> failed;
        for (const auto& part : asked.parts) {
            if (!f.files[bps::PartitionId::of(part.log)].sync(part.files)) {
                failed.push_back(part.log);
            }
        }
        f.broker->on_synced(f.now, failed, f.effects);
        f.broker->check_invariants();
    }
}

}  // namespace

TEST_CASE("what was committed survives a power cut at every write and sync", "[bps][groups]") {
    base::Rng rng(3);
    std::size_t deaths = 0;
    for (std::uint64_t dies = 1;; ++dies) {
        GroupFixture f;
        auto& disk = f.files[{GroupFixture::kOffsetsTopic, f.broker->groups().partition_of("g")}];
        disk.die_at(disk.writes() + dies);
        std::int64_t acknowledged = -1;
        for (std::int64_t offset = 0; offset < kCommits; ++offset) {
            const auto id = f.ask_commit({}, offset);
            sync_or_fail(f);
            if (f.committed(id) == ErrorCode::none) acknowledged = offset;
        }
        const bool died = disk.is_dead();
        deaths += died ? 1 : 0;
        CHECK((acknowledged == kCommits - 1) == !died);
        disk.restart_after_power_cut(rng);
        f.restart();
        const std::int64_t found = f.offset();
        CHECK(found >= acknowledged);
        CHECK(found < kCommits);
        if (found >= 0) CHECK(f.group().owner == f.tenant);
        if (!died) break;
    }
    CHECK(deaths >= 2 * static_cast<std::size_t>(kCommits));
}
