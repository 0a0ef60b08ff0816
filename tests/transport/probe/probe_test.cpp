// What bor-transport-probe says of machines that are folders: with and without devices, ports that
// are down, devices that nobody may open, memory that is short.
#include "bench/transport/probe/probe.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace tests {

namespace {

namespace fs = std::filesystem;

// The files of a machine, which go with it.
class Machine {
  public:
    Machine() : root_(fs::temp_directory_path() / "bor-probe-XXXXXX") {
        std::string name = root_;
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        root_ = name;
        put("proc/self/limits",
            "Max locked memory         unlimited            unlimited  bytes\n");
        put("proc/self/status", "CapEff:\t0000000000000000\n");
        put("proc/meminfo",
            "HugePages_Total:     100\nHugePages_Free:       40\nHugepagesize:       2048 kB\n");
    }
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;
    ~Machine() { fs::remove_all(root_); }

    void put(const fs::path& file, const std::string& text) {
        fs::create_directories((root_ / file).parent_path());
        std::ofstream(root_ / file) << text;
    }
    // A RoCE card, as Linux shows it.
    void put_card(const std::string& state, const std::string& gid_type) {
        const fs::path port = "sys/class/infiniband/mlx5_0/ports/1";
        put(port / "state", state + "\n");
        put(port / "link_layer", "Ethernet\n");
        put(port / "rate", "100 Gb/sec (4X EDR)\n");
        put(port / "gids/0", "fe80:0000:0000:0000:0202:c9ff:fe00:0001\n");
        put(port / "gids/10", "0000:0000:0000:0000:0000:ffff:0a4d:0001\n");
        put(port / "gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
        put(port / "gid_attrs/types/0", "IB/RoCE v1\n");
        put(port / "gid_attrs/types/10", gid_type + "\n");
        put(port / "gid_attrs/ndevs/10", "eth1\n");
        put("sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0\n");
    }
    void put_pci(const std::string& slot, const std::string& vendor, const std::string& device) {
        const fs::path folder = fs::path("sys/bus/pci/devices") / slot;
        put(folder / "vendor", vendor + "\n");
        put(folder / "device", device + "\n");
        put(folder / "class", "0x068000\n");
        put(folder / "resource2", std::string(8192, '\0'));
    }
    void bind(const std::string& slot, const std::string& driver) {
        fs::create_symlink("../../drivers/" + driver,
                           root_ / "sys/bus/pci/devices" / slot / "driver");
    }

    [[nodiscard]] probe::Report look(const probe::Build& build = {.has_rdma = true,
                                                                  .has_windows = true}) const {
        return probe::look(root_, build);
    }

  private:
    fs::path root_;
};

const probe::Finding& finding(const probe::Report& report, const std::string& name) {
    for (const probe::Finding& each : report.findings)
        if (each.name == name) return each;
    FAIL("no finding " << name);
    return report.findings.front();
}

std::string details(const probe::Finding& finding) {
    std::string out;
    for (const std::string& line : finding.details)
        out += line + "\n";
    return out;
}

}  // namespace

TEST_CASE("a machine without devices is told what is missing, how to get it, and what is used") {
    const probe::Report report = Machine().look();
    CHECK(report.same_host == "shm");
    CHECK(report.other_hosts == "tcp");
    const std::string text = probe::to_text(report);
    CHECK_THAT(text, Catch::Contains("This machine has no RDMA device"));
    CHECK_THAT(text, Catch::Contains("modprobe rdma_rxe"));
    CHECK_THAT(text, Catch::Contains("Used instead: TCP with TLS 1.3 to other hosts."));
    CHECK_THAT(text, Catch::Contains("No PCI device shares memory"));
    CHECK_THAT(text, Catch::Contains("shared memory is used, to other hosts TCP with TLS 1.3."));
    for (const char* name : {"RDMA", "PCIe windows"}) {
        CHECK_FALSE(finding(report, name).is_usable);
        CHECK_FALSE(finding(report, name).remedy.empty());
        CHECK_FALSE(finding(report, name).instead.empty());
    }
    for (const char* name : {"shared memory", "huge pages", "locked memory"}) {
        CHECK(finding(report, name).is_usable);
        CHECK(finding(report, name).remedy.empty());
    }
}

TEST_CASE("a machine of which nothing can be read is still answered") {
    const probe::Report report = probe::look("/nowhere", {.no_shared_memory = "no memfd_create"});
    CHECK(report.same_host == "tcp");
    for (const probe::Finding& each : report.findings) {
        CAPTURE(each.name);
        CHECK_FALSE(each.is_usable);
        CHECK_FALSE(each.instead.empty());
    }
    CHECK(finding(report, "shared memory").found == "no memfd_create.");
    CHECK_THAT(finding(report, "locked memory").found, Catch::Contains("not known"));
}

TEST_CASE("a card with an active port and an address of RoCE v2 is used") {
    Machine machine;
    machine.put_card("4: ACTIVE", "RoCE v2");
    machine.put("dev/infiniband/uverbs0", "");
    const auto report = machine.look();
    const auto& rdma = finding(report, "RDMA");
    CHECK(rdma.is_usable);
    CHECK(rdma.remedy.empty());
    CHECK(rdma.instead.empty());
    CHECK(report.other_hosts == "rdma");
    CHECK(details(rdma) ==
          "mlx5_0 port 1: 4: ACTIVE, Ethernet, 100 Gb/sec (4X EDR)\n"
          "  GID 0: fe80:0000:0000:0000:0202:c9ff:fe00:0001 IB/RoCE v1\n"
          "  GID 10: 0000:0000:0000:0000:0000:ffff:0a4d:0001 RoCE v2 on eth1\n");
    const auto without = machine.look({.has_rdma = false});
    CHECK_FALSE(finding(without, "RDMA").is_usable);
    CHECK_THAT(finding(without, "RDMA").found, Catch::Contains("built without RDMA"));
    CHECK(without.other_hosts == "tcp");
    CHECK(finding(without, "RDMA").instead == "TCP with TLS 1.3 to other hosts");
    // Who has neither is told of both.
    const auto neither = Machine().look({.has_rdma = false});
    CHECK_THAT(finding(neither, "RDMA").found,
               Catch::Contains("no RDMA device") && Catch::Contains("built without RDMA"));
    CHECK_THAT(finding(neither, "RDMA").remedy,
               Catch::Contains("network card") && Catch::Contains("And use a build that has it."));
}

TEST_CASE("a card that can't be used says why") {
    Machine down;
    down.put_card("1: DOWN", "RoCE v2");
    CHECK_THAT(finding(down.look(), "RDMA").found, Catch::Contains("no port of theirs is active"));
    CHECK_THAT(finding(down.look(), "RDMA").remedy, Catch::Contains("ip link set"));
    Machine old;
    old.put_card("4: ACTIVE", "IB/RoCE v1");
    CHECK_THAT(finding(old.look(), "RDMA").found, Catch::Contains("no address of RoCE v2"));
    Machine closed;
    closed.put_card("4: ACTIVE", "RoCE v2");
    CHECK_THAT(finding(closed.look(), "RDMA").found, Catch::Contains("may not open it"));
    CHECK_THAT(finding(closed.look(), "RDMA").remedy, Catch::Contains("modprobe ib_uverbs"));
}

TEST_CASE("devices with shared memory are found by their numbers") {
    Machine machine;
    machine.put_pci("0000:00:04.0", "0x1af4", "0x1110");
    machine.put_pci("0000:00:05.0", "0x1af4", "0x1000");  // A virtual network card.
    machine.put_pci("0000:3a:00.0", "0x8086", "0x201c");
    machine.put_pci("0000:3b:00.0", "0x11f8", "0x8536");
    machine.bind("0000:3a:00.0", "ntb_hw_intel");
    const auto report = machine.look();
    const auto& windows = finding(report, "PCIe windows");
    CHECK(windows.is_usable);
    CHECK(windows.instead.empty());
    CHECK(details(windows) ==
          "0000:00:04.0 1af4:1110 ivshmem, between virtual machines, BAR 2 of 8 KiB, no driver: "
          "without doorbells, both ends look every few milliseconds\n"
          "0000:3a:00.0 8086:201c bridge (Intel, Skylake and Cascade Lake), BAR 2 of 8 KiB, taken "
          "by the driver ntb_hw_intel\n"
          "0000:3b:00.0 11f8:8536 bridge (Microchip Switchtec), BAR 2 of 8 KiB, no driver: without "
          "doorbells, both ends look every few milliseconds\n");
}

TEST_CASE("a window that the node does not use is none") {
    Machine machine;
    machine.put_pci("0000:00:04.0", "0x1af4", "0x1110");
    const auto report = machine.look({.has_rdma = true});
    CHECK_FALSE(finding(report, "PCIe windows").is_usable);
    CHECK_THAT(finding(report, "PCIe windows").found, Catch::Contains("does not use it"));
    CHECK_FALSE(finding(report, "PCIe windows").instead.empty());
}

TEST_CASE("a device that another driver has is no window, one of vfio has doorbells") {
    Machine taken;
    taken.put_pci("0000:3a:00.0", "0x8086", "0x347e");
    taken.bind("0000:3a:00.0", "ntb_hw_intel");
    const auto report = taken.look();
    CHECK_FALSE(finding(report, "PCIe windows").is_usable);
    CHECK_THAT(finding(report, "PCIe windows").remedy, Catch::Contains("driverctl"));
    Machine ready;
    ready.put_pci("0000:00:04.0", "0x1af4", "0x1110");
    ready.bind("0000:00:04.0", "vfio-pci");
    CHECK_THAT(details(finding(ready.look(), "PCIe windows")), Catch::Contains("doorbells"));
}

TEST_CASE("short memory has a remedy") {
    Machine machine;
    machine.put("proc/self/limits", "Max locked memory         65536    8388608    bytes\n");
    machine.put("proc/meminfo",
                "HugePages_Total:     10\nHugePages_Free:       4\nHugepagesize:       2048 kB\n");
    const auto locked = finding(machine.look(), "locked memory");
    CHECK_FALSE(locked.is_usable);
    CHECK_THAT(locked.found, Catch::Contains("RLIMIT_MEMLOCK is 64 KiB."));
    CHECK_THAT(locked.remedy, Catch::Contains("LimitMEMLOCK=infinity"));
    const auto huge = finding(machine.look(), "huge pages");
    CHECK_FALSE(huge.is_usable);
    CHECK_THAT(huge.remedy, Catch::Contains("vm.nr_hugepages=38"));
    machine.put("proc/self/status", "CapEff:\t0000000000004000\n");
    CHECK(finding(machine.look(), "locked memory").is_usable);
    machine.put("proc/self/limits", "Max locked memory         67108864    67108864    bytes\n");
    machine.put("proc/self/status", "CapEff:\t0000000000000000\n");
    CHECK(finding(machine.look(), "locked memory").is_usable);
}

TEST_CASE("the report as JSON has what the text has") {
    Machine machine;
    machine.put_pci("0000:00:04.0", "0x1af4", "0x1110");
    const auto report = machine.look();
    const auto json = nlohmann::json::parse(probe::to_json(report));
    CHECK(json["same_host"] == "shm");
    CHECK(json["other_hosts"] == "tcp");
    REQUIRE(json["findings"].size() == report.findings.size());
    for (std::size_t i = 0; i < report.findings.size(); ++i) {
        CHECK(json["findings"][i]["name"] == report.findings[i].name);
        CHECK(json["findings"][i]["usable"] == report.findings[i].is_usable);
        CHECK(json["findings"][i]["found"] == report.findings[i].found);
        CHECK(json["findings"][i]["details"].size() == report.findings[i].details.size());
    }
}

}  // namespace tests
