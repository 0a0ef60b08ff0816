#include "node/bps/core/epochs.hpp"
#include "node/bps/core/log.hpp"
#include "tests/node/bps/core/simulated_files.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

// What a disk may hold in place of a log: any bytes as a segment and as each file beside it. It is
// opened or refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (bytes.empty()) return 0;
    const std::size_t kind = std::to_integer<std::size_t>(bytes[0]) % 6;
    const char* const names[] = {"00000000000000000000.log",
                                 "00000000000000000000.index",
                                 "epochs",
                                 "producers.00000000000000000000",
                                 "start",
                                 "durable"};
    support::SimulatedFiles files;
    if (!files.replace(names[kind], bytes.subspan(1))) return 0;
    const auto opened = bps::Log::open(files, {}, 0);
    if (opened) opened->log->check_invariants();
    return 0;
}
