#include "node/bps/core/group_commit.hpp"
#include "node/bps/core/log.hpp"
#include "tests/node/bps/core/log_fixture.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

// A broker's log whose process is killed, or whose power goes, at every write and sync of a
// scenario. Nothing that was acknowledged is lost, doubled or moved; the state of the producers is
// that of the batches that are there; deleted records stay deleted.
namespace {

using bps::ErrorCode;

constexpr int kRounds = 16;
constexpr std::int64_t kProducers = 3;
constexpr bps::LogId kLog = 1;

class Scenario {
  public:
    explicit Scenario(std::uint64_t seed) : rng_(seed) { open(); }

    [[nodiscard]] support::SimulatedFiles& files() { return files_; }

    // Goes on until all rounds are done, or the disk dies.
    void run(int rounds) {
        for (int i = 0; i < rounds && !files_.is_dead(); ++i) {
            if (log_->epochs().latest() < 0 && !log_->begin_epoch(0)) return;
            round();
        }
    }
    void restart(bool power_cut) {
        log_.reset();
        commit_ = bps::GroupCommit();
        waiting_.clear();
        files_.restart_after_kill();
        if (power_cut) files_.restart_after_power_cut(rng_);
        open();
    }
    void check() {
        check_acknowledged();
        check_producers();
        CHECK(log_->start() >= deleted_);
    }

  private:
    struct Batch {
        support::BatchSpec spec;
        std::int64_t offset = -1;
        bool is_acknowledged = false;
    };

    void open() {
        auto opened = bps::Log::open(files_, settings(), now_);
        if (!opened) FAIL(opened.error().detail);
        log_ = std::move(opened->log);
        commit_.attach(kLog, *log_);
        // What was sent and is not in the log is sent again.
        std::erase_if(sent_, [&](const Batch& batch) {
            return !batch.is_acknowledged && batch.offset >= log_->end();
        });
        for (auto& [id, next] : next_sequence_) {
            next = 0;
            for (const Batch& batch : sent_) {
                if (batch.spec.producer_id != id) continue;
                next =
                    batch.spec.base_sequence + static_cast<std::int32_t>(batch.spec.records.size());
            }
        }
    }
    static bps::LogSettings settings() { return {.segment_bytes = 500, .retention_bytes = 3'000}; }
    void round() {
        ++now_;
        const std::uint64_t batches = 1 + rng_.below(4);
        for (std::uint64_t i = 0; i < batches; ++i) {
            if (rng_.below(5) == 0 && !sent_.empty()) {
                send_again();
            } else {
                send_new();
            }
        }
        auto sync = commit_.begin_sync();
        // While the sync runs, more comes.
        if (rng_.below(2) == 0) send_new();
        if (!sync) return;
        for (const auto& part : sync->parts) {
            if (!files_.sync(part.files)) return;
        }
        commit_.on_synced();
        take_answers();
        if (files_.is_dead()) return;
        keep_house();
    }
    void keep_house() {
        if (rng_.below(3) == 0) (void)log_->checkpoint();
        if (rng_.below(4) == 0) (void)log_->retain(now_, log_->durable_end());
        if (rng_.below(6) == 0) {
            const std::int64_t to = log_->start() + 2;
            const auto deleted = log_->delete_records(to, log_->durable_end());
            if (deleted) deleted_ = std::max(deleted_, *deleted);
        }
        if (rng_.below(8) == 0) (void)log_->begin_epoch(log_->epochs().latest() + 1);
    }
    void send_new() {
        Batch batch;
        batch.spec.producer_id = static_cast<std::int64_t>(rng_.below(kProducers));
        batch.spec.producer_epoch = 0;
        std::int32_t& next = next_sequence_[batch.spec.producer_id];
        batch.spec.base_sequence = next;
        batch.spec.base_timestamp = now_;
        for (std::uint64_t n = 1 + rng_.below(3); n > 0; --n) {
            batch.spec.records.push_back({"key", "value " + std::to_string(rng_.below(1'000)), 0});
        }
        base::Bytes bytes = support::make_batch(batch.spec);
        const auto appended = log_->append(bytes, {}, now_);
        if (!appended) {
            CHECK(appended.error().code == ErrorCode::kafka_storage_error);
            return;
        }
        CHECK_FALSE(appended->is_duplicate);
        next += static_cast<std::int32_t>(batch.spec.records.size());
        batch.offset = appended->base_offset;
        sent_.push_back(batch);
        wait(sent_.size() - 1, appended->next_offset);
    }
    // As a client does that got no answer, or does not believe it.
    void send_again() {
        const std::size_t back = rng_.below(std::min<std::size_t>(3, sent_.size()));
        const std::size_t at = sent_.size() - 1 - back;
        base::Bytes bytes = support::make_batch(sent_[at].spec);
        const auto appended = log_->append(bytes, {}, now_);
        if (!appended) return;
        CHECK(appended->is_duplicate);
        CHECK(appended->base_offset == sent_[at].offset);
        wait(at, appended->next_offset);
    }
    void wait(std::size_t batch, std::int64_t end) {
        commit_.wait(kLog, end, next_answer_);
        waiting_[next_answer_++] = batch;
    }
    void take_answers() {
        for (const bps::GroupCommit::Answer& answer : commit_.take_ready()) {
            if (answer.code == ErrorCode::none) {
                sent_[waiting_.at(answer.id)].is_acknowledged = true;
            }
            waiting_.erase(answer.id);
        }
    }
    void check_acknowledged() {
        std::int64_t end = 0;
        for (const Batch& batch : sent_) {
            REQUIRE(batch.offset == end);
            end = batch.offset + static_cast<std::int64_t>(batch.spec.records.size());
            if (batch.is_acknowledged) REQUIRE(end <= log_->end());
            if (batch.offset < log_->start() || end > log_->end()) continue;
            const auto found = log_->find(batch.offset, log_->end(), 1);
            REQUIRE(found.has_value());
            const base::Bytes stored = support::fetched(files_, *found);
            const auto header = bps::read_stored_batch(stored, batch.offset);
            REQUIRE(header.has_value());
            base::Bytes expected = support::make_batch(batch.spec);
            bps::set_place(expected, batch.offset, header->leader_epoch);
            REQUIRE(base::equal(stored, expected));
        }
        CHECK(log_->end() == end);
    }
    void check_producers() {
        bps::Producers model;
        for (const Batch& batch : sent_) {
            base::Bytes bytes = support::make_batch(batch.spec);
            bps::set_place(bytes, batch.offset, 0);
            model.add(*bps::read_batch_header(bytes));
        }
        CHECK((log_->producers() == model));
    }

    support::SimulatedFiles files_;
    base::Rng rng_;
    std::unique_ptr<bps::Log> log_;
    bps::GroupCommit commit_;
    std::vector<Batch> sent_;  // What may be in the log, by offset.
    std::map<std::int64_t, std::int32_t> next_sequence_;
    std::map<bps::AnswerId, std::size_t> waiting_;
    bps::AnswerId next_answer_ = 0;
    std::int64_t deleted_ = 0;
    std::int64_t now_ = 1;
};

std::uint64_t writes_of(std::uint64_t seed) {
    Scenario scenario(seed);
    scenario.run(kRounds);
    scenario.check();
    return scenario.files().writes();
}

}  // namespace

TEST_CASE("no write or sync after which a cut loses, doubles or moves a record", "[bps][log]") {
    std::uint64_t cuts = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const std::uint64_t writes = writes_of(seed);
        REQUIRE(writes > 40);
        for (std::uint64_t write = 3; write <= writes; ++write) {
            for (const bool power_cut : {false, true}) {
                INFO("seed " << seed << ", write " << write << ", power cut " << power_cut);
                Scenario scenario(seed);
                scenario.files().die_at(write);
                scenario.run(kRounds);
                scenario.restart(power_cut);
                scenario.check();
                scenario.run(3);
                scenario.check();
                ++cuts;
            }
        }
    }
    CHECK(cuts > 1'000);
}
