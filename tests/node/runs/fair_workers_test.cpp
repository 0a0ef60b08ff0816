#include "node/fair_workers.hpp"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace {

// Jobs that wait until they are let go, and who ran when.
class Stage {
  public:
    [[nodiscard]] node::FairWorkers::Job job(const std::string& name) {
        return [this, name](std::size_t thread) {
            std::unique_lock lock(mutex_);
            order_.push_back(name);
            running_.insert(name);
            threads_.insert(thread);
            changed_.notify_all();
            changed_.wait(lock, [&] { return is_open_ || passes_ > 0; });
            if (!is_open_) --passes_;
            running_.erase(name);
            ++done_;
            changed_.notify_all();
        };
    }
    // Waits until so many have begun.
    std::vector<std::string> begun(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return order_.size() >= count; });
        return order_;
    }
    void let_one_go() {
        const std::scoped_lock lock(mutex_);
        ++passes_;
        changed_.notify_all();
    }
    void open() {
        const std::scoped_lock lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }
    void await_done(std::size_t count) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done_ >= count; });
    }
    std::set<std::string> running() {
        const std::scoped_lock lock(mutex_);
        return running_;
    }
    std::set<std::size_t> threads() {
        const std::scoped_lock lock(mutex_);
        return threads_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> order_;
    std::set<std::string> running_;
    std::set<std::size_t> threads_;
    int passes_ = 0;
    std::size_t done_ = 0;
    bool is_open_ = false;
};

}  // namespace

TEST_CASE("a client has one job at a time, however many it posts", "[fair]") {
    Stage stage;
    node::FairWorkers workers({.threads = 2});
    for (int i = 0; i < 10; ++i)
        REQUIRE(workers.post("greedy", stage.job("greedy" + std::to_string(i))));
    (void)stage.begun(1);
    // The other thread is free for somebody else.
    REQUIRE(workers.post("modest", stage.job("modest")));
    CHECK(stage.begun(2) == std::vector<std::string>{"greedy0", "modest"});
    CHECK(stage.running() == std::set<std::string>{"greedy0", "modest"});
    CHECK(stage.threads() == std::set<std::size_t>{0, 1});
    stage.open();
    stage.await_done(11);
}

TEST_CASE("those who wait come in turn, each with its jobs in their order", "[fair]") {
    Stage stage;
    node::FairWorkers workers({.threads = 1});
    REQUIRE(workers.post("a", stage.job("a0")));
    (void)stage.begun(1);
    for (const std::string name : {"a1", "a2", "a3"})
        REQUIRE(workers.post("a", stage.job(name)));
    for (const std::string name : {"b0", "b1"})
        REQUIRE(workers.post("b", stage.job(name)));
    REQUIRE(workers.post("c", stage.job("c0")));
    stage.open();
    stage.await_done(7);
    CHECK(stage.begun(7) == std::vector<std::string>{"a0", "b0", "c0", "a1", "b1", "a2", "a3"});
}

TEST_CASE("what waits is bounded, of all and of one", "[fair]") {
    Stage stage;
    node::FairWorkers workers({.threads = 1, .waiting_max = 4, .waiting_by_client = 2});
    REQUIRE(workers.post("a", stage.job("a0")));
    (void)stage.begun(1);
    CHECK(workers.post("a", stage.job("a1")));
    CHECK(workers.post("a", stage.job("a2")));
    CHECK_FALSE(workers.post("a", stage.job("a3")));
    CHECK(workers.post("b", stage.job("b0")));
    CHECK(workers.post("c", stage.job("c0")));
    CHECK_FALSE(workers.post("d", stage.job("d0")));
    stage.let_one_go();
    (void)stage.begun(2);
    CHECK(workers.post("d", stage.job("d0")));
    stage.open();
    stage.await_done(6);
}

TEST_CASE("the end waits for what runs and drops what waits", "[fair]") {
    Stage stage;
    node::FairWorkers workers({.threads = 1});
    REQUIRE(workers.post("a", stage.job("a0")));
    (void)stage.begun(1);
    REQUIRE(workers.post("a", stage.job("a1")));
    REQUIRE(workers.post("b", stage.job("b0")));
    stage.open();
    workers.stop();
    CHECK(stage.begun(1).front() == "a0");
    CHECK(stage.running().empty());
    CHECK_FALSE(workers.post("a", stage.job("a2")));
}
