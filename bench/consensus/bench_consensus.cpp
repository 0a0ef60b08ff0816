// Validators on this machine, with TCP and TLS between them and fsync on: how long it takes from
// a block's last receipt until it is final at all, at an empty load; and what checking a
// certificate costs (spec 04, "Numbers to reach").
//
//   usage: bench_consensus [--validators N] [--blocks N] [--interval MS] [--sync-delay MS] [--json]
#include "bench/consensus/member.hpp"
#include "bench/ledger/chain.hpp"
#include "bench/ledger/report.hpp"
#include "cli/journal.hpp"
#include "cli/process.hpp"
#include "consensus/certificate.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace {

namespace fs = std::filesystem;
using base::crypto::KeyType;
using base::crypto::PrivateKey;

struct Plan {
    std::size_t validators;
    std::size_t blocks;
    std::uint32_t interval_ms;
    std::chrono::milliseconds sync_delay;
};

class Quiet final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override {
        return level >= base::Level::warn;
    }
    void write(base::Level /*level*/, std::string_view part, std::string_view line) override {
        fmt::print(stderr, "{}: {}\n", part, line);
    }
};

struct Seat {
    std::string name;
    fs::path dir;
    std::string address;
    PrivateKey key = PrivateKey::generate(KeyType::k1);
    PrivateKey node = PrivateKey::generate(KeyType::r1);
};

void write_text(const fs::path& file, const std::string& text) {
    const auto written = node::write_file_atomically(file.string(), base::as_bytes(text));
    if (!written) bench::give_up(written.error().detail);
}

std::vector<Seat> make_seats(const fs::path& dir, std::size_t count) {
    std::vector<Seat> seats(count);
    for (std::size_t i = 0; i < count; ++i) {
        Seat& seat = seats[i];
        seat.name = std::string("bor") + static_cast<char>('a' + i);
        seat.dir = dir / seat.name;
        seat.address = fmt::format("127.0.0.1:{}", bench::must(cli::free_port()));
        fs::create_directories(seat.dir / "data");
        write_text(seat.dir / "validator.key", seat.key.to_string() + "\n");
        write_text(seat.dir / "node.key", seat.node.to_string() + "\n");
        if (auto made = cli::make_journal(seat.dir / "data", seat.key.public_key()); !made) {
            bench::give_up(made.error().detail);
        }
    }
    return seats;
}

void write_genesis(const fs::path& file, const Plan& plan, const std::vector<Seat>& seats) {
    genesis::Genesis genesis;
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    genesis.times = {{(now - now % plan.interval_ms) * 1000}, plan.interval_ms};
    genesis.system_authority = chain::Authority::of_key(seats.front().key.public_key());
    genesis.parameters.max_producers = std::max<std::uint64_t>(21, seats.size());
    for (const Seat& seat : seats) {
        const chain::Name name = *chain::Name::from_string(seat.name);
        genesis.members.push_back({name, genesis.system_authority, 1});
        genesis.nodes.push_back({name, name, seat.node.public_key(), 1});
        genesis.schedule.entries.push_back({name, seat.key.public_key(), seat.key.public_key()});
    }
    write_text(file, genesis::to_json(genesis));
}

node::Options options_of(const fs::path& genesis, const Seat& seat, const std::vector<Seat>& all) {
    std::vector<std::string> words{"--config-dir",
                                   (seat.dir / "none").string(),
                                   "--data-dir",
                                   (seat.dir / "data").string(),
                                   "--genesis-json",
                                   genesis.string(),
                                   "--producer-name",
                                   seat.name,
                                   "--signature-provider",
                                   fmt::format("{}=KEY:file:{}",
                                               seat.key.public_key().to_string(),
                                               (seat.dir / "validator.key").string()),
                                   "--p2p-listen-endpoint",
                                   seat.address,
                                   "--p2p-node-key",
                                   (seat.dir / "node.key").string()};
    for (const Seat& peer : all) {
        // One of two connects: nobody has to find out which connection stays.
        if (peer.name >= seat.name) continue;
        words.emplace_back("--p2p-peer-address");
        words.push_back(peer.address + "#" + peer.node.public_key().to_string());
    }
    return bench::must(node::read_options(words)).options;
}

double percentile(std::vector<double> samples, double part) {
    if (samples.empty()) return 0;
    std::ranges::sort(samples);
    const auto rank = static_cast<std::size_t>(part * static_cast<double>(samples.size()));
    return samples[std::min(rank, samples.size() - 1)];
}

void measure_finality(const Plan& plan, bench::Report& report) {
    const bench::WorkDirectory work;
    const std::vector<Seat> seats = make_seats(work.path(), plan.validators);
    write_genesis(work.path() / "genesis.json", plan, seats);
    Quiet log;
    bench::Moments moments(plan.validators);
    bench::SyncTimes times;
    std::vector<std::unique_ptr<bench::Member>> members;
    members.reserve(seats.size());
    for (const Seat& seat : seats) {
        members.push_back(std::make_unique<bench::Member>(
            bench::Member::Parts{members.size(),
                                 options_of(work.path() / "genesis.json", seat, seats),
                                 plan.sync_delay,
                                 moments,
                                 times,
                                 log}));
    }
    for (const auto& member : members)
        member->start();
    // The first blocks find validators that are still being connected.
    constexpr std::size_t kWarmUp = 10;
    const auto patience =
        std::chrono::milliseconds(plan.interval_ms) * static_cast<int>(3 * plan.blocks) +
        std::chrono::seconds(60);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (moments.complete() < plan.blocks + kWarmUp) {
        if (std::chrono::steady_clock::now() > deadline) {
            bench::give_up(fmt::format("only {} blocks came to all and became final in time",
                                       moments.complete()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    for (const auto& member : members)
        member->stop();
    std::vector<double> samples = moments.to_final();
    samples.erase(samples.begin(), samples.begin() + kWarmUp);
    const std::vector<double> syncs = times.take();
    const bool has_goal = plan.validators == 4 && plan.sync_delay.count() == 0;
    report.add("one sync, p50", percentile(syncs, 0.5), "ms");
    report.add("one sync, p99", percentile(syncs, 0.99), "ms");
    report.add("blocks", static_cast<double>(samples.size()), "");
    report.add(
        "last receipt to final at all, p50", percentile(samples, 0.5), "ms", has_goal ? 5 : 0);
    report.add(
        "last receipt to final at all, p99", percentile(samples, 0.99), "ms", has_goal ? 20 : 0);
}

// A certificate that everybody has signed.
void measure_certificate(std::size_t validators, bench::Report& report) {
    auto schedule = std::make_shared<chain::Schedule>();
    std::vector<PrivateKey> keys;
    chain::Certificate certificate;
    certificate.data.slot = certificate.data.height = 5;
    certificate.bitmaps.emplace_back((validators + 7) / 8);
    const base::Hash256 chain_id;
    const base::Hash256 digest = certificate.data.digest(chain_id);
    for (std::size_t i = 0; i < validators; ++i) {
        const auto key = PrivateKey::generate(KeyType::k1);
        schedule->entries.push_back({chain::Name{i + 1}, key.public_key(), key.public_key()});
        certificate.bitmaps[0][i / 8] |= std::byte{1} << (i % 8);
        certificate.signatures.push_back(key.sign(digest));
    }
    chain::ScheduleState schedules;
    schedules.active = schedule;
    std::vector<double> took;
    for (int i = 0; i < 200; ++i) {
        const auto start = std::chrono::steady_clock::now();
        auto good = consensus::verify(certificate, schedules, chain_id);
        took.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
                .count());
        if (!good) bench::give_up(good.error().detail);
    }
    report.add(fmt::format("certificate of {} signatures checked, p50", validators),
               percentile(took, 0.5),
               "ms",
               1);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::Arguments arguments(argc, argv);
    arguments.expect({"--validators", "--blocks", "--interval", "--sync-delay", "--json"},
                     "usage: bench_consensus [--validators N] [--blocks N] [--interval MS] "
                     "[--sync-delay MS] [--json]");
    const Plan plan{.validators = std::clamp(arguments.number("--validators", 4), 2UL, 26UL),
                    .blocks = arguments.number("--blocks", 200),
                    .interval_ms = static_cast<std::uint32_t>(arguments.number("--interval", 200)),
                    .sync_delay = std::chrono::milliseconds(arguments.number("--sync-delay", 0))};
    bench::Report report(
        fmt::format("consensus, {} validators, {} ms slots, {} ms added to each sync",
                    plan.validators,
                    plan.interval_ms,
                    plan.sync_delay.count()));
    measure_finality(plan, report);
    measure_certificate(plan.validators, report);
    report.print(arguments.has("--json"));
    return 0;
}
