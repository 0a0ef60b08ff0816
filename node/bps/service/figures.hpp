#pragma once

#include "node/bps/core/codec/error_code.hpp"
#include "node/bps/core/partitions.hpp"
#include "node/bps/service/gateway.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bps {

// What a broker does, as of a second ago at most. Counts are since the start.
struct Figures {
    DataCounts taken;
    std::uint64_t sent_bytes = 0;
    std::uint64_t throttled = 0;  // Answers after which a client was not read for a while.
    Gateway::Answered answered;
    std::uint64_t syncs = 0;
    std::uint64_t sync_microseconds = 0;
    std::size_t partitions = 0;  // That it has a log of.
    std::size_t led = 0;         // Of these.
    std::size_t unserved = 0;    // That it should serve and does not.
    std::size_t connections = 0;
    std::size_t groups = 0;
    std::uint64_t log_bytes = 0;
    std::int64_t rows_time = 0;  // Of the last final block, in milliseconds since 1970; 0: none.
    std::int32_t broker = 0;     // In the contract's table.
    // Of its start that is in a final block; absent: it serves nobody.
    std::optional<std::uint32_t> boot;
    std::string trouble;                 // Why it serves nobody, as the log says; empty: none.
    std::vector<std::string> reasons;    // Of the first that it does not serve, four at most.
    std::vector<std::string> addresses;  // Where it listens.
    bool is_disk_low = false;            // Nothing is taken.
};

}  // namespace bps
