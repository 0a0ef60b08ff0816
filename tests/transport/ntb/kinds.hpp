#pragma once

#include "transport/ntb/shm_kind.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

// Kinds of paths that misbehave as told, and what has to be given back.
namespace tests {

namespace link = transport::link;
namespace ntb = transport::ntb;

inline std::size_t count_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// Mappings of windows' memory.
inline std::size_t count_windows() {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.find("bor-window") != std::string::npos) ++count;
    return count;
}

inline std::unique_ptr<ntb::ShmKind> make_shm(ntb::ShmKind::Options options = {}) {
    auto kind = ntb::ShmKind::create(std::move(options));
    REQUIRE(kind);
    return std::move(*kind);
}

}  // namespace tests
