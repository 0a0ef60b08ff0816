// bor-transport-bench: what rings and channels cost over the bare thing, in one run.
//
//   usage: bor-transport-bench [--kind rings|tcp|shm|sync|faults|rdma] [--rounds N]
//                              [--megabytes N] [--devices ADDRESS,ADDRESS] [--json]
//
// Without --kind: everything that this machine has. The two sides of a comparison run one after
// the other, several times; the middle one of the ratios counts. Prints the load average, which
// must be small for the figures to mean anything.
#include "bench/transport/faults.hpp"
#include "bench/transport/measure.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct Request {
    Options options{};
    std::string kind{};  // Empty: all.
    std::string talk_to{};
    bool is_wrong = false;
};

double load() {
    std::array<double, 1> out{};
    (void)getloadavg(out.data(), 1);
    return out[0];
}

std::string_view verdict(const Line& line) {
    return line.kind == Line::Goal::none ? "" : line.is_met() ? "met" : "MISSED";
}

std::string goal_text(const Line& line) {
    if (line.kind == Line::Goal::none) return "";
    return fmt::format("{} {:.3g}", line.kind == Line::Goal::at_least ? ">=" : "<=", line.goal);
}

void print_json(const Line& line) {
    const nlohmann::ordered_json out = {{"name", line.name},
                                        {"ours", line.ours},
                                        {"bare", line.bare},
                                        {"unit", line.unit},
                                        {"ratio", line.ratio()},
                                        {"goal", goal_text(line)},
                                        {"verdict", verdict(line)},
                                        {"note", line.note}};
    fmt::print("{}\n", out.dump());
}

void print_text(const Line& line) {
    fmt::print("{:88} {:10.2f} {:10.2f} {:4} ratio {:6.3f} {:8} {} {}\n",
               line.name,
               line.ours,
               line.bare,
               line.unit,
               line.ratio(),
               goal_text(line),
               verdict(line),
               line.note);
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        out.emplace_back(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    return out;
}

Request parse(int argc, char** argv) {
    Request out;
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
        if (name == "--json") {
            out.options.json = true;
            continue;
        }
        if (name == "--kind") {
            out.kind = value;
        } else if (name == "--talk-to") {
            out.talk_to = value;
        } else if (name == "--devices") {
            use_devices(split(value));
        } else if (name == "--rounds" && !value.empty()) {
            out.options.rounds = std::max(std::atoi(value.data()), 100);
        } else if (name == "--megabytes" && !value.empty()) {
            out.options.megabytes = static_cast<std::size_t>(std::max(std::atoi(value.data()), 1));
        } else {
            out.is_wrong = true;
        }
        ++i;
    }
    return out;
}

void run(const Request& request) {
    const auto part = [&](std::string_view name, auto measure) {
        if (!request.kind.empty() && request.kind != name) return;
        if (!request.options.json) fmt::print("-- {}, load average {:.2f}\n", name, load());
        measure([&](const Line& line) {
            request.options.json ? print_json(line) : print_text(line);
            (void)std::fflush(stdout);
        });
    };
    const Options& options = request.options;
    part("rings", [&](const Report& report) { measure::rings(options, report); });
    part("tcp", [&](const Report& report) { measure::tcp_channels(options, report); });
    part("shm", [&](const Report& report) { measure::shm_channels(options, report); });
    part("sync", [&](const Report& report) { measure::sync(options, report); });
    part("faults", [](const Report& report) {
        measure::faults(Way::tcp, report);
        measure::faults(Way::shm, report);
    });
    if (has_rdma()) {
        part("rdma", [&](const Report& report) { measure::rdma(options, report); });
    } else if (!request.options.json && (request.kind.empty() || request.kind == "rdma")) {
        fmt::print("-- rdma is left out: bor-transport-probe says why\n");
    }
}

}  // namespace

int main(int argc, char** argv) {
    const Request request = parse(argc, argv);
    constexpr std::array kKinds = {"", "rings", "tcp", "shm", "sync", "faults", "rdma"};
    if (request.is_wrong || std::ranges::find(kKinds, request.kind) == kKinds.end()) {
        fmt::print(stderr,
                   "usage: bor-transport-bench [--kind rings|tcp|shm|sync|faults|rdma] "
                   "[--rounds N] [--megabytes N] [--devices ADDRESS,ADDRESS] [--json]\n");
        return 2;
    }
    if (!request.talk_to.empty()) {
        const Way way = request.kind == "rdma"  ? Way::rdma
                        : request.kind == "shm" ? Way::shm
                                                : Way::tcp;
        faults::talk_to(way, request.talk_to);
    }
    run(request);
    return 0;
}
