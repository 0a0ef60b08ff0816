// What a machine without RDMA says: in plain words, and the node goes on by TCP.
#include "transport/rdma/kind.hpp"

#include <catch2/catch.hpp>

namespace tests {

namespace rdma = transport::rdma;

TEST_CASE("without an RDMA device the kind says so, with one it names it") {
    const auto kind = rdma::RdmaKind::create();
    if (kind) {
        CHECK_THAT((*kind)->description(), Catch::Contains("device "));
    } else {
        CHECK(kind.error().code == base::Errc::unavailable);
        CHECK_THAT(kind.error().detail, Catch::Contains("RDMA device"));
    }
}

TEST_CASE("an address that no RDMA device has is refused by name") {
    const auto nonsense = rdma::RdmaKind::create({.address = "over there"});
    REQUIRE_FALSE(nonsense);
    CHECK_THAT(nonsense.error().detail, Catch::Contains("'over there' is no IP address"));
    for (const char* address : {"192.0.2.77", "2001:db8::77"}) {
        const auto foreign = rdma::RdmaKind::create({.address = address});
        REQUIRE_FALSE(foreign);
        CHECK(foreign.error().code == base::Errc::unavailable);
        CHECK_THAT(foreign.error().detail, Catch::Contains("RDMA"));
    }
}

}  // namespace tests
