// What a peer says of its end of a path by RDMA, and what it writes to ours: what decodes is
// encoded the same way.
#include "base/check.hpp"
#include "transport/rdma/landing.hpp"
#include "transport/rdma/parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

namespace link = transport::link;
namespace rdma = transport::rdma;

template <class T>
T prefix(base::ByteView bytes) {
    T out{};
    std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
}

// A peer that names and writes landings as it likes: none is taken that it did not seal.
void take_landings(base::ByteView bytes) {
    static base::Bytes memory(3 * rdma::kLandingPlaceBytes);
    static base::Bytes out(link::kLandingBytes);
    rdma::LandingReader reader(memory, base::Hash256{});
    constexpr std::size_t kStep = 2 + link::kLandingFrameBytes;
    for (; bytes.size() >= kStep; bytes = bytes.subspan(kStep)) {
        const std::size_t at = std::to_integer<std::size_t>(bytes[0]) * 97;
        memory[at] = bytes[1];
        const auto landing = link::decode_landing(bytes.subspan(2, link::kLandingFrameBytes));
        if (!landing) continue;
        CHECK(landing->bytes > 0 && landing->bytes <= link::kLandingBytes);
        CHECK(!reader.take(*landing, std::span(out).first(landing->bytes)));
    }
    CHECK(reader.taken() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto address = rdma::decode_address(bytes))
        CHECK(base::equal(rdma::encode(*address), bytes));
    if (const auto parameters = rdma::decode_parameters(bytes)) {
        CHECK(base::equal(rdma::encode(*parameters), bytes));
        CHECK(parameters->region_bytes() < std::size_t{10} << 20U);
    }
    const auto bits = prefix<std::uint32_t>(bytes);
    if (const auto immediate = rdma::decode_immediate(bits))
        CHECK(rdma::encode(*immediate) == bits);
    take_landings(bytes);
    const auto words = prefix<rdma::CreditWords>(bytes);
    if (const auto credit = rdma::decode_credit(words)) CHECK(rdma::encode(*credit) == words);
    return 0;
}
