// bor-transport-probe: what this machine offers for transports, what is missing, how to get it, and
// what is used instead.
//
//   usage: see kHelp below
#include "bench/transport/probe/probe.hpp"
#include "transport/ntb/shm_kind.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace {

constexpr std::string_view kHelp =
    "usage: bor-transport-probe [--json]\n"
    "\n"
    "Says what this machine offers for a node's ways to its peers, what is missing, how to get it, "
    "and\n"
    "what is used instead. Changes nothing; the exit status is 0 whatever it finds.\n";

// By trying it: nothing else says as much.
std::string why_no_shared_memory() {
    const auto kind = transport::ntb::ShmKind::create();
    return kind ? std::string() : kind.error().detail;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view argument = argc > 1 ? argv[1] : "";
    const bool is_json = argument == "--json";
    if (argument == "--help" || argument == "-h") {
        fmt::print("{}", kHelp);
        return 0;
    }
    if (argc > 2 || (argc == 2 && !is_json)) {
        fmt::print(stderr,
                   "bor-transport-probe: unknown argument '{}'\n{}",
                   is_json ? argv[2] : argument,
                   kHelp);
        return 2;
    }
    const probe::Build build{.has_rdma = BOR_HAS_RDMA != 0,
                             .has_windows = true,
                             .no_shared_memory = why_no_shared_memory()};
    const probe::Report report = probe::look("/", build);
    fmt::print("{}", is_json ? to_json(report) : to_text(report));
    return 0;
}
