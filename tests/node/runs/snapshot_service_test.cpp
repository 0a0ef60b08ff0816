#include "node/snapshot_service.hpp"

#include "tests/support/one_node.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <thread>

// The thread that makes snapshots, beside a node that goes on: what was asked for by hand is made
// of its own height though another is still being made, or the log says by name that it was not.

namespace {

using node::SnapshotService;

class Lines final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level /*level*/) const override { return true; }
    void write(base::Level /*level*/,
               std::string_view /*component*/,
               std::string_view line) override {
        std::unique_lock lock(mutex_);
        lines_.emplace_back(line);
        // The maker says what it made before it takes what comes next.
        if (!line.starts_with("snapshot=")) return;
        is_standing_ = true;
        go_on_.wait(lock, [this] { return !is_held_; });
        is_standing_ = false;
    }
    // The maker stands behind its next snapshot, and all that is asked for meanwhile waits.
    void hold() {
        const std::scoped_lock lock(mutex_);
        is_held_ = true;
    }
    void release() {
        const std::scoped_lock lock(mutex_);
        is_held_ = false;
        go_on_.notify_all();
    }
    [[nodiscard]] bool is_standing() const {
        const std::scoped_lock lock(mutex_);
        return is_standing_;
    }
    [[nodiscard]] bool has(std::string_view part) const {
        const std::scoped_lock lock(mutex_);
        return std::ranges::any_of(
            lines_, [&](const std::string& each) { return each.find(part) != std::string::npos; });
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable go_on_;
    std::vector<std::string> lines_;
    bool is_held_ = false;
    bool is_standing_ = false;
};

// The core thread is that of the test.
class Beside {
  public:
    explicit Beside(std::uint64_t bytes_per_second = 0) : rate_(bytes_per_second) {
        node_.storage().share();
        open();
    }
    ~Beside() {
        node_.on_finalized = nullptr;
        log.release();
    }

    // As after a restart of the node.
    void open() {
        node_.on_finalized = nullptr;
        service_.reset();
        SnapshotService::Options how;
        how.directory = home_ / "snapshots";
        how.chain_id = node_.genesis().chain_id();
        how.times = node_.genesis().times;
        how.bytes_per_second = rate_;
        auto opened = SnapshotService::open(how, node_.storage(), base::Log(log, "snapshot"));
        if (!opened) FAIL(opened.error().detail);
        service_ = *std::move(opened);
        service_->start();
        node_.on_finalized = [this](const node::effect::Finalized& told) {
            service_->on_finalized(told);
        };
    }
    // Without the service the node goes on, too.
    void close() {
        node_.on_finalized = nullptr;
        service_.reset();
    }
    void run(chain::Slot slots) {
        for (; slots > 0; --slots) {
            node_.tick_at(++slot_);
        }
    }
    // One is made of the next final block and holds up all others.
    void run_until_held() {
        log.hold();
        while (service_->counters().making_ms == 0)
            run(1);
        wait([this] { return log.is_standing(); });
    }
    void ask(std::uint32_t spacing, chain::Height start, chain::Height end) {
        const auto added = service_->schedule().add(
            {.spacing = spacing, .start = start, .end = end, .description = "by hand"});
        if (!added) FAIL(added.error().detail);
    }
    void wait(const std::function<bool()>& until) const {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!until()) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    void wait_idle() const {
        wait([&] { return service_->counters().making_ms == 0; });
    }
    [[nodiscard]] std::set<chain::Height> made() const {
        std::set<chain::Height> heights;
        for (const auto& each : service_->store().list())
            heights.insert(each.head.height);
        return heights;
    }
    [[nodiscard]] chain::Height last() const { return node_.view().finalized->header.height; }
    [[nodiscard]] SnapshotService& service() const { return *service_; }

    Lines log;

  private:
    const std::uint64_t rate_;
    TemporaryDirectory home_;
    support::OneNode node_;
    chain::Slot slot_ = 0;
    std::unique_ptr<SnapshotService> service_;
};

}  // namespace

TEST_CASE("heights that were asked for wait for the one before, and each has its own state") {
    Beside beside;
    beside.run(3);
    const chain::Height first = beside.last() + 1;
    beside.ask(1, first, first + 4);
    beside.ask(0, first + 5, UINT32_MAX);
    beside.run_until_held();
    beside.run(8);
    CHECK(beside.made() == std::set{first});
    beside.log.release();
    beside.wait_idle();
    std::set<chain::Height> asked;
    for (chain::Height height = first; height <= first + 5; ++height)
        asked.insert(height);
    CHECK(beside.made() == asked);
    CHECK(beside.service().counters().skipped_busy == 0);
    beside.wait([&] { return beside.service().schedule().list().empty(); });
    for (const auto& each : beside.service().store().list())
        CHECK(each.is_kept);
}

TEST_CASE("a height that was asked for and is not made is named with its request") {
    Beside beside;
    beside.run(3);
    const chain::Height first = beside.last() + 1;
    const auto waiting = static_cast<chain::Height>(SnapshotService::kWaitingMax);
    const std::string named = " of block=" + std::to_string(first + waiting + 3) + " is dropped";
    SECTION("too many wait") {
        beside.ask(1, first, first + waiting + 2);
        beside.ask(0, first + waiting + 3, UINT32_MAX);
        beside.run_until_held();
        beside.run(waiting + 6);
        CHECK(beside.service().counters().skipped_busy == 3);
        beside.log.release();
    }
    SECTION("the node did not run") {
        beside.ask(0, first + waiting + 3, UINT32_MAX);
        beside.close();
        beside.run(waiting + 6);
        beside.open();
        beside.run(1);
    }
    beside.wait([&] { return beside.log.has(named); });
    beside.wait([&] { return beside.service().schedule().list().empty(); });
}

TEST_CASE("a node that stops gives up the snapshot that is being made, and who asked is told") {
    Beside beside(1);  // It would take hours.
    beside.run(5);
    std::mutex mutex;
    std::optional<std::string> answer;
    beside.service().create([&](const auto& made) {
        const std::scoped_lock lock(mutex);
        answer = made ? made->name : made.error().detail;
    });
    beside.wait([&] { return beside.service().counters().making_ms > 0; });
    beside.run(5);
    beside.service().stop();
    const std::scoped_lock lock(mutex);
    REQUIRE(answer);
    CHECK(answer->find("the node stops") != std::string::npos);
    CHECK(beside.made().empty());
}
