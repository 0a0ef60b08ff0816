#include "node/bps/service/fair_queue.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace {

using bps::FairQueue;
using bps::Tenant;

// Requests are numbered by tenant; each tenant's cost the same.
class Queue {
  public:
    explicit Queue(std::map<Tenant, int> costs) : costs_(std::move(costs)) {}

    void put(Tenant tenant, int count = 1) {
        for (int i = 0; i < count; ++i)
            queue_.put(tenant, {.id = {.connection = tenant, .number = ++put_}, .frame = {}});
    }
    // Whose requests were taken.
    std::vector<Tenant> take(int count) {
        std::vector<Tenant> taken;
        taken.reserve(static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            const auto next = queue_.take();
            CHECK(next.item.id.connection == next.tenant);
            CHECK(next.item.id.number > last_[next.tenant]);
            last_[next.tenant] = next.item.id.number;
            queue_.charge(next.tenant, std::chrono::milliseconds(costs_.at(next.tenant)));
            taken.push_back(next.tenant);
        }
        return taken;
    }
    [[nodiscard]] bool empty() const { return queue_.empty(); }
    FairQueue& queue() { return queue_; }
    [[nodiscard]] std::size_t tenants() const { return queue_.tenants(); }

  private:
    const std::map<Tenant, int> costs_;
    FairQueue queue_;
    std::uint64_t put_ = 0;
    std::map<Tenant, std::uint64_t> last_;
};

}  // namespace

TEST_CASE("tenants get the same time, not the same number of requests", "[bps][fair]") {
    Queue queue({{1, 10}, {2, 1}});
    queue.put(1, 100);
    queue.put(2, 1'000);
    const auto taken = queue.take(110);
    const auto of_first = std::ranges::count(taken, Tenant{1});
    CHECK(of_first >= 9);
    CHECK(of_first <= 11);
}

TEST_CASE("who comes does not wait behind what another has asked before", "[bps][fair]") {
    Queue queue({{1, 10}, {2, 1}});
    queue.put(1, 100);
    CHECK(queue.take(3) == std::vector<Tenant>{1, 1, 1});
    queue.put(2);
    CHECK(queue.take(2) == std::vector<Tenant>{2, 1});
}

TEST_CASE("who was away has saved up no time", "[bps][fair]") {
    Queue queue({{1, 10}, {2, 10}});
    queue.put(2);
    (void)queue.take(1);
    queue.put(1, 100);
    (void)queue.take(50);
    queue.put(2, 50);
    const auto taken = queue.take(20);
    CHECK(std::ranges::count(taken, Tenant{1}) >= 9);
}

TEST_CASE("who asks for one dear thing at a time owes it to others", "[bps][fair]") {
    Queue queue({{1, 100}, {2, 1}});
    queue.put(2, 1'000);
    int of_first = 0;
    for (int i = 0; i < 400; ++i) {
        if (i == 0 || queue.take(1) == std::vector<Tenant>{1}) {
            ++of_first;
            queue.put(1);
        }
    }
    CHECK(of_first <= 6);
}

TEST_CASE("nothing is kept of tenants that rest and owe nothing", "[bps][fair]") {
    Queue queue({{1, 1}, {2, 1}, {3, 1}});
    for (const Tenant tenant : {Tenant{1}, Tenant{2}})
        queue.put(tenant);
    (void)queue.take(2);
    CHECK(queue.empty());
    queue.put(3, 3);
    (void)queue.take(3);
    CHECK(queue.tenants() == 1);
}

TEST_CASE("who is held waits for its time, and nobody else for it", "[bps][fair]") {
    Queue queue({{1, 1}, {2, 1}});
    queue.put(1, 2);
    CHECK(queue.queue().first() == 1);
    queue.queue().hold_first(500);
    CHECK(queue.empty());
    queue.put(1);
    CHECK(queue.empty());
    queue.put(2, 2);
    CHECK(queue.take(2) == std::vector<Tenant>{2, 2});
    queue.queue().release(499);
    CHECK(queue.empty());
    CHECK(queue.queue().next_release() == 500);
    queue.queue().release(500);
    CHECK_FALSE(queue.queue().next_release().has_value());
    queue.put(2);
    const auto taken = queue.take(4);
    CHECK(std::ranges::count(taken, Tenant{1}) == 3);
    CHECK(queue.empty());
}
