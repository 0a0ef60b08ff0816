#include "base/crypto/hash.hpp"
#include "node/disk/data_directory.hpp"
#include "tests/node/received/fixture.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"

#include <algorithm>

// A snapshot comes from a peer onto the simulated disk. Each call that changes something is the
// last one in turn, by a kill or a power cut, or the disk is full from there on: what the next
// process finds and says is there is whole, and with the rest it is a state.

namespace {

using p2p::SnapshotVerdict;
using sim::Chance;
using sim::DiskCalls;
using sim::DiskFiles;
using test::Joiner;
using test::kGenesis;
using test::SnapshotFolder;
using test::Source;

struct Process {
    explicit Process(DiskFiles& files) : calls(files), disk{calls, sim::make_environment(files)} {}

    DiskCalls calls;
    node::Disk disk;
};

// Asks for what is missing, and makes a state of it; as far as it comes. Returns how many chunks it
// asked for; nothing: it did not come to the end.
std::optional<std::size_t> join(Source& source,
                                const node::Disk& disk,
                                const p2p::SnapshotPoint& snapshot) {
    Joiner joiner(source, disk);
    auto checked = joiner.receiver->check(snapshot);
    if (checked.verdict != SnapshotVerdict::good) checked = joiner.try_history(snapshot);
    if (checked.verdict != SnapshotVerdict::good) return std::nullopt;
    for (const std::uint32_t index : checked.missing) {
        const auto kept = joiner.fetch({snapshot.manifest, p2p::SnapshotPart::chunk, index});
        if (kept.verdict != SnapshotVerdict::good) return std::nullopt;
    }
    const auto directory = node::DataDirectory::open("/m/data", disk.files);
    if (!directory || !directory->remove_others()) return std::nullopt;
    const auto next = directory->next_state();
    if (!next) return std::nullopt;
    const auto loaded = joiner.receiver->load(snapshot, *next, kGenesis);
    if (loaded.verdict != SnapshotVerdict::good) return std::nullopt;
    return checked.missing.size();
}

}  // namespace

TEST_CASE("wherever fetching a snapshot ends, what is there is whole and is not fetched again",
          "[power]") {
    enum class End : std::uint8_t { kill, power, full };
    Source source;
    const p2p::SnapshotPoint snapshot = source.written(8);
    const End end = GENERATE(End::kill, End::power, End::full);
    std::size_t fewest = SIZE_MAX;
    std::size_t most = 0;
    bool was_done = false;
    for (std::size_t call = 0; !was_done; call += 3) {
        CAPTURE(call, static_cast<int>(end));
        REQUIRE(call < 5'000);
        DiskFiles files("/m");
        {
            Process process(files);
            if (end == End::full) {
                files.fill_after(call);
            } else {
                files.stop_after(call);
            }
            was_done = join(source, process.disk, snapshot).has_value();
            files.set_full(false);
            Chance chance(call);
            if (end == End::power) {
                files.cut_power(chance);
            } else {
                files.end_process();
            }
        }
        Process next(files);
        if (node::SnapshotReceiver::begun_in("/m/data/joining", next.calls)) {
            REQUIRE(node::SnapshotReceiver::begun_in("/m/data/joining", next.calls) == snapshot);
        }
        const auto fetched = join(source, next.disk, snapshot);
        REQUIRE(fetched);
        fewest = std::min(fewest, *fetched);
        most = std::max(most, *fetched);
    }
    CHECK(fewest == 0);
    CHECK(most > 6);
}

TEST_CASE("once a snapshot from peers has its name, a power cut takes nothing of it", "[power]") {
    Source source;
    const p2p::SnapshotPoint snapshot = source.written(8);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        DiskFiles files("/m");
        {
            Process process(files);
            REQUIRE(join(source, process.disk, snapshot));
            const Joiner joiner(source, process.disk);
            REQUIRE(joiner.own->take_over(joiner.receiver->path_of(snapshot), /*keep=*/false));
            Chance chance(seed);
            files.cut_power(chance);
        }
        Process next(files);
        const Joiner joiner(source, next.disk);
        const auto listed = joiner.own->find(snapshot.height);
        REQUIRE(listed);
        REQUIRE(listed->id == snapshot.manifest);
        const auto folder = SnapshotFolder::open(joiner.own->path_of(*listed), next.calls);
        REQUIRE(folder);
        REQUIRE(node::check_parts(*folder, joiner.how.trust));
        for (std::size_t i = 0; i < folder->manifest().chunks.size(); ++i) {
            const auto bytes = folder->chunk(i);
            REQUIRE(bytes);
            REQUIRE(base::crypto::sha256(*bytes) == folder->manifest().chunks[i].sha256);
        }
    }
}
