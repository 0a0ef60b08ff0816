// bor-transport-probe: what this machine offers for transports, what is missing, how to get it, and
// what is used instead.
//
//   usage: bor-transport-probe [--json]
#include "bench/transport/probe/probe.hpp"
#include "transport/ntb/shm_kind.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace {

// By trying it: nothing else says as much.
std::string why_no_shared_memory() {
    const auto kind = transport::ntb::ShmKind::create();
    return kind ? std::string() : kind.error().detail;
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_json = argc == 2 && std::string_view(argv[1]) == "--json";
    if (argc > 1 && !is_json) {
        fmt::print(stderr, "usage: bor-transport-probe [--json]\n");
        return 2;
    }
    const probe::Build build{.has_rdma = BOR_HAS_RDMA != 0,
                             .has_windows = true,
                             .no_shared_memory = why_no_shared_memory()};
    const probe::Report report = probe::look("/", build);
    fmt::print("{}", is_json ? to_json(report) : to_text(report));
    return 0;
}
