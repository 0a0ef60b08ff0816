#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/log.hpp"
#include "node/bps/disk/codecs.hpp"
#include "node/bps/disk/disk_log_files.hpp"
#include "node/bps/disk/log_syncer.hpp"
#include "tests/node/bps/core/batches.hpp"
#include "tests/node/bps/disk/sync_results.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

// The log of the core, its group commit and its look-ups, over files, threads and libraries as a
// broker has them.

namespace {

using bps::AnswerId;
using bps::GroupCommit;
using bps::LogId;

constexpr std::int32_t kProducers = 32;
constexpr LogId kLogs = 4;
constexpr std::int32_t kBatchesEach = 40;
const bps::LogSettings kSmallSegments{.segment_bytes = 100'000};

support::BatchSpec spec_of(std::int32_t producer, std::int32_t sequence) {
    const std::string text = std::to_string(producer) + "/" + std::to_string(sequence);
    return {.records = {{text, std::string(1'000, static_cast<char>('a' + producer % 26))}},
            .base_timestamp = sequence,
            .producer_id = producer,
            .producer_epoch = 0,
            .base_sequence = sequence};
}

// What a log has to hold: its batches in order, with their places.
using Batches = std::vector<base::Bytes>;

// Logs with their directories, as after a start.
struct Logs {
    explicit Logs(const TemporaryDirectory& directory) {
        for (LogId id = 0; id < kLogs; ++id) {
            auto opened_files = bps::DiskLogFiles::open(directory / std::to_string(id), open_files);
            if (!opened_files) FAIL(opened_files.error().detail);
            files.push_back(*std::move(opened_files));
            auto opened = bps::Log::open(*files.back(), kSmallSegments, 0);
            if (!opened) FAIL(opened.error().detail);
            CHECK(opened->findings.cut_bytes == 0);
            logs.push_back(std::move(opened->log));
            if (logs.back()->epochs().latest() < 0) REQUIRE(logs.back()->begin_epoch(0));
            commit.attach(id, *logs.back());
            syncer.attach(id, *files.back());
        }
    }

    bps::OpenFiles open_files{6};  // Fewer than there are segments.
    std::vector<std::unique_ptr<bps::DiskLogFiles>> files;
    std::vector<std::unique_ptr<bps::Log>> logs;
    GroupCommit commit;
    support::SyncResults results;
    bps::LogSyncer syncer{results.done()};
};

// One turn: each producer sends its next batch, and all wait for the one sync.
void produce(Logs& open, std::int32_t sequence, std::vector<Batches>& expected) {
    for (std::int32_t producer = 0; producer < kProducers; ++producer) {
        const LogId id = static_cast<LogId>(producer) % kLogs;
        bps::Log& log = *open.logs[id];
        base::Bytes batch = support::make_batch(spec_of(producer, sequence));
        const auto appended = log.append(batch, {}, 0);
        REQUIRE(appended.has_value());
        open.commit.wait(id, appended->next_offset, static_cast<AnswerId>(producer));
        expected[id].push_back(std::move(batch));
    }
    CHECK_FALSE(open.commit.has_ready());
    const auto sync = open.commit.begin_sync();
    REQUIRE(sync.has_value());
    open.syncer.start(*sync);
    REQUIRE(open.results.take().empty());
    open.commit.on_synced();
    CHECK(open.commit.take_ready().size() == kProducers);
    CHECK(open.commit.take_changed().size() == kLogs);
    for (LogId id = 0; id < kLogs; ++id) {
        CHECK(open.logs[id]->durable_end() == open.logs[id]->end());
    }
}

void check_equal(const bps::Log& log, const Batches& expected) {
    std::size_t at = 0;
    REQUIRE(log.for_each_batch([&](const bps::BatchHeader&, base::ByteView batch) {
        if (at >= expected.size() || !base::equal(batch, expected[at])) {
            FAIL("batch " << at << " differs");
        }
        ++at;
        return base::Result<void>();
    }));
    CHECK(at == expected.size());
}

// A batch with these records under this compression.
base::Bytes compressed_batch(bps::Compression compression, const support::BatchSpec& plain) {
    const base::Bytes batch = support::make_batch(plain);
    auto header = bps::read_batch_header(batch).value();
    header.attributes = static_cast<std::int16_t>(compression);
    return bps::pack_batch(
        header,
        bps::Codecs::compress(compression, base::ByteView(batch).subspan(bps::kBatchHeaderBytes)));
}

}  // namespace

TEST_CASE("what 32 producers wrote is there after a restart, byte for byte", "[bps][disk]") {
    const TemporaryDirectory directory;
    std::vector<Batches> expected(kLogs);
    {
        Logs open(directory);
        for (std::int32_t sequence = 0; sequence < kBatchesEach; ++sequence) {
            produce(open, sequence, expected);
        }
        CHECK(open.results.count() == kBatchesEach);
        CHECK(open.open_files.size() <= 6);
    }
    Logs again(directory);
    for (LogId id = 0; id < kLogs; ++id) {
        CHECK(again.logs[id]->segments().size() > 3);
        CHECK(again.logs[id]->end() == kBatchesEach * kProducers / std::int64_t{kLogs});
        check_equal(*again.logs[id], expected[id]);
    }
    // Each producer is known, and goes on.
    for (std::int32_t producer = 0; producer < kProducers; ++producer) {
        base::Bytes last = support::make_batch(spec_of(producer, kBatchesEach - 1));
        const auto duplicate =
            again.logs[static_cast<LogId>(producer) % kLogs]->append(last, {}, 0);
        REQUIRE(duplicate.has_value());
        CHECK(duplicate->is_duplicate);
    }
    produce(again, kBatchesEach, expected);
    for (LogId id = 0; id < kLogs; ++id) {
        check_equal(*again.logs[id], expected[id]);
    }
}

TEST_CASE("a log that is cut and pruned on the disk is so after a restart", "[bps][disk]") {
    const TemporaryDirectory directory;
    std::vector<Batches> expected(kLogs);
    {
        Logs open(directory);
        for (std::int32_t sequence = 0; sequence < kBatchesEach; ++sequence) {
            produce(open, sequence, expected);
        }
        REQUIRE(open.logs[0]->truncate(200));
        REQUIRE(open.logs[1]->delete_records(150, 300).has_value());
        for (bool has_more = true; has_more;) {
            const auto done = open.logs[1]->retain(0, 300);
            REQUIRE(done.has_value());
            has_more = *done == bps::Log::Retained::more;
        }
    }
    expected[0].resize(200);
    const Logs again(directory);
    CHECK(again.logs[0]->end() == 200);
    check_equal(*again.logs[0], expected[0]);
    CHECK(again.logs[1]->start() == 150);
    CHECK(again.logs[1]->segments().front().base > 0);
    CHECK(again.logs[1]->find(149, 300, 1'000).error().code == bps::ErrorCode::offset_out_of_range);
    const auto found = again.logs[1]->find(150, 300, 1'000);
    REQUIRE(found.has_value());
    const bps::Segment segment{.base = static_cast<std::int64_t>(found->segment)};
    const auto read = again.files[1]->read(segment.log_name(), found->position, found->bytes);
    CHECK(read.value() == expected[1][150]);
}

TEST_CASE("a time is found in batches of each compression", "[bps][disk]") {
    const TemporaryDirectory directory;
    const Logs open(directory);
    const bps::Codecs codecs;
    bps::Log& log = *open.logs[0];
    const bps::Compression compression = GENERATE(bps::Compression::none,
                                                  bps::Compression::gzip,
                                                  bps::Compression::snappy,
                                                  bps::Compression::lz4,
                                                  bps::Compression::zstd);
    for (std::int64_t number = 0; number < 3; ++number) {
        base::Bytes batch = compressed_batch(compression,
                                             {.records = {{"a", std::string(500, 'x'), 0},
                                                          {"b", std::string(500, 'x'), 10},
                                                          {"c", std::string(500, 'x'), 20}},
                                              .base_timestamp = 100 * number});
        REQUIRE(log.append(batch, {}, 0).has_value());
    }
    const auto found = log.find_time(105, codecs);
    REQUIRE(found.has_value());
    REQUIRE(found->has_value());
    CHECK((*found)->offset == 4);
    CHECK((*found)->timestamp == 110);
    const auto latest = log.find_latest_time(log.end(), codecs);
    REQUIRE(latest.has_value());
    CHECK((*latest)->offset == 8);
}
