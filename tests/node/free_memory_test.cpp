#include "node/free_memory.hpp"

#include <catch2/catch.hpp>

#include <cstddef>
#include <fstream>
#include <functional>
#include <thread>
#include <unistd.h>
#include <vector>

// Memory that malloc keeps goes back to the system. A sanitizer has a malloc of its own.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t mapped = 0;
    std::size_t pages = 0;
    file >> mapped >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

// Much that is freed, and a little above each part of it that is not.
void use_much(std::vector<std::vector<char>>& kept) {
    std::vector<std::vector<char>> freed;
    for (int i = 0; i < 4'000; ++i) {
        freed.emplace_back(std::size_t{64} << 10, 'x');
        kept.emplace_back(64);
    }
}

TEST_CASE("memory that a flood took goes back to the system") {
    std::vector<std::vector<char>> kept;
    std::thread(use_much, std::ref(kept)).join();
    const std::size_t before = resident();
    CHECK(before > 250 * kMiB);
    node::give_back_free_memory();
    CHECK(resident() < before - 200 * kMiB);
    // There is less than what is worth the time.
    const std::size_t after = resident();
    std::thread([&kept] {
        for (auto& each : kept)
            each = std::vector<char>(std::size_t{1} << 10);
    }).join();
    node::give_back_free_memory();
    CHECK(resident() > after);
}

}  // namespace

#endif
