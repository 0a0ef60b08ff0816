#include "base/crypto/hash.hpp"
#include "cli/bench_tokens.hpp"
#include "cli/files.hpp"
#include "cli/load.hpp"
#include "cli/network_file.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

constexpr std::uint64_t kTransactionsMax = 5'000'000;  // Held in memory, about 1 KB each.
constexpr std::uint32_t kExpirationSeconds = 3'500;

// What a process has used, from /proc.
struct Usage {
    double cpu_seconds = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t resident_bytes_max = 0;
};

Usage usage_of(std::int64_t pid) {
    Usage usage;
    std::ifstream stat(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(stat, text);
    // Fields 14 and 15, counted after the program's name, which may have spaces.
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    std::string skipped;
    for (int i = 3; i < 14; ++i)
        fields >> skipped;
    std::uint64_t user = 0;
    std::uint64_t system = 0;
    fields >> user >> system;
    usage.cpu_seconds =
        static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    while (std::getline(status, text)) {
        std::istringstream line(text);
        std::string name;
        std::uint64_t kilobytes = 0;
        line >> name >> kilobytes;
        if (name == "VmRSS:") usage.resident_bytes = kilobytes * 1024;
        if (name == "VmHWM:") usage.resident_bytes_max = kilobytes * 1024;
    }
    return usage;
}

std::int64_t microseconds(LoadClock::duration time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time).count();
}

struct Stage {
    std::uint64_t count = 0;
    std::int64_t p50_us = 0;
    std::int64_t p99_us = 0;
};

Stage stage_of(std::vector<std::int64_t>& samples) {
    return {samples.size(), percentile(samples, 50), percentile(samples, 99)};
}

struct Report {
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;
    double seconds = 0;  // From the first request due to the last answer.
    Stage accepted;
    Stage in_block;
    Stage final;
    std::uint64_t blocks = 0;
    std::string first_refusal;
};

// The ids of the transactions in a block.
base::Result<std::vector<chain::TransactionId>> ids_in(const std::string& url,
                                                       std::uint64_t height) {
    const auto block = call(url, "/v1/bor/block", {{"block_num_or_id", std::to_string(height)}});
    if (!block) return fail(block.error());
    std::vector<chain::TransactionId> ids;
    for (const Json& receipt : block->at("transactions")) {
        const Json& packed = receipt.at("trx").at(1);
        const auto bytes = base::from_hex(text_of(packed, "packed_trx"));
        if (!bytes) return fail(bytes.error());
        ids.push_back(base::crypto::sha256(*bytes));
    }
    return ids;
}

// When a height was first seen; nothing: never.
std::optional<LoadClock::time_point> seen(
    const std::map<std::uint64_t, LoadClock::time_point>& times, std::uint64_t height) {
    const auto found = times.lower_bound(height);
    if (found == times.end()) return std::nullopt;
    return found->second;
}

base::Result<Report> evaluate(const std::string& url,
                              const LoadResult& result,
                              const std::vector<chain::TransactionId>& ids) {
    Report report;
    std::map<chain::TransactionId, std::size_t> index;
    std::vector<std::int64_t> accepted;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const LoadAnswer& answer = result.answers[i];
        index.emplace(ids[i], i);
        if (answer.status < 200 || answer.status > 299) continue;
        accepted.push_back(microseconds(answer.at - answer.due));
    }
    std::vector<std::int64_t> in_block;
    std::vector<std::int64_t> final;
    if (result.heads.empty()) return fail(Errc::unavailable, "get_info was never answered");
    const std::uint64_t last = result.heads.rbegin()->first;
    for (std::uint64_t height = result.heads.begin()->first; height <= last; ++height) {
        const auto found = ids_in(url, height);
        if (!found) return fail(found.error());
        ++report.blocks;
        const auto head_at = seen(result.heads, height);
        const auto final_at = seen(result.finals, height);
        for (const chain::TransactionId& id : *found) {
            const auto at = index.find(id);
            if (at == index.end()) continue;
            const LoadClock::time_point due = result.answers[at->second].due;
            if (head_at) in_block.push_back(microseconds(*head_at - due));
            if (final_at) final.push_back(microseconds(*final_at - due));
        }
    }
    report.sent = ids.size();
    report.refused = ids.size() - accepted.size();
    report.seconds =
        static_cast<double>(microseconds(result.last_answer - result.start)) / 1'000'000.0;
    report.accepted = stage_of(accepted);
    report.in_block = stage_of(in_block);
    report.final = stage_of(final);
    report.first_refusal = result.first_refusal;
    return report;
}

Json stage_json(const Stage& stage) {
    return {{"count", stage.count},
            {"p50_ms", static_cast<double>(stage.p50_us) / 1000.0},
            {"p99_ms", static_cast<double>(stage.p99_us) / 1000.0}};
}

void print_stage(const char* name, const Stage& stage) {
    fmt::print("{:<10} {:>9}   p50 {:>9.1f} ms   p99 {:>9.1f} ms\n",
               name,
               stage.count,
               static_cast<double>(stage.p50_us) / 1000.0,
               static_cast<double>(stage.p99_us) / 1000.0);
}

void print_report(const Session& session, const Report& report, const Usage& used) {
    const double rate =
        report.seconds > 0 ? static_cast<double>(report.accepted.count) / report.seconds : 0;
    const double cpu = report.accepted.count > 0
                           ? used.cpu_seconds * 1000.0 / static_cast<double>(report.accepted.count)
                           : 0;
    if (session.json) {
        (void)print_json({{"sent", report.sent},
                          {"refused", report.refused},
                          {"seconds", report.seconds},
                          {"accepted_per_second", rate},
                          {"accepted", stage_json(report.accepted)},
                          {"in_block", stage_json(report.in_block)},
                          {"final", stage_json(report.final)},
                          {"blocks", report.blocks},
                          {"node_cpu_seconds_per_1000", cpu},
                          {"node_resident_bytes", used.resident_bytes},
                          {"node_resident_bytes_max", used.resident_bytes_max},
                          {"first_refusal", report.first_refusal}});
        return;
    }
    fmt::print("sent       {:>9}   in {:.1f} s, {:.0f} accepted a second, {} blocks\n",
               report.sent,
               report.seconds,
               rate,
               report.blocks);
    print_stage("accepted", report.accepted);
    print_stage("in block", report.in_block);
    print_stage("final", report.final);
    if (report.refused > 0) {
        fmt::print("refused    {:>9}   first: {}\n", report.refused, report.first_refusal);
    }
    if (used.resident_bytes == 0) return;
    fmt::print("node: {:.3f} s of CPU per 1,000 transactions, {} MiB resident, {} MiB at most\n",
               cpu,
               used.resident_bytes >> 20U,
               used.resident_bytes_max >> 20U);
}

base::Result<base::crypto::PrivateKey> system_key(const Session& session,
                                                  const Arguments& arguments) {
    std::string text;
    if (arguments.has("system-key")) {
        const auto contents = read_file(arguments.get("system-key"));
        if (!contents) return fail(contents.error());
        text = contents->substr(0, contents->find_first_of("\r\n "));
    } else {
        const auto file = NetworkFile::read(session.dir);
        if (!file) return fail(file.error());
        text = file->system_private;
    }
    return base::crypto::PrivateKey::from_string(text);
}

base::Result<LoadPlan> plan_of(const Session& session, const Arguments& arguments) {
    LoadPlan plan;
    constexpr std::string_view kHttp = "http://";
    if (!session.url.starts_with(kHttp)) {
        return fail(Errc::invalid, "the load goes over TCP: give an address http://HOST:PORT");
    }
    const std::string host = session.url.substr(kHttp.size());
    const std::size_t colon = host.rfind(':');
    plan.host = host.substr(0, colon);
    plan.port = colon == std::string::npos ? "80" : host.substr(colon + 1);
    plan.port = plan.port.substr(0, plan.port.find('/'));
    const auto rate = arguments.number("rate", 200, 1, 1'000'000);
    if (!rate) return fail(rate.error());
    plan.rate = *rate;
    const auto connections = arguments.number("connections", 32, 1, 1000);
    if (!connections) return fail(connections.error());
    plan.connections = static_cast<std::size_t>(*connections);
    return plan;
}

base::Result<void> sign_all(const BenchTokens& tokens,
                            std::uint64_t count,
                            LoadPlan& plan,
                            std::vector<chain::TransactionId>& ids) {
    const auto header = bench_header(tokens.url, kExpirationSeconds);
    if (!header) return fail(header.error());
    const bool show = ::isatty(STDERR_FILENO) != 0;
    ids.resize(count);
    plan.bodies.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        plan.bodies.push_back(tokens.transfer(i, *header, ids[i]));
        if (show && i % 10'000 == 0) fmt::print(stderr, "\rsigned {} of {} ", i, count);
    }
    if (show) fmt::print(stderr, "\rsigned {} of {}\n", count, count);
    return {};
}

base::Result<void> bench_load(const Session& session, const Arguments& arguments) {
    auto plan = plan_of(session, arguments);
    if (!plan) return fail(plan.error());
    const auto seconds = arguments.number("seconds", 10, 1, 3000);
    if (!seconds) return fail(seconds.error());
    const auto accounts = arguments.number("accounts", 16, 2, 500);
    if (!accounts) return fail(accounts.error());
    const std::uint64_t count = *seconds * plan->rate;
    if (count > kTransactionsMax) {
        return fail(Errc::invalid,
                    fmt::format("--rate times --seconds gives {} transactions; at most {} are "
                                "signed in advance",
                                count,
                                kTransactionsMax));
    }
    const auto key = system_key(session, arguments);
    if (!key) return fail(key.error());
    const std::string folder = arguments.get(
        "contract-dir", (program_path("bor-cli").parent_path() / "../contracts/token").string());
    const auto tokens =
        BenchTokens::prepare(session.url, *key, folder, static_cast<std::size_t>(*accounts));
    if (!tokens) return fail(tokens.error());
    std::vector<chain::TransactionId> ids;
    if (auto done = sign_all(*tokens, count, *plan, ids); !done) return done;
    std::int64_t pid = 0;
    if (const auto file = NetworkFile::read(session.dir)) pid = file->validators.front().pid;
    const Usage before = usage_of(pid);
    const auto result = run_load(*plan);
    if (!result) return fail(result.error());
    Usage used = usage_of(pid);
    used.cpu_seconds -= before.cpu_seconds;
    const auto report = evaluate(session.url, *result, ids);
    if (!report) return fail(report.error());
    print_report(session, *report, used);
    if (report->accepted.count == 0) return fail(Errc::unavailable, "nothing was accepted");
    if (report->final.count < report->accepted.count) {
        return fail(Errc::unavailable,
                    fmt::format("{} accepted transactions are not final",
                                report->accepted.count - report->final.count));
    }
    return {};
}

}  // namespace

void add_bench_commands(std::vector<Command>& commands) {
    commands.push_back({"bench load",
                        "Send transfers at a rate and measure what becomes of them",
                        {},
                        {{"rate", 0, "COUNT", "transactions per second (default: 200)"},
                         {"seconds", 0, "SECONDS", "how long (default: 10)"},
                         {"connections", 0, "COUNT", "kept open (default: 32)"},
                         {"accounts", 0, "COUNT", "each with its key, 2 to 500 (default: 16)"},
                         {"system-key", 0, "FILE", "private key of eosio (default: --dir's)"},
                         {"contract-dir", 0, "DIR", "with token.wasm and token.abi"}},
                        bench_load});
}

}  // namespace cli
