#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "transport/ring/mapped_store.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace transport::ntb {

// Memory that this machine shares with one other by a PCI device. Of each machine's only one
// process has it.
//
// Thread: one.
class PciMemory : base::Pinned {
  public:
    // Both machines know who is which: where there is one memory for both, each has a half to read.
    enum class Side : std::uint8_t { first, second };
    struct Ends {
        std::span<std::byte> inbound;   // What the other machine writes.
        std::span<std::byte> outbound;  // As long; only to be stored to.
    };

    virtual ~PciMemory() = default;

    [[nodiscard]] virtual Ends ends(Side ours) = 0;
    [[nodiscard]] std::size_t end_bytes() { return ends(Side::first).inbound.size(); }
    [[nodiscard]] virtual ring::MappedStore::Mapping mapping() const {
        return ring::MappedStore::Mapping::write_back;
    }

    // By which the other machine rings us. Empty: there are no doorbells, both ends have to look.
    [[nodiscard]] virtual std::optional<std::uint16_t> position() const { return std::nullopt; }
    // Readable when the doorbell was rung: an eventfd. Only with a position.
    [[nodiscard]] virtual int doorbell_fd() const { return -1; }
    virtual void ring(std::uint16_t /*position*/) {}

    // The device has been removed, or is to be and waits until this is destroyed; for good. May be
    // a system call: for once a second, and when something is wrong.
    [[nodiscard]] virtual bool is_gone() = 0;
};

struct PciOptions {
    // The device, "0000:00:04.0". Empty: the first ivshmem.
    std::string slot{};
    // Of a bridge: the memory of ours that its inbound translation points at, which whoever set up
    // the bridge knows; a file that can be mapped. Empty: the device's BAR is memory of both.
    std::filesystem::path inbound{};
    unsigned bar = 2;                  // Of a bridge: by which it is written.
    std::filesystem::path root = "/";  // Of sysfs and devices; another one in tests.
};

// unavailable: the machine has no such device, or it can't be used; the text says which and why.
[[nodiscard]] base::Result<std::unique_ptr<PciMemory>> open_pci_memory(const PciOptions& options);

}  // namespace transport::ntb
