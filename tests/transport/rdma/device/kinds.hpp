#pragma once

#include "transport/rdma/kind.hpp"

#include <catch2/catch.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

// The devices of the machine in which these tests run, and kinds on them.
namespace tests {

namespace link = transport::link;
namespace rdma = transport::rdma;

inline std::string address_of(unsigned device) {
    return "10.77.0." + std::to_string(device + 1);
}

// Nobody may ever wait for a receive: so the first time is the last.
inline rdma::RdmaKind::Options test_options(unsigned device) {
    return {.address = address_of(device),
            .control_log2 = 17,
            .data_log2 = 18,
            .patience = {.retries = 6, .receive_retries = 0}};
}

inline std::unique_ptr<rdma::RdmaKind> make_kind(const rdma::RdmaKind::Options& options) {
    auto kind = rdma::RdmaKind::create(options);
    if (!kind) FAIL(kind.error().detail);
    return std::move(*kind);
}
inline std::unique_ptr<rdma::RdmaKind> make_kind(unsigned device) {
    return make_kind(test_options(device));
}

}  // namespace tests
