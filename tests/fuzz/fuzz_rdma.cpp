// What a peer says of its end of a path by RDMA, and what it writes to ours: what decodes is
// encoded the same way.
#include "base/check.hpp"
#include "transport/rdma/parameters.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

namespace rdma = transport::rdma;

template <class T>
T prefix(base::ByteView bytes) {
    T out{};
    std::memcpy(&out, bytes.data(), std::min(bytes.size(), sizeof out));
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto address = rdma::decode_address(bytes))
        CHECK(base::equal(rdma::encode(*address), bytes));
    if (const auto parameters = rdma::decode_parameters(bytes)) {
        CHECK(base::equal(rdma::encode(*parameters), bytes));
        CHECK(parameters->geometry().region_bytes() < std::size_t{9} << 20U);
    }
    const auto bits = prefix<std::uint32_t>(bytes);
    if (const auto immediate = rdma::decode_immediate(bits))
        CHECK(rdma::encode(*immediate) == bits);
    const auto words = prefix<rdma::CreditWords>(bytes);
    if (const auto credit = rdma::decode_credit(words)) CHECK(rdma::encode(*credit) == words);
    return 0;
}
