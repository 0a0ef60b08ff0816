// Windows that are shares of a PCI device's memory, played by a file that both ends map: with
// doorbells and without, as one memory for both and as a bridge; devices that can't be used; peers
// that claim to be another's, that write anything anywhere, that start anew.
#include "base/rng.hpp"
#include "ends.hpp"
#include "transport/ntb/device_mapping.hpp"
#include "transport/ntb/pci_kind.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <unistd.h>

// NOLINTBEGIN(bugprone-unchecked-optional-access): REQUIRE() looks, which clang-tidy can't see.
namespace tests {

namespace fs = std::filesystem;
namespace ntb = transport::ntb;
using ntb::PciMemory;
using transport::Descriptor;

namespace {

constexpr std::size_t kMemoryBytes = std::size_t{1} << 20;

// The device: its memory, and a doorbell for each machine.
struct Device {
    Device() : memory(memfd_create("pci", MFD_CLOEXEC)) {
        REQUIRE(ftruncate(memory.get(), kMemoryBytes) == 0);
        for (auto& each : bells)
            each = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    }

    Descriptor memory;
    std::array<Descriptor, 2> bells;
};

// What a machine sees of it.
class MachineMemory final : public PciMemory {
  public:
    MachineMemory(const Device& device, std::optional<std::uint16_t> position)
        : device_(device), position_(position), mapping_(map(device)), bytes_(mapping_->bytes()) {}

    [[nodiscard]] Ends ends(Side ours) override {
        const auto first = bytes_.first(kMemoryBytes / 2);
        const auto second = bytes_.subspan(kMemoryBytes / 2);
        return ours == Side::first ? Ends{first, second} : Ends{second, first};
    }
    [[nodiscard]] transport::ring::MappedStore::Mapping mapping() const override {
        return transport::ring::MappedStore::Mapping::write_combining;
    }
    [[nodiscard]] std::optional<std::uint16_t> position() const override { return position_; }
    [[nodiscard]] int doorbell_fd() const override { return device_.bells.at(*position_).get(); }
    void ring(std::uint16_t position) override {
        const std::uint64_t one = 1;
        REQUIRE(::write(device_.bells.at(position).get(), &one, sizeof one) == sizeof one);
    }

    [[nodiscard]] bool is_gone() override { return mapping_->is_lost(); }

    [[nodiscard]] std::span<std::byte> all() { return bytes_; }

  private:
    static std::unique_ptr<ntb::DeviceMapping> map(const Device& device) {
        void* const begin =
            mmap(nullptr, kMemoryBytes, PROT_READ | PROT_WRITE, MAP_SHARED, device.memory.get(), 0);
        REQUIRE(begin != MAP_FAILED);
        auto mapping = ntb::DeviceMapping::create(begin, kMemoryBytes);
        REQUIRE(mapping);
        return std::move(*mapping);
    }

    const Device& device_;
    std::optional<std::uint16_t> position_;
    std::unique_ptr<ntb::DeviceMapping> mapping_;
    std::span<std::byte> bytes_;
};

ntb::PciKind::Options small_rings(const std::string& machine) {
    return {.control_log2 = 16, .data_log2 = 16, .machine = machine};
}

std::unique_ptr<ntb::PciKind> make_kind(const Device& device,
                                        std::optional<std::uint16_t> position,
                                        const std::string& machine) {
    auto kind = ntb::PciKind::create(std::make_unique<MachineMemory>(device, position),
                                     small_rings(machine));
    REQUIRE(kind);
    return std::move(*kind);
}

using PciEnd = EndOf<ntb::PciKind>;

struct PciEnds : EndsOf<PciEnd> {
    PciEnds(std::unique_ptr<ntb::PciKind> of_leader, std::unique_ptr<ntb::PciKind> of_follower)
        : EndsOf(std::move(of_leader), std::move(of_follower)) {}

    // As event loops would: each when its descriptor or its time says so. False: time goes by and
    // nothing comes to rest.
    bool run_until(const std::function<bool()>& done) {
        for (int turns = 0; turns < 20'000; ++turns) {
            leader.turn(now);
            follower.turn(now);
            (void)leader.sleeps();
            (void)follower.sleeps();
            if (done()) return true;
            now += 100us;
        }
        return false;
    }
    bool arrive(std::size_t at_leader, std::size_t at_follower) {
        const auto count = [](const PciEnd& end) {
            return end.arrived[0].size() + end.arrived[1].size();
        };
        return run_until(
            [&] { return count(leader) >= at_leader && count(follower) >= at_follower; });
    }
};

void check_frames(PciEnds& ends, unsigned frames) {
    for (unsigned i = 0; i < frames; ++i) {
        const Lane lane = i % 3 == 0 ? Lane::control : Lane::data;
        const std::size_t max = lane == Lane::control ? 4'000 : 16'000;
        ends.leader.to_send[PciEnd::index(lane)].push_back(frame(1 + i * 37 % max, i));
        ends.follower.to_send[PciEnd::index(lane)].push_back(frame(1 + i * 41 % max, i));
    }
    const auto of_leader = ends.leader.to_send;
    const auto of_follower = ends.follower.to_send;
    REQUIRE(ends.arrive(frames, frames));
    for (std::size_t lane = 0; lane < transport::kLanes; ++lane) {
        CHECK(std::ranges::equal(ends.follower.arrived[lane], of_leader[lane]));
        CHECK(std::ranges::equal(ends.leader.arrived[lane], of_follower[lane]));
    }
}

}  // namespace

TEST_CASE("frames go both ways through the memory of a device, with doorbells and without") {
    for (const bool has_doorbells : {true, false}) {
        CAPTURE(has_doorbells);
        const Device device;
        const auto position = [&](std::uint16_t each) {
            return has_doorbells ? std::optional(each) : std::nullopt;
        };
        PciEnds ends(make_kind(device, position(1), "b"), make_kind(device, position(0), "a"));
        check_frames(ends, 1'000);
        const auto& counters = ends.leader.kind->counters();
        CHECK((counters.rung > 0) == has_doorbells);
        CHECK((counters.heard > 0) == has_doorbells);
        CHECK(ends.leader.kind->windows() == 1);
        ends.leader.path.reset();
        CHECK(ends.leader.kind->windows() == 0);
        for (int i = 0; i < 100 && ends.follower.path; ++i) {
            ends.now += 100ms;
            ends.follower.turn(ends.now);
            const auto alive = ends.follower.path->tick(ends.now);
            if (!alive) ends.follower.failure = alive.error().detail;
            if (!alive) ends.follower.path.reset();
        }
        CHECK(ends.follower.failure == "the peer has left the window");
    }
}

TEST_CASE("an end with doorbells and one without look by themselves") {
    const Device device;
    PciEnds ends(make_kind(device, 0, "a"), make_kind(device, std::nullopt, "b"));
    check_frames(ends, 300);
}

TEST_CASE("ends with doorbells sleep, ends without look ever more seldom") {
    const Device device;
    {
        PciEnds ends(make_kind(device, 0, "a"), make_kind(device, 1, "b"));
        REQUIRE(ends.run_until([&] {
            return ends.leader.path->has_room(Lane::control) &&
                   ends.follower.path->has_room(Lane::control);
        }));
        ends.run();
        // But to see whether the device is still there.
        CHECK(ends.leader.kind->driver().wake_at() == base::Timestamp{2s});
        CHECK(ends.follower.kind->driver().wake_at() == base::Timestamp{2s});
    }
    PciEnds ends(make_kind(device, std::nullopt, "a"), make_kind(device, std::nullopt, "b"));
    REQUIRE(ends.run_until([&] {
        return ends.leader.path->has_room(Lane::control) &&
               ends.follower.path->has_room(Lane::control);
    }));
    ends.now += 1s;
    for (int i = 0; i < 10; ++i) {
        const auto wake = ends.leader.kind->driver().wake_at();
        REQUIRE(wake);
        ends.now = std::max(ends.now, *wake);
        ends.leader.turn(ends.now);
        (void)ends.leader.sleeps();
    }
    CHECK(*ends.leader.kind->driver().wake_at() - ends.now == 16ms);
}

TEST_CASE("several paths share the memory, round-robin, until it is full") {
    const Device device;
    std::unique_ptr<ntb::PciKind> first = make_kind(device, 0, "a");
    std::unique_ptr<ntb::PciKind> second = make_kind(device, 1, "b");
    const std::uint16_t shares = first->offered().shares;
    REQUIRE(shares == 3);
    PciEnd ends[2] = {PciEnd(std::move(first)), PciEnd(std::move(second))};
    const auto address = ends[1].kind->address();
    std::vector<std::unique_ptr<link::FastPath>> paths;
    std::vector<std::uint16_t> order;
    for (unsigned i = 0; i < shares; ++i) {
        const auto parameters = ends[0].prepare(address, true);
        REQUIRE(parameters);
        order.push_back(ntb::decode_share_place(ntb::decode_parameters(*parameters)->place)->share);
        paths.push_back(std::move(ends[0].path));
    }
    CHECK(order == std::vector<std::uint16_t>{1, 2, 0});
    const auto full = ends[0].prepare(address, true);
    REQUIRE_FALSE(full);
    CHECK(full.error().detail == "all shares of the window are in use");
    paths.erase(paths.begin());
    CHECK(ends[0].kind->windows() == 2U);
    CHECK(ends[0].prepare(address, true));
}

TEST_CASE("a peer of this machine, or whose window is divided otherwise, is not tried") {
    const Device device;
    PciEnd end(make_kind(device, 0, "a"));
    const auto refusal = [&](const ntb::PciAddress& peer) {
        const auto prepared = end.prepare(ntb::encode(peer), true);
        REQUIRE_FALSE(prepared);
        return prepared.error().detail;
    };
    ntb::PciAddress peer = end.kind->offered();
    CHECK(refusal(peer) == "the peer runs on this machine");
    peer.machine = "b";
    CHECK(end.prepare(ntb::encode(peer), true));
    peer.machine = "c";
    CHECK(refusal(peer) == "the window is in use with another machine; it joins two");
    end.path.reset();
    CHECK(end.prepare(ntb::encode(peer), true));
    ++peer.shares;
    CHECK_THAT(refusal(peer), Catch::Contains("the peer's window has 4 shares of 524288 bytes"));
    --peer.shares;
    peer.end_bytes *= 2;
    CHECK_THAT(refusal(peer), Catch::Contains("ours 3 of 524288"));
    CHECK_FALSE(end.prepare({}, true));
}

TEST_CASE("a place outside the shares, or rings that are too long for one, are not written to") {
    const Device device;
    PciEnd end(make_kind(device, 0, "a"));
    const PciEnd other(make_kind(device, 1, "b"));
    const auto connect = [&](std::uint16_t share, std::uint8_t data_log2) {
        REQUIRE(end.prepare(other.kind->address(), true));
        const ntb::Parameters peer{.epoch = 3,
                                   .control_log2 = 16,
                                   .data_log2 = data_log2,
                                   .place = ntb::encode(ntb::SharePlace{share, 7})};
        return end.path->bring_up(ntb::encode(peer));
    };
    CHECK(connect(2, 16));
    CHECK_FALSE(connect(3, 16));
    CHECK_FALSE(connect(0xFFFF, 16));
    CHECK_FALSE(connect(0, 17));
    CHECK_FALSE(connect(0, 26));
}

namespace {

// What the device holds, as nobody's end.
std::vector<std::byte> bytes_of(const Device& device) {
    MachineMemory view(device, std::nullopt);
    const auto all = view.all();
    return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("who claims to be at the other end and is not, has nothing written but a knock") {
    const Device device;
    PciEnds ends(make_kind(device, 0, "a"), make_kind(device, 1, "b"));
    check_frames(ends, 50);
    ends.run();
    // A member without the device: it has copied the follower's address, and names the share that
    // the follower's rings are in.
    PciEnd& end = ends.leader;
    std::unique_ptr<link::FastPath> real = std::move(end.path);
    REQUIRE(end.prepare(ends.follower.kind->address(), true));
    const auto before = bytes_of(device);
    const ntb::Parameters liar{.epoch = 3,
                               .control_log2 = 16,
                               .data_log2 = 16,
                               .place = ntb::encode(ntb::SharePlace{1, 0x0707070707070707})};
    // prepare() has made it.
    REQUIRE(end.path->bring_up(ntb::encode(liar)));  // NOLINT(clang-analyzer-cplusplus.Move)
    for (int i = 0; i < 50; ++i) {
        ends.now += 10ms;
        end.to_send[0] = {frame(100, 1)};
        end.turn(ends.now);
        (void)end.sleeps();
    }
    const auto after = bytes_of(device);
    // A word, of which single bytes may be what they were.
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    std::size_t changed = 0;
    for (std::size_t i = 0; i < before.size(); i += kWord)
        if (!std::equal(&before[i], &before[i] + kWord, &after[i])) ++changed;
    CHECK(changed == 1);
    // And the real path goes on.
    end.path = std::move(real);
    end.to_send = {};
    end.arrived = {};
    ends.follower.arrived = {};
    check_frames(ends, 50);
}

TEST_CASE("a peer that starts anew finds a clean share, whatever was there") {
    const Device device;
    {
        MachineMemory noise(device, std::nullopt);
        std::ranges::fill(noise.all(), std::byte{0x5a});
    }
    auto leader = make_kind(device, 0, "a");
    for (int life = 0; life < 5; ++life) {
        // The follower was killed: it has given nothing back.
        PciEnds ends(std::move(leader), make_kind(device, 1, "b"));
        check_frames(ends, 100);
        ends.leader.path.reset();
        leader = std::move(ends.leader.kind);
    }
}

TEST_CASE("an end of another epoch than the one promised fails") {
    const Device device;
    PciEnds ends(make_kind(device, 0, "a"), make_kind(device, 1, "b"));
    check_frames(ends, 10);
    REQUIRE(ends.leader.path->tick(ends.now));
    // Its successor writes its epoch where its predecessor had.
    MachineMemory other(device, std::nullopt);
    const auto half = other.ends(PciMemory::Side::second).outbound;
    const std::uint32_t epoch = 1;
    const std::size_t at = 64 * static_cast<std::size_t>(ntb::Pad::epoch);
    for (std::size_t share = 0; share < 3; ++share) {
        const std::size_t bytes = half.size() / 3 / 4096 * 4096;
        std::memcpy(half.data() + share * bytes + at, &epoch, sizeof epoch);
    }
    const auto alive = ends.leader.path->tick(ends.now);
    REQUIRE_FALSE(alive);
    CHECK_THAT(alive.error().detail, Catch::Contains("not the one that was promised"));
}

TEST_CASE("a device that is gone reads as ones, and ends the path") {
    const Device device;
    PciEnds ends(make_kind(device, 0, "a"), make_kind(device, 1, "b"));
    check_frames(ends, 10);
    MachineMemory other(device, std::nullopt);
    std::ranges::fill(other.all(), std::byte{0xFF});
    CHECK_FALSE(ends.leader.path->tick(ends.now));
}

// As when a PCI device is removed: its pages go, whoever has them mapped.
TEST_CASE("a device that is removed in use is let go with its paths, which say so") {
    for (const bool has_doorbells : {true, false}) {
        Device device;
        const auto position = [&](std::uint16_t number) {
            return has_doorbells ? std::optional(number) : std::nullopt;
        };
        PciEnds ends(make_kind(device, position(0), "a"), make_kind(device, position(1), "b"));
        check_frames(ends, 20);
        REQUIRE(ends.leader.kind->why_not().empty());
        REQUIRE(ftruncate(device.memory.get(), 0) == 0);
        for (PciEnd* end : {&ends.leader, &ends.follower}) {
            REQUIRE(ends.run_until([&] { return !end->failure.empty(); }));
            CHECK_THAT(end->failure, Catch::Contains("PCI device has been removed"));
            CHECK(end->path == nullptr);
            CHECK_THAT(end->kind->why_not(), Catch::Contains("has been removed"));
            CHECK(end->kind->address().empty());
            CHECK(end->kind->windows() == 0);
            const auto refused = end->prepare(encode(end->kind->offered()), true);
            REQUIRE_FALSE(refused);
            CHECK_THAT(refused.error().detail, Catch::Contains("has been removed"));
        }
    }
}

TEST_CASE("whatever a machine writes into the memory ends paths or nothing") {
    base::Rng rng(11);
    unsigned failed = 0;
    for (int round = 0; round < 100; ++round) {
        const Device device;
        PciEnds ends(make_kind(device, 0, "a"), make_kind(device, 1, "b"));
        check_frames(ends, 3);
        MachineMemory other(device, std::nullopt);
        const auto inbound = other.ends(PciMemory::Side::first).inbound;
        const std::size_t share = inbound.size() / 3 / 4096 * 4096;
        for (int i = 0; i < 50 && ends.leader.path; ++i) {
            const std::size_t near = rng.below(2) == 0 ? 8192 : share;
            const std::size_t at = rng.below(near / 64) * 64;
            // Pads stay as they are, or the first change would end it.
            if (at < 4096 && rng.below(50) != 0) continue;
            const std::uint64_t word = rng.below(2) == 0 ? rng.below(1'000) : rng.below(~0ULL);
            for (std::size_t each = 0; each < 3; ++each)
                std::memcpy(inbound.data() + each * share + at, &word, sizeof word);
            ends.leader.to_send[0].push_back(frame(20, 1));
            ends.leader.path->call_again();
            ends.now += 1ms;
            ends.leader.turn(ends.now);
            if (ends.leader.path && !ends.leader.path->tick(ends.now)) ends.leader.path.reset();
        }
        if (!ends.leader.path) ++failed;
        // Nothing that it wrote was sealed.
        CHECK(ends.leader.arrived[0].size() + ends.leader.arrived[1].size() == 3);
    }
    CHECK(failed > 10);
}

// --- Devices --------------------------------------------------------------------------------

namespace {

// A machine with PCI devices, which is a folder.
class Machine {
  public:
    Machine() {
        std::string name = fs::temp_directory_path() / "bor-pci-XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root = name;
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() { fs::remove_all(root); }

    fs::path put_device(const std::string& slot, const std::string& vendor, const std::string& id) {
        fs::path folder = root / "sys/bus/pci/devices" / slot;
        fs::create_directories(folder);
        std::ofstream(folder / "vendor") << vendor << "\n";
        std::ofstream(folder / "device") << id << "\n";
        std::ofstream(folder / "resource2") << "";
        fs::resize_file(folder / "resource2", kMemoryBytes);
        return folder;
    }

    fs::path root;
};

std::string refusal(const ntb::PciOptions& options) {
    const auto memory = ntb::open_pci_memory(options);
    REQUIRE_FALSE(memory);
    CHECK(memory.error().code == base::Errc::unavailable);
    return memory.error().detail;
}

}  // namespace

TEST_CASE("the memory of an ivshmem device without a driver is divided in halves") {
    Machine machine;
    CHECK(refusal({.root = machine.root}) == "no window: this machine has no ivshmem device");
    const fs::path folder = machine.put_device("0000:00:04.0", "0x1af4", "0x1110");
    auto memory = ntb::open_pci_memory({.root = machine.root});
    REQUIRE(memory);
    CHECK((*memory)->end_bytes() == kMemoryBytes / 2);
    CHECK_FALSE((*memory)->position());
    const auto first = (*memory)->ends(PciMemory::Side::first);
    const auto second = (*memory)->ends(PciMemory::Side::second);
    CHECK(first.inbound.data() == second.outbound.data());
    CHECK(first.outbound.data() == second.inbound.data());
    CHECK(first.inbound.data() + first.inbound.size() == first.outbound.data());
    CHECK(first.inbound.size() == kMemoryBytes / 2);
    first.outbound[0] = std::byte{7};
    std::ifstream file(folder / "resource2", std::ios::binary);
    file.seekg(kMemoryBytes / 2);
    CHECK(file.get() == 7);
    // Only one process of a machine can have it.
    CHECK_THAT(refusal({.root = machine.root}), Catch::Contains("is used by another process"));
    memory->reset();
    CHECK(ntb::open_pci_memory({.slot = "0000:00:04.0", .root = machine.root}));
    CHECK_THAT(refusal({.slot = "0000:00:05.0", .root = machine.root}),
               Catch::Contains("0000:00:05.0 is no ivshmem device"));
}

TEST_CASE("a device that was removed is gone, though it stays mapped and another has its slot") {
    Machine machine;
    const fs::path folder = machine.put_device("0000:00:04.0", "0x1af4", "0x1110");
    auto memory = ntb::open_pci_memory({.root = machine.root});
    REQUIRE(memory);
    CHECK_FALSE((*memory)->is_gone());
    fs::remove_all(folder);
    CHECK((*memory)->is_gone());
    machine.put_device("0000:00:04.0", "0x1af4", "0x1110");
    CHECK((*memory)->is_gone());
    CHECK((*memory)->ends(PciMemory::Side::first).inbound[0] == std::byte{0});
}

TEST_CASE("a device that a driver has, or that is off, is refused by name") {
    Machine machine;
    const fs::path folder = machine.put_device("0000:00:04.0", "0x1af4", "0x1110");
    fs::create_directory_symlink("../../drivers/uio_pci_generic", folder / "driver");
    CHECK_THAT(refusal({.root = machine.root}),
               Catch::Contains("0000:00:04.0 is taken by the driver uio_pci_generic"));
    fs::remove(folder / "driver");
    fs::create_directory(folder / "enable");  // Can't be written, even by root.
    CHECK_THAT(refusal({.root = machine.root}), Catch::Contains("0000:00:04.0 is off"));
    fs::remove(folder / "enable");
    fs::resize_file(folder / "resource2", 0);
    CHECK_THAT(refusal({.root = machine.root}), Catch::Contains("has no size"));
    fs::create_directory_symlink("../../drivers/vfio-pci", folder / "driver");
    CHECK_THAT(refusal({.root = machine.root}), Catch::Contains("has no IOMMU group"));
}

TEST_CASE("a bridge's BAR is written with write combining, its memory is read") {
    Machine machine;
    const fs::path folder = machine.put_device("0000:3a:00.0", "0x8086", "0x201c");
    const fs::path inbound = machine.root / "inbound";
    std::ofstream(inbound) << "";
    fs::resize_file(inbound, kMemoryBytes / 4);
    CHECK_THAT(refusal({.inbound = inbound, .root = machine.root}),
               Catch::Contains("only when its slot is named"));
    CHECK_THAT(refusal({.slot = "0000:3a:00.0", .root = machine.root}),
               Catch::Contains("is no ivshmem device"));
    const ntb::PciOptions options{.slot = "0000:3a:00.0", .inbound = inbound, .root = machine.root};
    using Mapping = transport::ring::MappedStore::Mapping;
    {
        auto memory = ntb::open_pci_memory(options);
        REQUIRE(memory);
        CHECK((*memory)->mapping() == Mapping::write_back);
        CHECK((*memory)->end_bytes() == kMemoryBytes / 4);
    }
    fs::copy_file(folder / "resource2", folder / "resource2_wc");
    auto memory = ntb::open_pci_memory(options);
    REQUIRE(memory);
    CHECK((*memory)->mapping() == Mapping::write_combining);
    (*memory)->ends(PciMemory::Side::first).outbound[9] = std::byte{5};
    std::ifstream file(folder / "resource2_wc", std::ios::binary);
    file.seekg(9);
    CHECK(file.get() == 5);
    fs::remove(inbound);
    memory->reset();
    CHECK_THAT(refusal(options), Catch::Contains("inbound can't be opened"));
}

TEST_CASE("addresses and places survive the way there and back or are refused") {
    const ntb::PciAddress address{.machine = "m", .end_bytes = 1 << 20, .shares = 3, .position = 1};
    const base::Bytes bytes = ntb::encode(address);
    const auto decoded = ntb::decode_pci_address(bytes);
    REQUIRE(decoded);
    CHECK(*decoded == address);
    for (std::size_t cut = 0; cut < bytes.size(); ++cut)
        CHECK_FALSE(ntb::decode_pci_address(base::ByteView(bytes).first(cut)));
    CHECK_FALSE(ntb::decode_pci_address(ntb::encode(ntb::PciAddress{.machine = ""})));
    CHECK_FALSE(
        ntb::decode_pci_address(ntb::encode(ntb::PciAddress{.machine = std::string(65, 'm')})));
    const base::Bytes place = ntb::encode(ntb::SharePlace{.share = 2, .knock = 9});
    REQUIRE(ntb::decode_share_place(place));
    CHECK(ntb::encode(*ntb::decode_share_place(place)) == place);
    CHECK_FALSE(ntb::decode_share_place(base::ByteView(place).first(9)));
    CHECK_FALSE(ntb::decode_share_place(ntb::encode(ntb::SharePlace{.share = 2, .knock = 0})));
}

TEST_CASE("memory that is too small for a share is refused with what is needed") {
    const Device device;
    const auto kind = ntb::PciKind::create(std::make_unique<MachineMemory>(device, std::nullopt),
                                           {.machine = "a"});
    REQUIRE_FALSE(kind);
    CHECK_THAT(kind.error().detail, Catch::Contains("each share needs 1318912"));
    CHECK_FALSE(
        ntb::PciKind::create(std::make_unique<MachineMemory>(device, std::nullopt),
                             {.control_log2 = 16, .data_log2 = 16, .shares = 4, .machine = "a"}));
}

}  // namespace tests
// NOLINTEND(bugprone-unchecked-optional-access)
