// A join line: what is accepted prints as a text that reads the same.
#include "base/check.hpp"
#include "genesis/join_line.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)genesis::HostPort::from_string(text);
    const auto line = genesis::JoinLine::from_string(text);
    if (!line) return 0;
    const std::string written = line->to_string();
    const auto again = genesis::JoinLine::from_string(written);
    CHECK(again && again->to_string() == written);
    CHECK(genesis::HostPort::from_string(line->p2p_address())->port == line->p2p_port);
    return 0;
}
