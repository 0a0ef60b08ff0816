#pragma once

#include "bench/ledger/report.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace bench {

// The same client for a broker and for the bare servers: one thread, which does little beside
// sending and receiving. Figures go into a report; whatever fails ends the program.
struct Server {
    std::string address{};  // HOST:PORT.
    bool has_tls = false;
    std::string topic;
    std::string token{};  // The password of alice@active; empty: nobody logs in.
};

struct Produce {
    std::size_t megabytes = 0;
    std::int32_t records = 0;      // Of a batch.
    std::size_t record_bytes = 0;  // Of a value.
    std::size_t in_flight = 0;     // Requests.
    std::int16_t acks = 1;
};
void measure_produce(const Server& server, const Produce& what, Report& report);

// Up to so many bytes, or the end: from the first record on, one request at a time.
void measure_fetch(const Server& server, std::size_t megabytes, Report& report);

// Consumers at the end of the topic, each with a request that waits for 500 ms, for so long.
void measure_idle(const Server& server, std::size_t consumers, std::size_t seconds, Report& report);

}  // namespace bench
