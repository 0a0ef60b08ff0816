#include "node/bps/core/log.hpp"

#include "node/bps/core/log_names.hpp"
#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace {

using bps::ErrorCode;
using support::append;
using support::open_log;
using support::record;
using support::SimulatedFiles;
using support::sync;

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

bps::LogSettings small_segments() {
    return {.segment_bytes = 400};
}

ErrorCode code_of(const bps::Verdict<bps::StoredRecords>& verdict) {
    return verdict ? ErrorCode::none : verdict.error().code;
}

std::string sealed_log(SimulatedFiles& files) {
    const auto log = open_log(files, small_segments());
    for (int i = 0; i < 20; ++i) {
        append(*log, record("value " + std::to_string(i), i), 1'000);
    }
    sync(*log, files);
    REQUIRE(log->segments().size() > 3);
    return log->segments()[1].log_name();
}

base::Error refused(SimulatedFiles& files) {
    const auto opened = bps::Log::open(files, small_segments(), 0);
    REQUIRE_FALSE(opened.has_value());
    return opened.error();
}

}  // namespace

TEST_CASE("offsets go on over segments and restarts", "[bps][log]") {
    SimulatedFiles files;
    for (std::int64_t offset = 0; offset < 60; offset += 2) {
        const auto log = open_log(files, small_segments());
        CHECK(log->end() == offset);
        CHECK(append(*log, {.records = {{"k", "a", 0}, {"k", "b", 0}}}) == offset);
        sync(*log, files);
    }
    CHECK(open_log(files, small_segments())->segments().size() > 5);
}

TEST_CASE("a fetch finds whole batches within its bounds", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {});
    const std::size_t size = support::make_batch(record("0123456789")).size();
    constexpr std::int64_t kBatches = 3'000;
    for (std::int64_t i = 0; i < kBatches; ++i) {
        append(*log, record("0123456789"));
    }
    REQUIRE(log->segments().back().marks.size() > 3);
    for (const std::int64_t offset : {0, 1, 777, 1'500, 2'999}) {
        for (const std::int64_t limit : {1'600, 3'000}) {
            for (const std::size_t batches : {0U, 1U, 10U, 2'000U}) {
                const auto found = log->find(offset, limit, batches * size + size / 2);
                REQUIRE(found.has_value());
                const std::int64_t expected = std::clamp<std::int64_t>(
                    limit - offset,
                    0,
                    std::max<std::int64_t>(1, static_cast<std::int64_t>(batches)));
                CHECK(found->bytes == static_cast<std::size_t>(expected) * size);
                if (expected == 0) continue;
                const base::Bytes bytes = support::fetched(files, *found);
                CHECK(bps::read_batch_header(bytes)->base_offset == offset);
            }
        }
    }
    CHECK(log->find(kBatches, kAll, 100)->bytes == 0);
    CHECK(code_of(log->find(kBatches + 1, kAll, 100)) == ErrorCode::offset_out_of_range);
    CHECK(code_of(log->find(-1, kAll, 100)) == ErrorCode::offset_out_of_range);
}

TEST_CASE("an offset inside a batch finds the batch, below the limit only", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {});
    append(*log, {.records = {{"k", "a", 0}, {"k", "b", 0}, {"k", "c", 0}}});
    CHECK(log->find(1, 3, 1)->bytes > 0);
    CHECK(log->find(1, 2, 1'000)->bytes == 0);
}

TEST_CASE("a repeated batch is not appended again", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {.append_time = true});
    const support::BatchSpec spec{.records = {{"k", "a", 0}, {"k", "b", 0}},
                                  .producer_id = 5,
                                  .producer_epoch = 0,
                                  .base_sequence = 0};
    append(*log, record("first"), 70);
    CHECK(append(*log, spec, 80) == 1);
    base::Bytes again = support::make_batch(spec);
    const auto appended = log->append(again, {}, 90);
    REQUIRE(appended.has_value());
    CHECK(appended->is_duplicate);
    CHECK(appended->base_offset == 1);
    CHECK(appended->next_offset == 3);
    CHECK(appended->append_time == 80);
    CHECK(log->end() == 3);
    base::Bytes gap = support::make_batch(
        {.records = {{"k", "a", 0}}, .producer_id = 5, .producer_epoch = 0, .base_sequence = 7});
    CHECK(log->append(gap, {}, 0).error().code == ErrorCode::out_of_order_sequence_number);
}

TEST_CASE("an index that is lost, damaged or of another size is made again", "[bps][log]") {
    SimulatedFiles files;
    const std::string name = sealed_log(files);
    const std::string index = name.substr(0, 20) + ".index";
    REQUIRE(files.has(index));
    const auto before = open_log(files, small_segments(), 1'000)->segments();
    const auto rebuilt = [&] {
        auto opened = bps::Log::open(files, small_segments(), 1'000);
        REQUIRE(opened.has_value());
        CHECK(opened->findings.indexes_rebuilt == 2);  // And that of the last one.
        std::vector<bps::Segment> segments = opened->log->segments();
        CHECK_FALSE(segments[1].is_sealed);
        segments[1].is_sealed = true;
        CHECK(segments == before);
        sync(*opened->log, files);
        CHECK(opened->log->segments()[1].is_sealed);
        CHECK(files.has(index));
    };
    SECTION("lost") {
        REQUIRE(files.remove(index).has_value());
    }
    SECTION("a bit") {
        files.content(index)[20] ^= std::byte{1};
    }
    SECTION("cut") {
        files.content(index).pop_back();
    }
    rebuilt();
}

TEST_CASE("damage below what was durable is named, and nothing is cut", "[bps][log]") {
    SimulatedFiles files;
    const std::string name = sealed_log(files);
    REQUIRE(files.remove(name.substr(0, 20) + ".index").has_value());
    base::Bytes& content = files.content(name);
    SECTION("a flipped bit") {
        content[content.size() / 2 + 30] ^= std::byte{4};
        const base::Error error = refused(files);
        CHECK(error.code == base::Errc::corrupt);
        CHECK(error.detail.starts_with(name + " at byte "));
        CHECK(error.detail.find("which was durable up to") != std::string::npos);
    }
    SECTION("a lost end") {
        content.resize(content.size() - 10);
        CHECK(refused(files).code == base::Errc::corrupt);
    }
    SECTION("a lost segment, which may be put back") {
        const base::Bytes kept = content;
        REQUIRE(files.remove(name).has_value());
        CHECK(refused(files).code == base::Errc::corrupt);
        REQUIRE(files.replace(name, kept).has_value());
        CHECK(open_log(files, small_segments())->end() == 20);
    }
    SECTION("an end that is lost at the border of a batch") {
        const base::Bytes kept = content;
        const auto first = bps::read_batch_header(content);
        REQUIRE(first.has_value());
        content.resize(first->bytes());
        CHECK(refused(files).code == base::Errc::corrupt);
        REQUIRE(files.replace(name, kept).has_value());
        CHECK(open_log(files, small_segments())->end() == 20);
    }
}

// No CRC covers it.
TEST_CASE("an offset that was changed on disk is named, and nothing is cut", "[bps][log]") {
    SimulatedFiles files;
    const bool is_last = GENERATE(false, true);
    const std::size_t byte = GENERATE(5U, 6U, 7U);
    std::string name = sealed_log(files);
    if (is_last) {
        const auto log = open_log(files, small_segments());
        append(*log, record("last"));
        append(*log, record("last"));
        sync(*log, files);
        REQUIRE(log->checkpoint().has_value());
        name = log->segments().back().log_name();
    } else {
        REQUIRE(files.remove(name.substr(0, 20) + ".index").has_value());
    }
    const auto all = [&] {
        std::uint64_t bytes = 0;
        const auto list = files.list();
        REQUIRE(list.has_value());
        for (const auto& file : *list)
            bytes += file.bytes;
        return bytes;
    };
    const std::uint64_t before = all();
    base::Bytes& content = files.content(name);
    const auto first = bps::read_batch_header(content);
    REQUIRE(first.has_value());
    content[first->bytes() + byte] ^= std::byte{64};
    CHECK(refused(files).code == base::Errc::corrupt);
    CHECK(all() == before);
    content[first->bytes() + byte] ^= std::byte{64};
    CHECK(open_log(files, small_segments())->end() == (is_last ? 22 : 20));
}

TEST_CASE("records without a time are kept as long as others", "[bps][log]") {
    SimulatedFiles files;
    bps::LogSettings settings = small_segments();
    settings.retention_ms = 100;
    const auto log = open_log(files, settings);
    for (int i = 0; i < 20; ++i)
        append(*log, record("value", -1), 1'000);
    sync(*log, files);
    support::retain(*log, 1'100, log->end());
    CHECK(log->start() == 0);
    support::retain(*log, 1'101, log->end());
    CHECK(log->start() == 20);
}

TEST_CASE("each torn tail that was not durable is cut at the last whole batch", "[bps][log]") {
    SimulatedFiles whole;
    const auto log = open_log(whole, {});
    std::vector<std::size_t> ends{0};
    for (int i = 0; i < 4; ++i) {
        append(*log, record("value " + std::to_string(i)));
        ends.push_back(log->segments().back().bytes);
    }
    const std::string name = log->segments().back().log_name();
    const base::Bytes bytes = whole.content(name);
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        SimulatedFiles files;
        const base::ByteView part = base::ByteView(bytes).first(size);
        REQUIRE(files.replace(name, part).has_value());
        const auto opened = bps::Log::open(files, {}, 0);
        REQUIRE(opened.has_value());
        const auto kept = std::ranges::upper_bound(ends, size) - ends.begin() - 1;
        CHECK(opened->log->end() == kept);
        CHECK(opened->findings.cut_bytes == size - ends[static_cast<std::size_t>(kept)]);
        CHECK(files.content(name).size() == ends[static_cast<std::size_t>(kept)]);
    }
}

TEST_CASE("a disk that is full refuses, and goes on when it is freed", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {});
    append(*log, record("a"));
    files.set_full(true);
    base::Bytes batch = support::make_batch(record("b"));
    CHECK(log->append(batch, {}, 0).error().code == ErrorCode::kafka_storage_error);
    files.set_full(false);
    CHECK(append(*log, record("b")) == 1);
    CHECK(open_log(files, {})->end() == 2);
}

TEST_CASE("after a write that cannot be undone nothing follows on it", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {});
    append(*log, record("a"));
    files.die_at(files.writes() + 1);
    base::Bytes batch = support::make_batch(record("b"));
    CHECK(log->append(batch, {}, 0).error().code == ErrorCode::kafka_storage_error);
    files.restart_after_kill();
    CHECK(log->append(batch, {}, 0).error().code == ErrorCode::kafka_storage_error);
    CHECK(code_of(log->find(0, kAll, 100)) == ErrorCode::kafka_storage_error);
    const auto again = open_log(files, {});
    CHECK(again->end() == 1);
    CHECK(append(*again, record("b")) == 1);
}

TEST_CASE("old and too many segments go, the last one too", "[bps][log]") {
    SimulatedFiles files;
    bps::LogSettings settings = small_segments();
    SECTION("by time, and a batch from the future by its arrival") {
        settings.retention_ms = 100;
        const auto log = open_log(files, settings);
        for (std::int64_t i = 0; i < 20; ++i) {
            append(*log, record("value", i == 3 ? 1'000'000 : i), i);
        }
        sync(*log, files);
        support::retain(*log, 110, log->end());
        CHECK(log->start() > 3);
        CHECK(log->start() < 20);
        CHECK(log->segments().front().kept_time >= 10);
        support::retain(*log, 1'000, log->end());
        CHECK(log->start() == 20);
        CHECK(log->end() == 20);
        CHECK(open_log(files, settings)->end() == 20);
    }
    SECTION("by bytes") {
        settings.retention_bytes = 900;
        const auto log = open_log(files, settings);
        for (int i = 0; i < 40; ++i) {
            append(*log, record("value"));
        }
        sync(*log, files);
        support::retain(*log, 0, log->end());
        std::uint64_t bytes = 0;
        for (const bps::Segment& segment : log->segments()) {
            bytes += segment.bytes;
        }
        CHECK(bytes >= 900);
        CHECK(bytes < 900 + 400);
    }
    SECTION("never above the limit") {
        settings.retention_ms = 100;
        const auto log = open_log(files, settings);
        for (int i = 0; i < 20; ++i) {
            append(*log, record("value"));
        }
        sync(*log, files);
        support::retain(*log, 1'000, 7);
        CHECK(log->start() <= 7);
        CHECK(log->start() > 0);
    }
}

TEST_CASE("few segments go at a time", "[bps][log]") {
    SimulatedFiles files;
    bps::LogSettings settings = small_segments();
    settings.retention_ms = 100;
    const auto log = open_log(files, settings);
    for (int i = 0; i < 60; ++i)
        append(*log, record("value"));
    sync(*log, files);
    std::size_t left = log->segments().size();
    REQUIRE(left > 10);
    for (bool has_more = true; has_more;) {
        const auto done = log->retain(1'000, log->end());
        REQUIRE(done.has_value());
        has_more = *done == bps::Log::Retained::more;
        const std::size_t now = log->segments().size();
        CHECK(now + bps::Log::kRemovedAtOnce >= left);
        CHECK((now < left || !has_more));
        left = now;
    }
    CHECK(log->start() == 60);
}

TEST_CASE("the greatest time of all is found without reading each segment", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, small_segments());
    for (int i = 0; i < 100; ++i)
        append(*log, record("value", i));
    sync(*log, files);
    REQUIRE(log->segments().size() >= 20);
    const std::size_t before = files.reads();
    const auto hit = log->find_latest_time(log->end(), support::NoDecompressor());
    REQUIRE(hit.has_value());
    REQUIRE(hit->has_value());
    CHECK((*hit)->offset == 99);
    CHECK(files.reads() - before <= 4);
    // Of some with the same time the first; and of those that may be seen.
    append(*log, record("value", 99));
    CHECK((*log->find_latest_time(log->end(), support::NoDecompressor()))->offset == 99);
    CHECK((*log->find_latest_time(50, support::NoDecompressor()))->offset == 49);
}

TEST_CASE("a log whose records are all deleted, and lost, goes on where they ended", "[bps][log]") {
    SimulatedFiles files;
    REQUIRE(bps::Log::begin_at(files, 0));
    CHECK(files.list()->empty());
    REQUIRE(bps::Log::begin_at(files, 7));
    {
        const auto log = open_log(files, small_segments());
        CHECK(log->start() == 7);
        CHECK(append(*log, record("a")) == 7);
        sync(*log, files);
    }
    // Not where there is one.
    REQUIRE(bps::Log::begin_at(files, 100));
    const auto again = open_log(files, small_segments());
    CHECK(again->start() == 7);
    CHECK(again->end() == 8);
}

TEST_CASE("a segment ends when it has had its time", "[bps][log]") {
    SimulatedFiles files;
    bps::LogSettings settings;
    settings.segment_ms = 100;
    auto log = open_log(files, settings, 1'000);
    // Not by times that producers choose, which are years apart.
    append(*log, record("a", 5), 1'000);
    append(*log, record("b", 1'700'000'000'000), 1'099);
    CHECK(log->segments().size() == 1);
    SECTION("not by a batch, many of which may come together") {
        append(*log, record("c", 5), 1'100);
        CHECK(log->segments().size() == 1);
        support::retain(*log, 1'100, log->end());
        REQUIRE(log->segments().size() == 2);
        CHECK(log->segments().back().base == 3);
        append(*log, record("d", 5), 1'199);
        support::retain(*log, 1'199, log->end());
        CHECK(log->segments().size() == 2);
    }
    SECTION("and is sealed") {
        sync(*log, files);
        support::retain(*log, 1'099, log->end());
        CHECK(log->segments().size() == 1);
        support::retain(*log, 1'100, log->end());
        REQUIRE(log->segments().size() == 2);
        CHECK(log->segments().front().is_sealed);
        // One without records has no age.
        support::retain(*log, 5'000, log->end());
        CHECK(log->segments().size() == 2);
    }
    SECTION("after a restart by the time of its records") {
        sync(*log, files);
        log = open_log(files, settings, 1'050);
        support::retain(*log, 1'051, log->end());
        CHECK(log->segments().size() == 2);
        append(*log, record("c", 5), 1'060);
        support::retain(*log, 1'159, log->end());
        CHECK(log->segments().size() == 2);
        support::retain(*log, 1'160, log->end());
        CHECK(log->segments().size() == 3);
    }
}

TEST_CASE("deleted records stay deleted", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, small_segments());
    for (int i = 0; i < 20; ++i) {
        append(*log, record("value"));
    }
    sync(*log, files);
    CHECK(log->delete_records(21, 20).error().code == ErrorCode::offset_out_of_range);
    CHECK(log->delete_records(7, 20).value() == 7);
    CHECK(log->delete_records(5, 20).value() == 7);
    CHECK(code_of(log->find(6, kAll, 100)) == ErrorCode::offset_out_of_range);
    CHECK(open_log(files, small_segments())->start() == 7);
    support::retain(*log, 0, 20);
    CHECK(log->segments().front().base > 3);
    CHECK(log->start() == 7);
    CHECK(log->delete_records(-1, 20).value() == 20);
    support::retain(*log, 0, 20);
    CHECK(open_log(files, small_segments())->end() == 20);
}

TEST_CASE("a start that is no offset is refused", "[bps][log]") {
    SimulatedFiles files;
    REQUIRE(files.replace(bps::kStartFile, bps::pack_offset(-1)).has_value());
    const base::Error error = refused(files);
    CHECK(error.code == base::Errc::corrupt);
    CHECK(error.detail.starts_with("file start: "));
}

TEST_CASE("the first record at or after a time is found as in a model", "[bps][log]") {
    SimulatedFiles files;
    base::Rng rng(3);
    const auto log = open_log(files, {.segment_bytes = 200'000});
    std::vector<std::int64_t> times;
    const std::string filler(400, 'x');
    for (int i = 0; i < 800; ++i) {
        support::BatchSpec spec{.records = {}, .base_timestamp = i * 10};
        for (std::uint64_t n = 1 + rng.below(4); n > 0; --n) {
            const auto delta = static_cast<std::int64_t>(rng.below(300));
            spec.records.push_back({"k", filler, delta});
            times.push_back(spec.base_timestamp + delta);
        }
        append(*log, spec);
    }
    REQUIRE(log->segments().size() > 2);
    REQUIRE(log->segments()[0].marks.size() > 1);
    for (const std::int64_t start : {0, 500}) {
        CHECK(log->delete_records(start, log->end()).value() == start);
        for (std::int64_t time = -5; time < 8'400; time += 7) {
            const auto first = std::find_if(
                times.begin() + start, times.end(), [&](auto at) { return at >= time; });
            const auto hit = log->find_time(time, support::NoDecompressor());
            REQUIRE(hit.has_value());
            REQUIRE(hit->has_value() == (first != times.end()));
            if (first == times.end()) continue;
            REQUIRE((*hit)->offset == first - times.begin());
            REQUIRE((*hit)->timestamp == *first);
        }
    }
}

TEST_CASE("a batch that cannot be opened is found as a whole", "[bps][log]") {
    SimulatedFiles files;
    const auto log = open_log(files, {});
    append(*log, record("a", 5));
    support::BatchSpec squeezed = record("b", 9);
    squeezed.attributes = 3;
    append(*log, squeezed);
    const auto hit = log->find_time(6, support::NoDecompressor());
    REQUIRE(hit.has_value());
    CHECK((*hit)->offset == 1);
    CHECK((*hit)->timestamp == 9);
}

TEST_CASE("epochs say where each leader's records end", "[bps][log]") {
    SimulatedFiles files;
    {
        const auto log = open_log(files, small_segments());
        append(*log, record("a"));
        REQUIRE(log->begin_epoch(3).has_value());
        REQUIRE(log->begin_epoch(4).has_value());
        append(*log, record("b"));
        append(*log, record("c"));
        REQUIRE(log->begin_epoch(7).has_value());
        append(*log, record("d"));
        sync(*log, files);
    }
    const auto ends = [](const bps::Log& log, std::int32_t epoch) {
        const auto end = log.epochs().end_of(epoch, log.end());
        return end ? std::pair<std::int64_t, std::int64_t>{end->epoch, end->start}
                   : std::pair<std::int64_t, std::int64_t>{-1, -1};
    };
    using Pair = std::pair<std::int64_t, std::int64_t>;
    const auto check = [&](const bps::Log& log) {
        CHECK(ends(log, 0) == Pair{0, 1});
        CHECK(ends(log, 3) == Pair{0, 1});  // It wrote nothing.
        CHECK(ends(log, 4) == Pair{4, 3});
        CHECK(ends(log, 6) == Pair{4, 3});
        CHECK(ends(log, 7) == Pair{7, 4});
        CHECK(ends(log, 8) == Pair{-1, -1});
    };
    check(*open_log(files, small_segments()));
    REQUIRE(files.remove("epochs").has_value());
    check(*open_log(files, small_segments()));
}

TEST_CASE("a log that is cut has what it had there", "[bps][log]") {
    for (std::int64_t cut = 0; cut <= 40; cut += 2) {
        SimulatedFiles files;
        SimulatedFiles shorter;
        const auto fill = [](bps::Log& log, std::int64_t end) {
            for (std::int64_t offset = 0; offset < end; offset += 2) {
                append(log,
                       {.records = {{"k", "a", 0}, {"k", "b", 0}},
                        .producer_id = offset % 3,
                        .producer_epoch = 0,
                        .base_sequence = static_cast<std::int32_t>(offset / 6 * 2)});
                if (offset == 20) REQUIRE(log.begin_epoch(1).has_value());
            }
        };
        const auto log = open_log(files, small_segments());
        fill(*log, 40);
        sync(*log, files);
        REQUIRE(log->truncate(cut + (cut < 40 ? 1 : 0)).has_value());
        log->check_invariants();
        const auto model = open_log(shorter, small_segments());
        fill(*model, cut);
        CHECK(log->end() == cut);
        CHECK(log->producers() == model->producers());
        CHECK(log->epochs().latest() == (cut > 22 ? 1 : std::min<std::int64_t>(cut, 1) - 1));
        const auto again = bps::Log::open(files, small_segments(), 0);
        REQUIRE(again.has_value());
        CHECK(again->log->end() == cut);
        CHECK(again->log->producers() == model->producers());
    }
}

TEST_CASE("a segment that a dead process filled leaves its producers when it goes", "[bps][log]") {
    support::SimulatedFiles files;
    const bps::LogSettings settings{
        .segment_bytes = 150, .retention_ms = 1'000, .producer_expiry_ms = 1'000'000};
    const auto from = [](std::int64_t producer, std::int64_t time) {
        support::BatchSpec batch = record("a", time);
        batch.producer_id = producer;
        batch.producer_epoch = 0;
        batch.base_sequence = 0;
        return batch;
    };
    {
        const auto log = open_log(files, settings);
        append(*log, from(1, 1), 1);
        append(*log, from(2, 1), 1);
        append(*log, from(3, 100'000), 100'000);
    }
    {
        const auto log = open_log(files, settings, 100'000);
        sync(*log, files);
        support::retain(*log, 100'000, log->end());
        REQUIRE(log->start() == 2);
    }
    CHECK(open_log(files, settings)->producers().size() == 3);
}
