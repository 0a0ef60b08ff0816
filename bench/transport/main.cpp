// bor-transport-bench: what rings and channels cost over the bare thing, in one run.
//
//   usage: see kHelp below
#include "bench/transport/faults.hpp"
#include "bench/transport/measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

constexpr std::string_view kHelp =
    "usage: bor-transport-bench [--kind rings|tcp|shm|sync|faults|rdma] [--rounds N]\n"
    "                           [--megabytes N] [--devices ADDRESS,ADDRESS] [--json]\n"
    "\n"
    "What rings and channels cost over the bare thing, in one run. The two sides of a comparison\n"
    "run one after the other, several times; the middle one of the ratios counts.\n"
    "\n"
    "  --kind       rings of shared memory; channels by tcp, shm (shared memory), rdma; sync: "
    "blocks\n"
    "               fetched; faults: slow, killed and lying peers. Without: all that this machine\n"
    "               has, which takes some minutes\n"
    "  --rounds     messages there and back of a measurement, 100 to 10000000 (default 20000)\n"
    "  --megabytes  that are streamed or fetched, 1 to 65536 (default 512)\n"
    "  --devices    IP addresses of the RDMA devices of both ends; without: the first device\n"
    "  --json       a line is an object\n"
    "\n"
    "The load average is printed; it must be small for the figures to mean anything.\n";

struct Request {
    Options options{};
    std::string kind{};  // Empty: all.
    std::string talk_to{};
    bool wants_help = false;
    std::string wrong{};  // What is wrong with it; empty: nothing.
};
constexpr std::array kKinds = {"rings", "tcp", "shm", "sync", "faults", "rdma"};

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

// A number within bounds, or what is wrong with it.
std::size_t number_of(std::string_view name,
                      std::string_view text,
                      std::size_t least,
                      std::size_t most,
                      std::string& wrong) {
    std::size_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (!is_number || out < least || out > most)
        wrong = fmt::format("{} {}: expected a number from {} to {}", name, text, least, most);
    return out;
}

void take(std::string_view name, std::string_view value, Request& out) {
    if (name == "--kind") {
        out.kind = value;
        if (std::ranges::find(kKinds, value) == kKinds.end())
            out.wrong = fmt::format("--kind {}: expected {}", value, fmt::join(kKinds, " or "));
    } else if (name == "--talk-to") {
        out.talk_to = value;
    } else if (name == "--devices") {
        use_devices(split(value));
    } else if (name == "--rounds") {
        out.options.rounds = static_cast<int>(number_of(name, value, 100, 10'000'000, out.wrong));
    } else if (name == "--megabytes") {
        out.options.megabytes = number_of(name, value, 1, 65'536, out.wrong);
    } else {
        out.wrong = fmt::format("unknown argument '{}'", name);
    }
}

Request parse(int argc, char** argv) {
    Request out;
    for (int i = 1; i < argc && out.wrong.empty(); ++i) {
        const std::string_view name = argv[i];
        if (name == "--json") {
            out.options.json = true;
        } else if (name == "--help" || name == "-h") {
            out.wants_help = true;
        } else if (name.starts_with("--") && i + 1 == argc) {
            out.wrong = fmt::format("{} needs a value, or is unknown", name);
        } else {
            take(name, i + 1 < argc ? argv[i + 1] : "", out);
            ++i;
        }
    }
    return out;
}

// Its exit status.
int run(const Request& request) {
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
    if (!request.kind.empty() && request.kind != "rdma") return 0;
    if (const std::string why = why_no_rdma(); !why.empty()) {
        fmt::print(stderr, "rdma is left out: {} (bor-transport-probe says more)\n", why);
        return request.kind.empty() ? 0 : 1;
    }
    part("rdma", [&](const Report& report) { measure::rdma(options, report); });
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const Request request = parse(argc, argv);
    if (!request.wrong.empty()) {
        fmt::print(stderr,
                   "bor-transport-bench: {}\nusage and options: bor-transport-bench --help\n",
                   request.wrong);
        return 2;
    }
    if (request.wants_help) {
        fmt::print("{}", kHelp);
        return 0;
    }
    if (!request.talk_to.empty()) {
        const Way way = request.kind == "rdma"  ? Way::rdma
                        : request.kind == "shm" ? Way::shm
                                                : Way::tcp;
        faults::talk_to(way, request.talk_to);
    }
    return run(request);
}
