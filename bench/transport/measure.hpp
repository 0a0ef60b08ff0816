#pragma once

#include "bench/transport/channels.hpp"
#include "bench/transport/node.hpp"
#include "bench/transport/result.hpp"

// What is measured, in the parts of spec 06, "Numbers to reach".
namespace measure {

// Rings of shared memory between threads that look, and between ends that sleep.
void rings(const Options& options, const Report& report);
// Channels of one way: round trips, streams, what is urgent beside bulk, rest.
void tcp_channels(const Options& options, const Report& report);
void shm_channels(const Options& options, const Report& report);
// Blocks fetched by TCP and by shared memory.
void sync(const Options& options, const Report& report);
// Blocks of a chain fetched by one way against TCP: time and processor, the best of some turns.
struct Fetched {
    Way way = Way::shm;
    std::size_t blocks = 0;
    std::size_t bytes = 0;  // Of a block.
    int turns = 1;
    bool has_goal = false;  // The thesis' claim.
};
void fetched(const Fetched& what, const Report& report);
// What a node with 4 peers takes when nothing is sent, and what a bare timer of as many wake-ups
// would. Returns the node's.
channels::Idle idle(
    Way way,
    std::chrono::seconds duration,
    const Report& report,
    const std::function<double()>& count = [] { return 0.0; });
// A slow reader, a killed peer, a path that is none.
void faults(Way way, const Report& report);

// Channels by RDMA against verbs alone, and what each of the verbs' means brings; where it was
// built and there is a device.
void rdma(const Options& options, const Report& report);

}  // namespace measure
