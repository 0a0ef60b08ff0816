#include "node/disk/data_directory.hpp"
#include "node/snapshots/stopped_node.hpp"
#include "tests/node/snapshots/fixture.hpp"
#include "tests/sim/files/disk_calls.hpp"
#include "tests/sim/files/disk_environment.hpp"

#include <catch2/catch.hpp>

#include <set>

// All that is done to the files of snapshots, on the simulated disk: it ends after each call that
// changes something, by a kill or by a power cut, or the disk is full from there on. What a store
// lists then is whole, what a data directory names opens, and the same can be done again.

namespace {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;
using sim::Chance;
using sim::DiskCalls;
using sim::DiskFiles;
using test::Chain;
using test::Opened;

constexpr const char* kGenesis = "/m/genesis.json";
constexpr const char* kData = "/m/data";

Chain& chain_here() {
    static Chain chain;
    return chain;
}

// A machine of which a process is over at some call.
class Machine {
  public:
    Machine() {
        DiskCalls calls(files);
        const std::string json = genesis::to_json(chain_here().node().genesis());
        REQUIRE(node::write_file_atomically(kGenesis, base::as_bytes(json), 0644, calls));
    }

    DiskFiles files{"/m"};
};

// What a process sees, from its start to its end.
class Process {
  public:
    explicit Process(Machine& machine)
        : calls_(machine.files), disk_{calls_, sim::make_environment(machine.files)} {}

    [[nodiscard]] node::FileCalls& calls() { return calls_; }
    [[nodiscard]] const node::Disk& disk() const { return disk_; }
    std::unique_ptr<SnapshotStore> store() {
        static support::SilentLog silent;
        auto opened =
            SnapshotStore::open(node::snapshots_in(kData), base::Log(silent, "snapshot"), calls_);
        if (!opened) FAIL(opened.error().detail);
        return *std::move(opened);
    }
    [[nodiscard]] node::LoadOptions into(const fs::path& data_dir) const {
        node::LoadOptions how;
        how.disk = disk_;
        how.data_dir = data_dir;
        how.genesis_json = kGenesis;
        how.workers = 1;
        return how;
    }
    void check_good(const fs::path& path) {
        const auto folder = SnapshotFolder::open(path, calls_);
        if (!folder) FAIL(folder.error().detail);
        const auto good = node::verify_snapshot(*folder, into("/m/none"));
        if (!good) FAIL(good.error().detail);
    }

  private:
    DiskCalls calls_;
    node::Disk disk_;
};

base::Result<SnapshotStore::Listed> write(SnapshotStore& store,
                                          chain::Height height,
                                          bool keep = false) {
    const std::atomic<bool> never = false;
    node::SnapshotWriter writer(
        store, [] { return chain_here().node().storage().snapshot(); }, never);
    return writer.write(chain_here().capture(height, 1),
                        {.chain_id = chain_here().node().genesis().chain_id(),
                         .keep = keep,
                         .proof_patience = std::chrono::milliseconds(0)});
}

// Everything that lies beside the snapshots was listed, and each of these is whole.
std::set<chain::Height> heights(Process& process, SnapshotStore& store) {
    std::set<chain::Height> found;
    std::set<std::string> names;
    for (const SnapshotStore::Listed& each : store.list()) {
        process.check_good(store.path_of(each));
        found.insert(each.head.height);
        names.insert(each.name);
        if (each.is_kept) names.insert(each.name + ".kept");
    }
    const auto there = node::list_directory(store.directory().string(), process.calls());
    if (there) CHECK(std::set<std::string>(there->begin(), there->end()) == names);
    return found;
}

// Puts the image back and does `what`, which ends at each of its calls in turn, in all ways;
// `after` is told whether it was said to be done. Ends when it was faster. Returns the number of
// calls.
template <class What, class After>
std::size_t at_each_call(const DiskFiles::Image& image, const What& what, const After& after) {
    enum class End : std::uint8_t { kill, power, other_power, full };
    for (std::size_t call = 0;; ++call) {
        bool is_done = true;
        for (const End end : {End::kill, End::power, End::other_power, End::full}) {
            CAPTURE(call, static_cast<int>(end));
            Machine machine;
            machine.files.put_back(image);
            bool was_done = false;
            {
                Process process(machine);
                if (end == End::full) {
                    machine.files.fill_after(call);
                } else {
                    machine.files.stop_after(call);
                }
                was_done = what(process);
                machine.files.set_full(false);
                Chance chance(call * 2 + (end == End::other_power ? 1 : 0));
                if (end == End::kill || end == End::full) {
                    machine.files.end_process();
                } else {
                    machine.files.cut_power(chance);
                }
            }
            Process next(machine);
            after(next, was_done);
            is_done = is_done && was_done;
        }
        if (is_done) return call;
        REQUIRE(call < 5'000);
    }
}

// Of a data directory with snapshots of these heights.
std::shared_ptr<const DiskFiles::Image> with(const std::vector<chain::Height>& heights,
                                             bool keep = false) {
    Machine machine;
    Process process(machine);
    const auto store = process.store();
    for (const chain::Height height : heights) {
        const auto listed = write(*store, height, keep);
        if (!listed) FAIL(listed.error().detail);
    }
    return machine.files.image();
}

}  // namespace

TEST_CASE("a snapshot is made whole or not at all, wherever it ends", "[power]") {
    const auto image = with({5});
    const bool keep = GENERATE(false, true);
    std::size_t made = 0;
    const std::size_t calls = at_each_call(
        *image,
        [&](Process& process) {
            const auto store = process.store();
            return write(*store, 6, keep).has_value();
        },
        [&](Process& process, bool was_done) {
            const auto store = process.store();
            const auto there = heights(process, *store);
            REQUIRE(there.contains(5));
            if (was_done) REQUIRE(there.contains(6));
            if (there.contains(6)) ++made;
            REQUIRE(write(*store, 6, keep));
            REQUIRE(heights(process, *store) == std::set<chain::Height>{5, 6});
            REQUIRE(store->find(6)->is_kept == keep);
        });
    CHECK(calls > 20);
    CHECK(made > 4);
}

TEST_CASE("a snapshot is removed whole or not at all, and others keep its chunks", "[power]") {
    const auto image = with({5, 6}, /*keep=*/true);
    std::size_t removed = 0;
    const std::size_t calls = at_each_call(
        *image,
        [&](Process& process) {
            const auto store = process.store();
            return store->remove(store->find(5)->name).has_value();
        },
        [&](Process& process, bool was_done) {
            const auto store = process.store();
            const auto there = heights(process, *store);
            REQUIRE(there.contains(6));
            if (was_done) REQUIRE_FALSE(there.contains(5));
            if (!there.contains(5)) ++removed;
            if (there.contains(5)) REQUIRE(store->remove(store->find(5)->name));
            REQUIRE(heights(process, *store) == std::set<chain::Height>{6});
            // Nobody asked for the next one of that name.
            REQUIRE(write(*store, 5));
            REQUIRE_FALSE(store->find(5)->is_kept);
        });
    CHECK(calls > 10);
    CHECK(removed > 20);
}

TEST_CASE("a copy is there whole or not at all, wherever it ends", "[power]") {
    const auto image = with({5});
    const auto copy = [](Process& process) {
        const auto store = process.store();
        const auto folder =
            SnapshotFolder::open(store->path_of(store->list().front()), process.calls());
        REQUIRE(folder);
        return node::export_snapshot(*folder, "/m/copy/").has_value();
    };
    const std::size_t calls = at_each_call(*image, copy, [&](Process& process, bool was_done) {
        const bool is_there = process.calls().exists("/m/copy");
        if (was_done) REQUIRE(is_there);
        if (!is_there) REQUIRE(copy(process));
        process.check_good("/m/copy");
        REQUIRE_FALSE(process.calls().exists("/m/copy.part"));
    });
    CHECK(calls > 30);
}

TEST_CASE("a data directory has its chain whole or none, wherever a load ends", "[power]") {
    const auto image = with({5});
    const auto load = [](Process& process) {
        const auto store = process.store();
        const fs::path path = store->path_of(store->list().front());
        return node::load_snapshot(path, process.into("/m/new/data")).has_value();
    };
    std::size_t loaded = 0;
    const std::size_t calls = at_each_call(*image, load, [&](Process& process, bool was_done) {
        const auto state = node::DataDirectory::state_in("/m/new/data", process.calls());
        if (!state) FAIL(state.error().detail);
        const bool is_there = process.calls().exists(state->string());
        if (was_done) REQUIRE(is_there);
        if (is_there) ++loaded;
        if (!is_there) REQUIRE(load(process));
        const Opened opened("/m/new/data", chain_here().node().genesis(), process.disk());
        REQUIRE(opened.chain->finalized()->id == chain_here().block(5)->id);
        const auto executed = opened.chain->replay(chain_here().block(6));
        if (!executed) FAIL(executed.error().detail);
    });
    CHECK(calls > 60);
    CHECK(loaded > 4);
}

TEST_CASE("a data directory names the old state or the new one, wherever a switch ends",
          "[power]") {
    Machine before;
    {
        Process process(before);
        const auto directory = node::DataDirectory::open(kData, process.calls());
        REQUIRE(directory);
        REQUIRE(node::make_directories(directory->state().string(), process.calls()));
        const std::string mark = (directory->state() / "mark").string();
        REQUIRE(node::write_file(mark, base::as_bytes("old"), 0644, process.calls()));
    }
    const auto image = before.files.image();
    const auto mark_of = [](Process& process) {
        const auto state = node::DataDirectory::state_in(kData, process.calls());
        if (!state) FAIL(state.error().detail);
        const auto mark = node::read_file((*state / "mark").string(), 8, process.calls());
        if (!mark) FAIL(mark.error().detail);
        return std::string(base::as_text(*mark));
    };
    const auto replace = [](Process& process) -> base::Result<void> {
        auto directory = node::DataDirectory::open(kData, process.calls());
        if (!directory) return base::fail(directory.error());
        if (auto removed = directory->remove_others(); !removed) return removed;
        const fs::path next = directory->next_state().value();
        auto done = node::make_directories(next.string(), process.calls());
        const std::string mark = (next / "mark").string();
        if (done) done = node::write_file(mark, base::as_bytes("new"), 0644, process.calls());
        if (done) done = node::sync_directory_of(mark, process.calls());
        if (done) done = directory->switch_to(next);
        if (done) done = directory->remove_others();
        return done;
    };
    std::set<std::string> seen;
    (void)at_each_call(
        *image,
        [&](Process& process) { return replace(process).has_value(); },
        [&](Process& process, bool was_done) {
            const std::string mark = mark_of(process);
            if (was_done) REQUIRE(mark == "new");
            seen.insert(mark);
            const auto done = replace(process);
            if (!done) FAIL(done.error().detail);
            REQUIRE(mark_of(process) == "new");
        });
    CHECK(seen == std::set<std::string>{"old", "new"});
}
