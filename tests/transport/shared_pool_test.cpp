// Messages whose memory is used again, whoever lets go of them last.
#include "transport/shared_pool.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace transport {

namespace {

SharedBytes make(SharedPool& pool, std::size_t size, std::byte fill) {
    base::Bytes bytes = pool.take();
    CHECK(bytes.empty());
    bytes.assign(size, fill);
    return pool.share(std::move(bytes));
}

}  // namespace

TEST_CASE("the memory of a message is used again after its last holder let go", "[transport]") {
    SharedPool pool;
    SharedBytes first = make(pool, 200, std::byte{1});
    SharedBytes other_holder = first;
    const base::Bytes* const object = first.get();
    const std::byte* const content = first->data();
    first.reset();
    // It is still held: what is made meanwhile lies elsewhere.
    const SharedBytes second = make(pool, 200, std::byte{2});
    CHECK(second->data() != content);
    CHECK(*other_holder == base::Bytes(200, std::byte{1}));
    other_holder.reset();
    const SharedBytes third = make(pool, 150, std::byte{3});
    CHECK(third.get() == object);
    CHECK(third->data() == content);
    CHECK(*third == base::Bytes(150, std::byte{3}));
}

TEST_CASE("what other threads let go of is used again, also when all do at once", "[transport]") {
    SharedPool pool;
    constexpr std::size_t kMessages = 64;
    std::set<const std::byte*> seen;
    std::atomic<int> wrong = 0;
    for (int round = 0; round < 50; ++round) {
        std::vector<SharedBytes> held;
        for (std::size_t i = 0; i < kMessages; ++i) {
            held.push_back(make(pool, 100, static_cast<std::byte>(i)));
            seen.insert(held.back()->data());
        }
        std::vector<std::thread> threads;
        threads.reserve(3);
        for (int t = 0; t < 3; ++t) {
            threads.emplace_back([held, &wrong] {
                for (std::size_t i = 0; i < kMessages; ++i) {
                    if (held[i]->front() != static_cast<std::byte>(i)) ++wrong;
                }
            });
        }
        held.clear();
        for (std::thread& thread : threads)
            thread.join();
    }
    CHECK(wrong == 0);
    CHECK(seen.size() == kMessages);
}

TEST_CASE("a message outlives its pool", "[transport]") {
    SharedBytes message;
    {
        SharedPool pool;
        message = make(pool, 10, std::byte{7});
    }
    CHECK(*message == base::Bytes(10, std::byte{7}));
}

TEST_CASE("of long messages no memory is kept, and of any no more than a bound", "[transport]") {
    SharedPool pool;
    make(pool, SpareMemory::kStringBytesKept + 1, std::byte{1}).reset();
    CHECK(pool.take().capacity() == 0);

    std::vector<SharedBytes> many;
    for (std::size_t i = 0; i < SpareMemory::kBlocksKept + 10; ++i)
        many.push_back(make(pool, 10, std::byte{2}));
    many.clear();
    std::size_t kept = 0;
    while (pool.take().capacity() > 0)
        ++kept;
    CHECK(kept == SpareMemory::kStringsKept);
}

}  // namespace transport
