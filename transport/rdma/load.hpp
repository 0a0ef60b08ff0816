#pragma once

#include "base/time.hpp"
#include "transport/rdma/device.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

// How much a node lets come at once, by what it has left: the "load-aware" sizing of the thesis
// (section 3.4.2, formula 3.1), made continuous and with a floor. No memory is given back by it: a
// peer is told of fewer of the landings that it may write.
namespace transport::rdma {

// What a machine says of itself at one moment. 0: it does not say.
struct Reading {
    std::uint64_t memory = 0;  // Bytes,
    std::uint64_t free = 0;    // and how many of them can be had.
    std::uint64_t rate = 0;    // Of the link: bytes per second, each way.
    std::uint64_t received = 0;
    std::uint64_t sent = 0;  // Bytes, since whenever.
};
using Readings = std::function<Reading()>;

// Of the device's port, or of the network interface behind it, and of the memory. Files below
// `root`: some system calls, for each 10 s.
[[nodiscard]] Reading read_load(const Device& device, const std::filesystem::path& root = "/");

// Parts of a thousand.
struct Load {
    std::uint64_t memory = 0;  // U/T of the formula,
    std::uint64_t link = 0;    // and THR/B, of the way that is used more.
};
[[nodiscard]] Load load_between(const Reading& before, const Reading& now, base::Duration time);

// A peer that may write less would wait for each landing to be taken.
inline constexpr std::size_t kLandingsMin = 2;
// How many of `count` landings a peer may have under way; all, or kLandingsMin at least.
[[nodiscard]] std::size_t landings_for(const Load& load, std::size_t count);

}  // namespace transport::rdma
