#pragma once

#include "node/bps/service/figures.hpp"

#include <prometheus/registry.h>

#include <cstdint>

namespace node {

// The part of the metrics that is about the broker. `now` in milliseconds since 1970.
//
// Thread: any, one at a time.
void show_broker(const bps::Figures& figures, std::int64_t now, prometheus::Registry& registry);

}  // namespace node
