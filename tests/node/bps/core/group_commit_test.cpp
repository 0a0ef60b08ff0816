#include "node/bps/core/group_commit.hpp"

#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <memory>
#include <vector>

namespace {

using bps::AnswerId;
using bps::ErrorCode;

// Two logs with a disk each, below one committer.
struct Two {
    Two() {
        for (bps::LogId id = 0; id < logs.size(); ++id) {
            logs[id] = support::open_log(files[id], {});
            commit.attach(id, *logs[id]);
        }
    }
    void produce(bps::LogId log, AnswerId answer) {
        support::append(*logs[log], support::record("value"));
        commit.wait(log, logs[log]->end(), answer);
    }
    std::vector<AnswerId> ready(ErrorCode code = ErrorCode::none) {
        std::vector<AnswerId> ids;
        for (const auto& answer : commit.take_ready()) {
            CHECK(answer.code == code);
            ids.push_back(answer.id);
        }
        return ids;
    }

    std::array<support::SimulatedFiles, 2> files;
    std::array<std::unique_ptr<bps::Log>, 2> logs;
    bps::GroupCommit commit;
};

using Ids = std::vector<AnswerId>;

}  // namespace

TEST_CASE("no answer leaves before the sync that covers its batch", "[bps][commit]") {
    Two two;
    CHECK_FALSE(two.commit.begin_sync().has_value());
    two.produce(0, 1);
    CHECK(two.ready().empty());
    const auto sync = two.commit.begin_sync();
    REQUIRE(sync.has_value());
    CHECK(two.ready().empty());
    // What comes while the sync runs is not covered by it.
    two.produce(0, 2);
    CHECK_FALSE(two.commit.begin_sync().has_value());
    two.commit.on_synced();
    CHECK(two.ready() == Ids{1});
    CHECK(two.logs[0]->durable_end() == 1);
    REQUIRE(two.commit.begin_sync().has_value());
    two.commit.on_synced();
    CHECK(two.ready() == Ids{2});
    CHECK(two.commit.waiting() == 0);
}

TEST_CASE("one sync serves all that waits, in every log", "[bps][commit]") {
    Two two;
    for (AnswerId i = 0; i < 40; ++i) {
        two.produce(i % 2, i);
    }
    const auto sync = two.commit.begin_sync();
    REQUIRE(sync.has_value());
    REQUIRE(sync->parts.size() == 2);
    CHECK(sync->parts[0].files.size() == 1);
    two.commit.on_synced();
    CHECK(two.ready().size() == 40);
    CHECK_FALSE(two.commit.begin_sync().has_value());
}

TEST_CASE("what is durable already is answered at once", "[bps][commit]") {
    Two two;
    two.produce(0, 1);
    (void)two.commit.begin_sync();
    two.commit.on_synced();
    CHECK(two.ready() == Ids{1});
    two.commit.wait(0, 1, 2);
    CHECK(two.ready() == Ids{2});
    CHECK_FALSE(two.commit.begin_sync().has_value());
}

TEST_CASE("a sync that fails fails its log, and no other", "[bps][commit]") {
    Two two;
    two.produce(0, 1);
    two.produce(1, 2);
    (void)two.commit.begin_sync();
    two.produce(0, 3);
    two.commit.on_failed({0});
    const auto answers = two.commit.take_ready();
    REQUIRE(answers.size() == 3);
    CHECK(answers[0].id == 1);
    CHECK(answers[0].code == ErrorCode::kafka_storage_error);
    CHECK(answers[1].id == 3);
    CHECK(answers[1].code == ErrorCode::kafka_storage_error);
    CHECK(answers[2].id == 2);
    CHECK(answers[2].code == ErrorCode::none);
    base::Bytes batch = support::make_batch(support::record("value"));
    CHECK(two.logs[0]->append(batch, {}, 0).error().code == ErrorCode::kafka_storage_error);
    two.produce(1, 4);
    CHECK(two.commit.begin_sync()->parts.size() == 1);
}

TEST_CASE("who waits for a log that goes is answered", "[bps][commit]") {
    Two two;
    two.produce(0, 1);
    two.produce(1, 2);
    (void)two.commit.begin_sync();
    const auto answers = two.commit.detach(0, ErrorCode::unknown_topic_or_partition);
    REQUIRE(answers.size() == 1);
    CHECK(answers[0].id == 1);
    CHECK(answers[0].code == ErrorCode::unknown_topic_or_partition);
    two.logs[0].reset();
    two.commit.on_synced();
    CHECK(two.ready() == Ids{2});
}

TEST_CASE("a log whose sync failed is not synced again", "[bps][commit]") {
    Two two;
    two.produce(0, 1);
    (void)two.commit.begin_sync();
    two.commit.on_failed({0});
    CHECK(two.ready(ErrorCode::kafka_storage_error) == Ids{1});
    CHECK(two.commit.take_changed() == std::vector<bps::LogId>{0});
    two.commit.touch(0);
    CHECK_FALSE(two.commit.begin_sync().has_value());
    CHECK(two.logs[0]->durable_end() == 0);
}

TEST_CASE("who waits for a log that fails to be written is answered", "[bps][commit]") {
    Two two;
    two.produce(0, 1);
    two.files[0].die_at(two.files[0].writes() + 1);
    base::Bytes batch = support::make_batch(support::record("value"));
    CHECK(two.logs[0]->append(batch, {}, 0).error().code == ErrorCode::kafka_storage_error);
    CHECK_FALSE(two.commit.begin_sync().has_value());
    CHECK(two.ready(ErrorCode::kafka_storage_error) == Ids{1});
    CHECK(two.commit.waiting() == 0);
}

TEST_CASE("what nobody waits for is synced once it is touched", "[bps][commit]") {
    Two two;
    support::append(*two.logs[1], support::record("value"));
    CHECK_FALSE(two.commit.begin_sync().has_value());
    two.commit.touch(0);
    two.commit.touch(1);
    const auto sync = two.commit.begin_sync();
    REQUIRE(sync.has_value());
    REQUIRE(sync->parts.size() == 1);
    CHECK(sync->parts[0].log == 1);
    two.commit.on_synced();
    CHECK(two.ready().empty());
    CHECK(two.commit.take_changed() == std::vector<bps::LogId>{1});
    CHECK_FALSE(two.commit.begin_sync().has_value());
}
