// A compacted log against what was appended to it: the last record of each key stays where it was,
// others go, and whoever reads it meanwhile, or after the power went at any write, sees nothing
// else.
#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/log.hpp"
#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace {

using Compacted = bps::Log::Compacted;
using support::NoDecompressor;
using support::SimulatedFiles;

constexpr bps::LogId kLog = 1;
constexpr std::int64_t kDeleteRetention = 1'000;
const NoDecompressor kOpener;

struct Appended {
    std::string key;
    std::optional<std::string> value;
    std::int64_t time = 0;

    friend bool operator==(const Appended&, const Appended&) = default;
};

bps::LogSettings compacting() {
    return {.segment_bytes = 700, .compacts = true, .delete_retention_ms = kDeleteRetention};
}

std::string text_of(base::ByteView bytes) {
    return std::string(base::as_text(bytes));
}

// What a consumer gets that reads all of it.
std::map<std::int64_t, Appended> read_all(const bps::Log& log, const SimulatedFiles& files) {
    std::map<std::int64_t, Appended> found;
    for (std::int64_t offset = log.start(); offset < log.durable_end();) {
        const auto stored = log.find(offset, log.durable_end(), 1);
        REQUIRE(stored.has_value());
        REQUIRE(stored->bytes > 0);
        const base::Bytes bytes = support::fetched(files, *stored);
        const auto header = bps::read_stored_batch(bytes, 0);
        REQUIRE(header.has_value());
        REQUIRE(header->next_offset() > offset);
        base::Bytes opened;
        auto walk = bps::open_records(bytes, *header, kOpener, opened);
        REQUIRE(walk.has_value());
        std::int64_t greatest = -1;
        while (const auto record = walk->next().value()) {
            std::optional<std::string> value;
            if (record->value) value = text_of(*record->value);
            greatest = std::max(greatest, record->timestamp);
            const std::int64_t at = header->base_offset + record->offset_delta;
            if (at < log.start()) continue;
            found[at] = {text_of(record->key.value()), value, record->timestamp};
        }
        CHECK(header->max_timestamp == greatest);
        offset = header->next_offset();
    }
    return found;
}

class Scenario {
  public:
    explicit Scenario(std::uint64_t seed) : rng_(seed) { open(); }

    [[nodiscard]] SimulatedFiles& files() { return files_; }
    [[nodiscard]] bps::Log& log() { return *log_; }
    [[nodiscard]] std::size_t compactions() const { return compactions_; }

    void run(int rounds) {
        for (int i = 0; i < rounds && !files_.is_dead(); ++i) {
            if (log_->epochs().latest() < 0 && !log_->begin_epoch(0)) return;
            append();
            if (rng_.below(3) == 0) sync();
            if (rng_.below(2) == 0) compact();
            if (rng_.below(40) == 0) delete_some();
            now_ += static_cast<std::int64_t>(rng_.below(40));
            if (!files_.is_dead()) log_->check_invariants();
        }
    }
    // Until nothing is left to do.
    void settle() {
        sync();
        while (log_->wants_compaction(log_->durable_end()) || is_under_way_) {
            compact();
            sync();
        }
    }
    void restart(bool power_cut) {
        log_.reset();
        commit_ = bps::GroupCommit();
        files_.restart_after_kill();
        if (power_cut) files_.restart_after_power_cut(rng_);
        open();
        REQUIRE(log_->end() >= durable_);
        sent_.resize(static_cast<std::size_t>(log_->end()));
        sync();
    }
    void pass(std::int64_t milliseconds) { now_ += milliseconds; }

    // All that is there was appended so, and of each key the last record is.
    void check() {
        const auto found = read_all(*log_, files_);
        std::map<std::string, std::int64_t> last;
        for (std::int64_t at = 0; at < log_->durable_end(); ++at) {
            if (at >= log_->start()) last[sent_[static_cast<std::size_t>(at)].key] = at;
        }
        for (const auto& [at, record] : found)
            REQUIRE(record == sent_[static_cast<std::size_t>(at)]);
        for (const auto& [key, at] : last) {
            const Appended& record = sent_[static_cast<std::size_t>(at)];
            const bool may_go = !record.value && record.time < now_ - kDeleteRetention;
            INFO("key " << key << ", offset " << at);
            REQUIRE((found.contains(at) || may_go));
            // Else what it says to be gone would be back.
            if (found.contains(at) || record.value) continue;
            for (const auto& [other, kept] : found)
                REQUIRE((kept.key != key || other > at));
        }
    }
    // Nothing is left that need not be, as far as it is compacted.
    void check_compacted() {
        const std::int64_t clean_end = log_->clean_end();
        REQUIRE(2 * clean_end > log_->end());
        std::map<std::string, std::int64_t> last;
        const auto found = read_all(*log_, files_);
        for (const auto& [at, record] : found)
            if (at < clean_end) last[record.key] = at;
        for (const auto& [at, record] : found) {
            if (at < clean_end) REQUIRE(last[record.key] == at);
        }
    }

  private:
    void open() {
        auto opened = bps::Log::open(files_, compacting(), now_);
        if (!opened) FAIL(opened.error().detail);
        log_ = std::move(opened->log);
        CHECK_FALSE(files_.has("compacted"));
        commit_.attach(kLog, *log_);
        commit_.touch(kLog);
        is_under_way_ = false;
    }
    void append() {
        support::BatchSpec spec;
        spec.base_timestamp = now_;
        const auto sequence = static_cast<std::int32_t>(sent_.size());
        std::vector<Appended> records;
        for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
            const std::string key = "key " + std::to_string(rng_.below(12));
            std::optional<std::string> value;
            if (rng_.below(5) > 0) value = "value " + std::to_string(sequence);
            spec.records.push_back({key, value, 0});
            records.push_back({key, value, now_});
        }
        base::Bytes batch = support::make_batch(spec);
        const auto appended = log_->append(batch, {}, now_);
        if (!appended) return;
        CHECK(appended->base_offset == static_cast<std::int64_t>(sent_.size()));
        sent_.insert(sent_.end(), records.begin(), records.end());
        commit_.touch(kLog);
    }
    void sync() {
        const auto asked = commit_.begin_sync();
        if (!asked) return;
        for (const auto& part : asked->parts) {
            if (!files_.sync(part.files)) return;
        }
        commit_.on_synced();
        durable_ = log_->durable_end();
    }
    void compact() {
        const auto step = log_->compact(now_, log_->durable_end(), kOpener);
        if (!step) {
            CHECK(files_.is_dead());
            return;
        }
        if (*step == Compacted::unsynced) commit_.touch(kLog);
        const bool goes_on = *step != Compacted::nothing;
        if (is_under_way_ && !goes_on) ++compactions_;
        is_under_way_ = goes_on;
    }
    void delete_some() {
        (void)log_->delete_records(std::min(log_->start() + 5, log_->durable_end()),
                                   log_->durable_end());
    }

    SimulatedFiles files_;
    base::Rng rng_;
    std::unique_ptr<bps::Log> log_;
    bps::GroupCommit commit_;
    std::vector<Appended> sent_;  // By offset.
    std::int64_t durable_ = 0;
    std::int64_t now_ = 10'000;
    bool is_under_way_ = false;
    std::size_t compactions_ = 0;
};

void append_synced(bps::Log& log, SimulatedFiles& files, const support::BatchSpec& spec) {
    support::append(log, spec, spec.base_timestamp);
    support::sync(log, files);
}

// All steps of a compaction; how many there were.
std::size_t compact_all(bps::Log& log, SimulatedFiles& files, std::int64_t now) {
    for (std::size_t steps = 1;; ++steps) {
        const auto step = log.compact(now, log.durable_end(), kOpener);
        if (!step) FAIL(step.error().detail);
        if (*step == Compacted::nothing) return steps;
        if (*step == Compacted::more) continue;
        const auto point = log.unsynced();
        REQUIRE(files.sync(point.files));
        REQUIRE(log.on_synced(point).has_value());
    }
}

}  // namespace

TEST_CASE("of each key the last record stays, where it was", "[bps][log][compaction]") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        INFO("seed " << seed);
        Scenario scenario(seed);
        for (int i = 0; i < 40; ++i) {
            scenario.run(20);
            scenario.check();
        }
        for (int i = 0; i < 3; ++i) {
            scenario.run(20);
            scenario.settle();
        }
        scenario.check();
        scenario.check_compacted();
        CHECK(scenario.compactions() > 5);
        // Of 1,600 records in 90 KB 12 keys are left; small neighbours are joined by the next one.
        CHECK(scenario.log().segments().size() < 25);
        CHECK(scenario.files().bytes() < 9'000);
        scenario.restart(true);
        scenario.check();
    }
}

TEST_CASE("the power may go at each write and sync of a compaction", "[bps][log][compaction]") {
    constexpr int kRounds = 90;
    std::uint64_t cuts = 0;
    std::size_t compactions = 0;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Scenario whole(seed);
        whole.run(kRounds);
        compactions += whole.compactions();
        const std::uint64_t writes = whole.files().writes();
        for (std::uint64_t write = 3; write <= writes; ++write) {
            for (const bool power_cut : {false, true}) {
                INFO("seed " << seed << ", write " << write << ", power cut " << power_cut);
                Scenario scenario(seed);
                scenario.files().die_at(write);
                scenario.run(kRounds);
                scenario.restart(power_cut);
                scenario.check();
                scenario.run(10);
                scenario.settle();
                scenario.check();
                ++cuts;
            }
        }
    }
    CHECK(compactions > 8);
    CHECK(cuts > 2'000);
}

TEST_CASE("a record that says that its key is gone goes later", "[bps][log][compaction]") {
    SimulatedFiles files;
    const auto log = support::open_log(files, compacting());
    append_synced(*log, files, {.records = {{"a", "1", 0}}, .base_timestamp = 5'000});
    append_synced(*log, files, {.records = {{"a", std::nullopt, 0}}, .base_timestamp = 5'000});
    const auto fill = [&](const std::string& key) {
        while (true) {
            const std::size_t before = log->segments().size();
            append_synced(*log, files, {.records = {{key, "x", 0}}, .base_timestamp = 5'000});
            if (log->segments().size() > before) return;
        }
    };
    fill("b");
    compact_all(*log, files, 5'000 + kDeleteRetention);
    auto found = read_all(*log, files);
    CHECK_FALSE(found.contains(0));
    CHECK(found.contains(1));
    fill("c");
    compact_all(*log, files, 5'001 + kDeleteRetention);
    found = read_all(*log, files);
    CHECK_FALSE(found.contains(1));
}

TEST_CASE("offsets that have no record lead to the next one", "[bps][log][compaction]") {
    SimulatedFiles files;
    const auto log = support::open_log(files, compacting());
    for (int i = 0; i < 40; ++i)
        append_synced(*log, files, {.records = {{"k", std::to_string(i), 0}}, .base_timestamp = i});
    const std::int64_t end = log->end();
    const std::int64_t last_base = log->segments().back().base;
    compact_all(*log, files, 50);
    CHECK(log->clean_end() == last_base);
    CHECK(log->end() == end);
    CHECK(log->start() == 0);
    for (std::int64_t offset = 0; offset < last_base; ++offset) {
        const auto found = log->find(offset, end, 1);
        REQUIRE(found.has_value());
        const auto header = bps::read_batch_header(support::fetched(files, *found));
        // The one that stands for the end of its segment.
        const auto segment = std::ranges::find_if(
            log->segments(), [&](const bps::Segment& each) { return each.next > offset; });
        CHECK(header->next_offset() == segment->next);
        CHECK(header->records_count == (segment->next == last_base ? 1 : 0));
    }
    CHECK(log->find_time(0, kOpener)->value().offset == last_base - 1);
    // With nothing added, nothing is written.
    const std::uint64_t writes = files.writes();
    CHECK(compact_all(*log, files, 60) == 1);
    CHECK(files.writes() == writes);
}

TEST_CASE("damage is named, and not written anew", "[bps][log][compaction]") {
    SimulatedFiles files;
    const auto log = support::open_log(files, compacting());
    for (int i = 0; i < 40; ++i)
        append_synced(*log, files, support::record(std::to_string(i)));
    const std::string name = log->segments()[1].log_name();
    base::Bytes& content = files.content(name);
    std::string reason = " at byte 0: CRC";
    SECTION("a record") {
        content[65] ^= std::byte{1};
    }
    SECTION("the offset of its last batch, which no CRC covers") {
        std::size_t last = 0;
        for (std::size_t at = 0; at < content.size();) {
            last = at;
            at += bps::read_batch_header(base::ByteView(content).subspan(at)).value().bytes();
        }
        content[last + 6] ^= std::byte{1};
        reason = " ends with offset ";
    }
    base::Result<Compacted> step = Compacted::more;
    while (step && *step == Compacted::more)
        step = log->compact(0, log->durable_end(), kOpener);
    REQUIRE_FALSE(step.has_value());
    CHECK(step.error().code == base::Errc::corrupt);
    INFO(step.error().detail);
    CHECK(step.error().detail.starts_with(name + reason));
    CHECK_FALSE(log->has_failed());
}

TEST_CASE("with more keys than fit, it goes on where it was", "[bps][log][compaction]") {
    SimulatedFiles files;
    constexpr int kKeys = 50;
    for (int i = 0; i < 3 * kKeys; ++i) {
        // Written by hand: what a compaction has noted is bounded by its settings.
        const auto log = support::open_log(files, compacting());
        append_synced(*log, files, {.records = {{std::to_string(i % kKeys), "v", 0}}});
    }
    const auto log = support::open_log(files, compacting());
    std::vector<bps::Compaction::Source> sources;
    for (const bps::Segment& each : log->segments()) {
        if (each.is_sealed) sources.push_back({each.base, each.next, each.bytes, each.kept_time});
    }
    bps::Compaction compaction(
        files, {.segment_bytes = 700, .removals_before = 0, .keys_max = 20}, sources);
    while (compaction.state() == bps::Compaction::State::noting)
        REQUIRE(compaction.step(kOpener).has_value());
    while (compaction.state() == bps::Compaction::State::looking)
        REQUIRE(compaction.step(kOpener).has_value());
    // Each key comes again after 50: of the first 20 nothing goes.
    CHECK(compaction.state() == bps::Compaction::State::finished);
    CHECK(compaction.clean_end() == 20);
}
