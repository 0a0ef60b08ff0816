#pragma once

#include "bench/transport/node.hpp"
#include "bench/transport/result.hpp"

// What is measured, in the parts of spec 06, "Numbers to reach".
namespace measure {

// Rings of shared memory between threads that look, and between ends that sleep.
Lines rings(const Options& options);
// Channels of one way: round trips, streams, what is urgent beside bulk, rest.
Lines tcp_channels(const Options& options);
Lines shm_channels(const Options& options);
// Blocks fetched by TCP and by shared memory.
Lines sync(const Options& options);
// A slow reader, a killed peer, a path that is none.
Lines faults(Way way);

// Channels by RDMA against verbs alone, and what each of the verbs' means brings; where it was
// built and there is a device.
Lines rdma(const Options& options);

}  // namespace measure
