#include "base/check.hpp"
#include "transport/link/detection.hpp"
#include "transport/link/frame.hpp"

#include <cstddef>
#include <cstdint>

namespace {

namespace link = transport::link;
using transport::Kind;

// A connection with a fast kind that works as far as it is asked.
class Owner : public link::PathOwner {
  public:
    unsigned resources = 0;

  private:
    void send_prelude(base::Bytes payload) override {
        CHECK(link::decode_prelude(payload).has_value());
    }
    std::vector<link::Offer> offers() override {
        return {{Kind::shm, {}}, {Kind::rdma, {std::byte{1}}}};
    }
    base::Result<base::Bytes> prepare(Kind, base::ByteView) override {
        ++resources;
        return base::Bytes(3);
    }
    base::Result<void> bring_up(base::ByteView parameters) override {
        if (parameters.empty()) return base::fail(base::Errc::unavailable, "no parameters");
        return {};
    }
    void write_probe(std::uint64_t) override {}
    void finish_tcp() override {}
    void receive_fast() override {}
    link::NextNumbers stop_fast() override {
        resources = 0;
        return {};
    }
    void replay(const link::NextNumbers&) override { CHECK(resources == 0); }
};

}  // namespace

// Any sequence of prelude frames, times and probes, as the leader and as the follower: refused or
// answered with well-formed frames, and one set of resources at most is held.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    base::ByteView in(reinterpret_cast<const std::byte*>(data), size);
    if (in.empty()) return 0;
    Owner owner;
    link::Detection detection({.leads = (data[0] & 1U) != 0, .nonce_seed = 1}, owner);
    base::Timestamp now{};
    detection.start(now);
    in = in.subspan(1);
    while (in.size() >= 2) {
        const auto what = std::to_integer<unsigned>(in[0]);
        const std::size_t length =
            std::min<std::size_t>(std::to_integer<std::size_t>(in[1]), in.size() - 2);
        const base::ByteView payload = in.subspan(2, length);
        in = in.subspan(2 + length);
        switch (what % 5) {
            case 0:
                detection.tick(now += std::chrono::milliseconds(what));
                break;
            case 1:
                detection.on_probe(now, what);
                break;
            case 2:
                detection.tcp_finished(now);
                break;
            case 3:
                detection.on_fast_failed(now, "by the fuzzer");
                break;
            default:
                if (!detection.on_prelude(now, payload)) return 0;
        }
        CHECK(owner.resources <= 1);
    }
    return 0;
}
