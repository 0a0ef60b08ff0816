#include "base/check.hpp"
#include "transport/ntb/parameters.hpp"
#include "transport/ntb/pci_kind.hpp"
#include "transport/ntb/shm_socket.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

namespace ntb = transport::ntb;

// A window of which only the scratchpads are of interest: the peer writes anything to them.
class Scratchpads final : public ntb::MemoryWindow {
  public:
    explicit Scratchpads(base::ByteView bytes) {
        std::memcpy(pads_.data(), bytes.data(), std::min(bytes.size(), sizeof pads_));
    }

    [[nodiscard]] base::Bytes place() const override { return {}; }
    [[nodiscard]] base::Result<void> connect(base::ByteView, std::size_t) override { return {}; }
    [[nodiscard]] Link link() const override { return Link::up; }
    [[nodiscard]] const std::string& failure() const override { return failure_; }
    [[nodiscard]] std::span<std::byte> inbound() override { return {}; }
    [[nodiscard]] std::span<std::byte> outbound() override { return {}; }
    [[nodiscard]] transport::ring::MappedStore::Mapping mapping() const override {
        return transport::ring::MappedStore::Mapping::write_back;
    }
    [[nodiscard]] std::uint32_t read_scratchpad(unsigned number) const override {
        return pads_.at(number);
    }
    void write_scratchpad(unsigned number, std::uint32_t value) override {
        pads_.at(number) = value;
    }
    void ring_doorbell() override {}

  private:
    std::string failure_;
    std::array<std::uint32_t, ntb::kScratchpads> pads_{};
};

}  // namespace

// What a peer says about its end of a window: by TLS, over a Unix socket, in our scratchpads.
// What is accepted survives the way back, and no end is taken for another.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const base::ByteView input(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
    switch (data[0] % 6) {
        case 0:
            if (const auto parameters = ntb::decode_parameters(input)) {
                CHECK(base::equal(ntb::encode(*parameters), input));
                CHECK(parameters->geometry().region_bytes() <= std::size_t{129} << 20U);
            }
            break;
        case 1:
            if (const auto address = ntb::decode_address(input))
                CHECK(base::equal(ntb::encode(*address), input));
            break;
        case 2:
            if (const auto token = ntb::decode_hello(input))
                CHECK(base::equal(ntb::encode_hello(*token), input));
            break;
        case 3:
            if (const auto address = ntb::decode_pci_address(input))
                CHECK(base::equal(ntb::encode(*address), input));
            break;
        case 4:
            if (const auto place = ntb::decode_share_place(input))
                CHECK(base::equal(ntb::encode(*place), input));
            break;
        default: {
            const ntb::Parameters promised{.epoch = 0x01020304};
            Scratchpads window(input);
            const auto ready = ntb::is_ready(window, promised);
            if (!ready || !*ready) break;
            const auto pads = ntb::pads_of(promised);
            for (unsigned i = 0; i < static_cast<unsigned>(ntb::Pad::state); ++i)
                CHECK(window.read_scratchpad(i) == pads.at(i));
        }
    }
    return 0;
}
