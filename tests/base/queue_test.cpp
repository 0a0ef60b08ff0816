#include "base/queue.hpp"

#include <catch2/catch.hpp>

#include <deque>
#include <memory>

TEST_CASE("a queue gives back what was pushed, in its order, whatever its length", "[base]") {
    base::Queue<std::unique_ptr<int>> queue;
    std::deque<int> expected;
    int next = 0;
    // Longer, shorter and empty in turn.
    for (const int pushes : {1, 100, 3, 40, 1'000, 0}) {
        for (int i = 0; i < pushes; ++i) {
            queue.push(std::make_unique<int>(next));
            expected.push_back(next++);
        }
        for (int takes = pushes == 0 ? next : 30; takes > 0 && !expected.empty(); --takes) {
            REQUIRE(*queue.front() == expected.front());
            REQUIRE(*queue.take() == expected.front());
            expected.pop_front();
        }
        CHECK(queue.size() == expected.size());
    }
    CHECK(queue.empty());
}
