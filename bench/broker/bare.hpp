#pragma once

#include "bench/broker/wire.hpp"

#include <cstdint>
#include <string>

namespace bench {

// The least that a server of Kafka's clients can do, for one connection at a time, one thread, and
// one partition; both serve for ever.

// Takes batches: the CRC is looked at, an offset is set, the batch is appended to `file`, and all
// that came meanwhile is answered after one fdatasync.
[[noreturn]] void run_sink(std::uint16_t port, const Identity& identity, const std::string& file);

// Sends what a sink has stored, batches of equal size: by sendfile, but with TLS.
[[noreturn]] void run_source(std::uint16_t port, const Identity& identity, const std::string& file);

}  // namespace bench
