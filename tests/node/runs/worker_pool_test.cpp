#include "node/worker_pool.hpp"

#include <catch2/catch.hpp>

#include <future>
#include <string>

TEST_CASE("urgent jobs run before the others, both in the order in which they came",
          "[runs][threads]") {
    std::promise<void> gate;
    std::string order;  // Of one thread alone.
    node::WorkerPool pool(1);
    pool.post([opened = gate.get_future().share()] { opened.wait(); });
    for (const char name : {'c', 'd'})
        pool.post([&order, name] { order += name; });
    for (const char name : {'a', 'b'})
        pool.post_urgent([&order, name] { order += name; });
    gate.set_value();
    pool.stop();
    CHECK(order == "abcd");
    CHECK(pool.queued() == 0);
}
