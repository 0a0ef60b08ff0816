#include "transport/ntb/parameters.hpp"

#include "base/codec.hpp"

#include <string>

namespace transport::ntb {

namespace {

constexpr std::uint32_t kMagic = 0x77526f42;  // "BoRw".
constexpr std::uint32_t kVersion = 2;         // 1 had one frame in a record.

void check_ring(base::Reader& in, std::string_view field, unsigned log2) {
    if (log2 < kRingLog2Min || log2 > kRingLog2Max) {
        in.set_error(field, "is no ring of 64 KiB to 64 MiB");
    }
}

unsigned number(Pad pad) {
    return static_cast<unsigned>(pad);
}

}  // namespace

base::Bytes encode(const Parameters& parameters) {
    base::Writer out;
    out.u32(parameters.epoch);
    out.u8(parameters.control_log2);
    out.u8(parameters.data_log2);
    out.u8(parameters.partitions);
    out.bytes(parameters.place);
    return out.take();
}

base::Result<Parameters> decode_parameters(base::ByteView bytes) {
    base::Reader in(bytes);
    Parameters out{.epoch = in.u32("epoch")};
    if (out.epoch == 0) in.set_error("epoch", "is zero");
    out.control_log2 = in.u8("control ring");
    check_ring(in, "control ring", out.control_log2);
    out.data_log2 = in.u8("data ring");
    check_ring(in, "data ring", out.data_log2);
    out.partitions = in.u8("partitions");
    if (out.partitions != 1) in.set_error("partitions", "are not one, the only number we have");
    out.place = base::to_bytes(in.bytes("place", kPlaceBytesMax));
    if (auto done = in.finish(); !done) return base::fail(done.error());
    return out;
}

std::array<std::uint32_t, kScratchpads> pads_of(const Parameters& parameters) {
    const std::size_t bytes = parameters.geometry().region_bytes();
    std::array<std::uint32_t, kScratchpads> out{};
    out[number(Pad::magic)] = kMagic;
    out[number(Pad::version)] = kVersion;
    out[number(Pad::window_pages)] =
        static_cast<std::uint32_t>((bytes + kPageBytes - 1) / kPageBytes);
    out[number(Pad::rings)] =
        std::uint32_t{parameters.control_log2} | std::uint32_t{parameters.data_log2} << 8U;
    out[number(Pad::partitions)] = parameters.partitions;
    out[number(Pad::epoch)] = parameters.epoch;
    return out;
}

void announce(MemoryWindow& window, const Parameters& ours) {
    const auto pads = pads_of(ours);
    for (unsigned i = 0; i < number(Pad::state); ++i)
        window.write_scratchpad(i, pads[i]);
    window.write_scratchpad(number(Pad::state), kPadReady);
    window.ring_doorbell();
}

base::Result<bool> is_ready(const MemoryWindow& window, const Parameters& promised) {
    const std::uint32_t state = window.read_scratchpad(number(Pad::state));
    if (state == 0) return false;
    if (state == kPadGone) {
        return base::fail(base::Errc::unavailable, "the peer has left the window");
    }
    const auto pads = pads_of(promised);
    for (unsigned i = 0; i < number(Pad::state); ++i) {
        const std::uint32_t found = window.read_scratchpad(i);
        if (found == pads[i]) continue;
        return base::fail(base::Errc::invalid,
                          "the window's end is not the one that was promised: scratchpad " +
                              std::to_string(i) + " has " + std::to_string(found) +
                              ", expected was " + std::to_string(pads[i]));
    }
    if (state != kPadReady) {
        return base::fail(base::Errc::invalid,
                          "the window's end is in the unknown state " + std::to_string(state));
    }
    return true;
}

}  // namespace transport::ntb
