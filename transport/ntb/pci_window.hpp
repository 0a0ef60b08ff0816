#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "transport/ntb/pci_memory.hpp"
#include "transport/ntb/window.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace transport::ntb {

// Whose windows are shares of one memory.
class ShareOwner {
  public:
    virtual ~ShareOwner() = default;

    virtual void ring(std::uint16_t position) = 0;
    virtual void give_back(std::uint16_t share) = 0;
    // Fails its windows if the device has gone.
    virtual void look_at_device() = 0;
};

// What a window's end says by TLS: where the peer is to write, and what it is to write there
// first, which nobody else knows.
struct SharePlace {
    std::uint16_t share = 0;
    std::uint64_t knock = 0;  // Never 0.
};
[[nodiscard]] base::Bytes encode(const SharePlace& place);
[[nodiscard]] base::Result<SharePlace> decode_share_place(base::ByteView bytes);

// A window that is a share of what a PCI device has at each end. Each end chooses the share that
// it reads, and clears it. Scratchpads are in the memory, since devices have none for each share.
//
// The link is up when the peer has knocked: written, into our share, the number that only it was
// told. Before that nothing is written where another window may be in use: a member that claims to
// be the machine at the other end, and is not, would otherwise have us write into that one's rings.
//
// Thread: one.
class PciWindow final : public MemoryWindow {
  public:
    struct Layout {
        PciMemory::Ends ends{};
        std::size_t share_bytes = 0;
        ring::MappedStore::Mapping mapping = ring::MappedStore::Mapping::write_back;
        std::uint16_t shares = 0;
        std::uint16_t ours = 0;           // Which of them we read.
        std::uint16_t peer_position = 0;  // Where its doorbell is, if it has one.
    };

    PciWindow(ShareOwner& owner, const Layout& layout, std::uint64_t knock);
    ~PciWindow() override { owner_.give_back(layout_.ours); }

    [[nodiscard]] base::Bytes place() const override;
    [[nodiscard]] base::Result<void> connect(base::ByteView peer_place,
                                             std::size_t peer_bytes) override;
    [[nodiscard]] Link link() const override { return link_; }
    [[nodiscard]] const std::string& failure() const override { return failure_; }

    [[nodiscard]] std::span<std::byte> inbound() override;
    [[nodiscard]] std::span<std::byte> outbound() override;
    [[nodiscard]] ring::MappedStore::Mapping mapping() const override { return layout_.mapping; }
    [[nodiscard]] std::uint32_t read_scratchpad(unsigned number) const override;
    void write_scratchpad(unsigned number, std::uint32_t value) override;
    void ring_doorbell() override { owner_.ring(layout_.peer_position); }
    void look_at_device() override { owner_.look_at_device(); }

    // Whether the peer has knocked meanwhile: now and then, until the link is up.
    void look();
    void fail(std::string why);

  private:
    [[nodiscard]] std::span<std::byte> share_of(std::span<std::byte> end,
                                                std::uint16_t number) const {
        return end.subspan(number * layout_.share_bytes, layout_.share_bytes);
    }

    ShareOwner& owner_;
    Layout layout_;
    std::uint64_t knock_;  // What we wait for.
    std::span<std::byte> inbound_;
    std::span<std::byte> outbound_;  // Empty: not told yet.
    Link link_ = Link::down;
    std::string failure_;  // Of the device: a peer that has gone is silent, or has said so.
};

}  // namespace transport::ntb
