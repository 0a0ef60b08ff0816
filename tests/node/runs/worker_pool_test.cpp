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

TEST_CASE("jobs of peers come last, of each peer in turn, and are not kept out",
          "[runs][threads]") {
    base::crypto::PublicKey busy;
    base::crypto::PublicKey quiet;
    quiet.point[0] = std::byte{1};
    std::promise<void> gate;
    std::string order;  // Of one thread alone.
    node::WorkerPool pool(1);
    pool.post_urgent([opened = gate.get_future().share()] { opened.wait(); });
    for (int i = 0; i < 6; ++i)
        pool.post_of_peer(busy, [&order] { order += 'B'; });
    for (int i = 0; i < 2; ++i)
        pool.post_of_peer(quiet, [&order] { order += 'Q'; });
    for (int i = 0; i < 6; ++i)
        pool.post([&order] { order += 'o'; });
    pool.post_urgent([&order] { order += 'u'; });
    // The first job is one of them until a worker has taken it.
    CHECK(pool.queued() >= 15);
    gate.set_value();
    pool.stop();
    CHECK(order == "uooooBooQBQBBBB");
    CHECK(pool.queued() == 0);
}
