#include "bench/transport/probe/probe.hpp"

#include "bench/transport/probe/files.hpp"
#include "transport/ntb/pci.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <unistd.h>

namespace probe {

namespace fs = std::filesystem;

namespace {

// What a node with ten peers registers: their rings, and buffers to send from.
constexpr std::uint64_t kLockedWanted = std::uint64_t{64} << 20U;
constexpr std::uint64_t kHugeWanted = 32;  // Pages of 2 MiB.
constexpr unsigned kIpcLockBit = 14;       // CAP_IPC_LOCK of linux/capability.h.

// --- RDMA -----------------------------------------------------------------------------------

bool is_zero_gid(std::string_view gid) {
    return gid.find_first_not_of("0:") == std::string_view::npos;
}

// A port: what it says, and whether RoCE v2 or InfiniBand can go through it.
struct Port {
    std::vector<std::string> lines{};
    bool is_active = false;
    bool has_address = false;
};

Port look_at_port(const std::string& device, const fs::path& folder) {
    Port out;
    const std::string state = line_of(folder / "state");
    const std::string layer = line_of(folder / "link_layer");
    out.is_active = state.ends_with("ACTIVE");
    out.lines.push_back(fmt::format("{} port {}: {}, {}, {}",
                                    device,
                                    folder.filename().string(),
                                    state.empty() ? "state unknown" : state,
                                    layer.empty() ? "link unknown" : layer,
                                    line_of(folder / "rate")));
    for (const std::string& index : names_in(folder / "gids")) {
        const std::string gid = line_of(folder / "gids" / index);
        if (is_zero_gid(gid)) continue;
        const std::string type = line_of(folder / "gid_attrs/types" / index);
        const std::string interface = line_of(folder / "gid_attrs/ndevs" / index);
        out.lines.push_back(fmt::format("  GID {}: {} {}{}{}",
                                        index,
                                        gid,
                                        type.empty() ? "(type unknown)" : type,
                                        interface.empty() ? "" : " on ",
                                        interface));
        if (layer != "Ethernet" || type == "RoCE v2") out.has_address = true;
    }
    return out;
}

// The device file that user space reaches it by; empty: there is none.
fs::path verbs_file(const fs::path& root, const std::string& device) {
    const fs::path verbs = root / "sys/class/infiniband_verbs";
    for (const std::string& name : names_in(verbs))
        if (line_of(verbs / name / "ibdev") == device) return root / "dev/infiniband" / name;
    return {};
}

Finding look_for_rdma(const fs::path& root, const Build& build) {
    Finding out{.name = "RDMA", .instead = "TCP with TLS 1.3 to other hosts"};
    const fs::path all = root / "sys/class/infiniband";
    bool is_active = false;
    bool has_address = false;
    bool is_reachable = false;
    const auto devices = names_in(all);
    for (const std::string& device : devices) {
        const fs::path file = verbs_file(root, device);
        const bool can_open = !file.empty() && ::access(file.c_str(), R_OK | W_OK) == 0;
        for (const std::string& number : names_in(all / device / "ports")) {
            const Port port = look_at_port(device, all / device / "ports" / number);
            std::ranges::copy(port.lines, std::back_inserter(out.details));
            is_active = is_active || port.is_active;
            has_address = has_address || (port.is_active && port.has_address);
            is_reachable = is_reachable || (can_open && port.is_active && port.has_address);
        }
    }
    if (devices.empty()) {
        out.found = "This machine has no RDMA device: /sys/class/infiniband is empty.";
        out.remedy =
            "Install a network card with RoCE v2 or InfiniBand and load its driver (mlx5_ib, "
            "irdma, "
            "bnxt_re). To try it without one: modprobe rdma_rxe, then rdma link add rxe0 type rxe "
            "netdev INTERFACE.";
    } else if (!is_active) {
        out.found = "There are RDMA devices, but no port of theirs is active.";
        out.remedy = "Plug in the cable, and set the interface up: ip link set INTERFACE up.";
    } else if (!has_address) {
        out.found = "A port is active, but has no address of RoCE v2.";
        out.remedy =
            "Give its interface an IP address (ip address add), and where the card knows RoCE v1 "
            "only, switch it to v2.";
    } else if (!is_reachable) {
        out.found = "There is an RDMA device, but this user may not open it.";
        out.remedy =
            "modprobe ib_uverbs, and let the user read and write /dev/infiniband/uverbs* (udev "
            "rule, or group rdma).";
    } else {
        out.found = "RDMA is there.";
        out.is_usable = build.has_rdma;
        if (out.is_usable) out.instead.clear();
    }
    if (build.has_rdma) return out;
    out.found += " This program was built without RDMA: libibverbs was not there.";
    out.remedy += std::string(out.remedy.empty() ? "Use" : " And use") + " a build that has it.";
    return out;
}

// --- Memory ---------------------------------------------------------------------------------

bool may_lock_everything(const fs::path& root) {
    const auto set = value_of(root / "proc/self/status", "CapEff:");
    const auto bits = set ? number_at(*set, 16) : std::nullopt;
    return bits && (*bits >> kIpcLockBit & 1U) != 0;
}

Finding look_at_locked_memory(const fs::path& root) {
    Finding out{.name = "locked memory"};
    const auto limit = value_of(root / "proc/self/limits", "Max locked memory");
    const auto bytes = limit ? number_at(*limit).value_or(0) : 0;
    const std::string text = limit && limit->starts_with("unlimited") ? "no limit"
                             : bytes != 0                             ? mebibytes(bytes)
                                                                      : "not known";
    out.found = "RLIMIT_MEMLOCK is " + text + ".";
    if (may_lock_everything(root)) {
        out.is_usable = true;
        out.found += " This process has CAP_IPC_LOCK, so it does not count.";
        return out;
    }
    out.is_usable = text == "no limit" || bytes >= kLockedWanted;
    if (out.is_usable) return out;
    out.found += " RDMA registers memory, about " + mebibytes(kLockedWanted) + " with ten peers.";
    out.remedy =
        "LimitMEMLOCK=infinity in the systemd unit (the one of the package has it), or a line "
        "'USER - memlock unlimited' in /etc/security/limits.conf.";
    out.instead = "less memory for RDMA, or TCP where it is too little; nothing else needs it";
    return out;
}

Finding look_at_huge_pages(const fs::path& root) {
    Finding out{.name = "huge pages"};
    const fs::path memory = root / "proc/meminfo";
    const auto number = [&](std::string_view label) {
        const auto value = value_of(memory, label);
        return value ? number_at(*value).value_or(0) : 0;
    };
    const std::uint64_t free = number("HugePages_Free:");
    out.is_usable = number("Hugepagesize:") == 2048 && free >= kHugeWanted;
    out.found = fmt::format("{} of {} reserved huge pages are free, of {} KiB each.",
                            free,
                            number("HugePages_Total:"),
                            number("Hugepagesize:"));
    if (out.is_usable) return out;
    out.remedy =
        fmt::format("sysctl vm.nr_hugepages={} (in /etc/sysctl.d to keep it).",
                    number("HugePages_Total:") + kHugeWanted - std::min(free, kHugeWanted));
    out.instead = "pages of 4 KiB, which cost RDMA cards some address look-ups; nothing fails";
    return out;
}

// --- Windows --------------------------------------------------------------------------------

// How a device of shared memory can be used by this process.
std::string access_to(const transport::ntb::PciDevice& device) {
    if (device.driver == "vfio-pci") return "bound to vfio-pci: doorbells";
    if (!device.driver.empty()) return "taken by the driver " + device.driver;
    const fs::path bar = device.folder / "resource2";
    if (::access(bar.c_str(), R_OK | W_OK) != 0) return "its BAR can't be opened by this user";
    return "no driver: without doorbells, both ends look every few milliseconds";
}

bool can_be_used(const transport::ntb::PciDevice& device) {
    if (device.driver == "vfio-pci") return true;
    const fs::path bar = device.folder / "resource2";
    return device.driver.empty() && ::access(bar.c_str(), R_OK | W_OK) == 0;
}

Finding look_for_windows(const fs::path& root, const Build& build) {
    Finding out{.name = "PCIe windows", .instead = "TCP with TLS 1.3 to other hosts"};
    const auto devices = transport::ntb::find_shared_devices(root);
    for (const auto& device : devices) {
        const bool is_virtual = is_ivshmem(device);
        out.details.push_back(
            fmt::format("{} {:04x}:{:04x} {}, BAR 2 of {}, {}",
                        device.slot,
                        device.vendor,
                        device.device,
                        is_virtual ? "ivshmem, between virtual machines"
                                   : "bridge (" + std::string(bridge_family(device)) + ")",
                        mebibytes(transport::ntb::bar_bytes(device, 2)),
                        access_to(device)));
        out.is_usable = out.is_usable || can_be_used(device);
    }
    if (devices.empty()) {
        out.found =
            "No PCI device shares memory with another machine: no non-transparent bridge "
            "(NTB), and no ivshmem.";
        out.remedy =
            "Between servers: a bridge of Intel, AMD, Microchip or IDT, set to NTB-to-NTB in the "
            "firmware. Between virtual machines of one host: QEMU's -device ivshmem-doorbell.";
    } else if (!out.is_usable) {
        out.found = "There is a device, but this process can't reach its memory.";
        out.remedy =
            "Unbind its driver or bind vfio-pci to it (driverctl set-override SLOT vfio-pci), and "
            "let the user open /dev/vfio/GROUP or the device's resource2.";
    } else if (!build.has_windows) {
        out.is_usable = false;
        out.found =
            "There is memory that another machine shares, but the node of this release does "
            "not use it.";
    } else {
        out.found = "There is memory that another machine shares.";
        out.instead.clear();
    }
    return out;
}

Finding look_for_shared_memory(const Build& build) {
    Finding out{.name = "shared memory", .is_usable = build.no_shared_memory.empty()};
    if (out.is_usable) {
        out.found = "Processes of this host can share memory.";
        return out;
    }
    out.found = build.no_shared_memory + ".";
    out.remedy = "Run the nodes on one kernel, with /proc, memfd_create and abstract Unix sockets.";
    out.instead = "TCP with TLS 1.3 between nodes of this host too";
    return out;
}

}  // namespace

Report look(const fs::path& root, const Build& build) {
    Report out;
    out.findings = {look_for_rdma(root, build),
                    look_for_windows(root, build),
                    look_for_shared_memory(build),
                    look_at_huge_pages(root),
                    look_at_locked_memory(root)};
    out.same_host = out.findings[2].is_usable ? "shm" : "tcp";
    out.other_hosts = out.findings[0].is_usable ? "rdma" : "tcp";
    return out;
}

std::string to_text(const Report& report) {
    std::string out;
    for (const Finding& each : report.findings) {
        out +=
            fmt::format("{:<14} {}  {}\n", each.name, each.is_usable ? "yes" : "no ", each.found);
        for (const std::string& line : each.details)
            out += fmt::format("{:20}{}\n", "", line);
        if (!each.remedy.empty()) out += fmt::format("{:20}Remedy: {}\n", "", each.remedy);
        if (!each.instead.empty()) out += fmt::format("{:20}Used instead: {}.\n", "", each.instead);
    }
    out += fmt::format(
        "\nBetween nodes of this host {} is used, to other hosts {}.\n",
        report.same_host == "shm" ? "shared memory" : "TCP with TLS 1.3",
        report.other_hosts == "rdma" ? "RDMA, where the peer has it" : "TCP with TLS 1.3");
    return out;
}

std::string to_json(const Report& report) {
    nlohmann::ordered_json out;
    for (const Finding& each : report.findings) {
        out["findings"].push_back({{"name", each.name},
                                   {"usable", each.is_usable},
                                   {"found", each.found},
                                   {"details", each.details},
                                   {"remedy", each.remedy},
                                   {"instead", each.instead}});
    }
    out["same_host"] = report.same_host;
    out["other_hosts"] = report.other_hosts;
    return out.dump(2) + "\n";
}

}  // namespace probe
