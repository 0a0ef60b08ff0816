// A peer that writes anything anywhere into the memory it was given, a million times.
#include "ends.hpp"
#include "transport/ring/mapped_store.hpp"
#include "transport/ring/path.hpp"

namespace tests {

namespace {

using transport::Lane;
using enum ring::MappedStore::Mapping;
constexpr ring::Geometry kGeometry{.ring_bytes = {ring::kRingBytesMin, ring::kRingBytesMin}};

// A node whose peer's memory is ours to write.
class Victim {
  public:
    Victim(bool is_sealed, ring::MappedStore::Mapping mapping)
        : inbound_(kGeometry.region_bytes()),
          outbound_(kGeometry.region_bytes()),
          store_(outbound_.bytes(), mapping),
          peer_store_(inbound_.bytes(), mapping) {
        std::optional<ring::Secrets> secrets;
        if (is_sealed) secrets.emplace();
        path_.emplace(inbound_.bytes(), store_, kGeometry, kGeometry, secrets);
        peer_.emplace(outbound_.bytes(), peer_store_, kGeometry, kGeometry, secrets);
    }

    [[nodiscard]] std::span<std::byte> memory() { return inbound_.bytes(); }
    // Its peer behaves for a moment.
    void behave(std::size_t size) {
        (void)peer_->send(size % 2 == 0 ? Lane::control : Lane::data, base::Bytes(size));
    }
    // False: the victim has ended the path.
    [[nodiscard]] bool turn() {
        (void)path_->send(Lane::control, base::Bytes(20));
        if (!path_->take_credits()) return false;
        for (int i = 0; i < 4; ++i) {
            const auto received = path_->peek();
            if (!received) return false;
            if (!*received) break;
            CHECK(!(*received)->record.empty());
            CHECK((*received)->record.size() <= ring::kPayloadBytesMax);
            path_->consume((*received)->lane);
        }
        path_->return_credits();
        (void)path_->take_doorbell(base::Timestamp{std::chrono::milliseconds(++turns_)});
        (void)path_->arm();
        return true;
    }

  private:
    Memory inbound_;
    Memory outbound_;
    ring::MappedStore store_;
    ring::MappedStore peer_store_;
    std::optional<ring::Path<ring::MappedStore>> path_;
    std::optional<ring::Path<ring::MappedStore>> peer_;
    int turns_ = 0;
};

// A plausible word, or none.
std::uint64_t hostile_word(base::Rng& rng) {
    const auto lap = static_cast<std::uint32_t>(rng.below(4));
    const auto length = static_cast<std::uint32_t>(rng.below(ring::kPayloadBytesMax + 2));
    switch (rng.below(4)) {
        case 0:
            return rng.below(~std::uint64_t{0});
        case 1:
            return ring::encode({.lap = lap, .length = 0, .kind = ring::RecordKind::skip});
        default:
            return ring::encode({.lap = lap, .length = length, .sync_req = rng.below(2) == 0});
    }
}

void mutate(std::span<std::byte> memory, base::Rng& rng) {
    // Mostly where words are looked for: in the cells, and at the rings' lines.
    const std::size_t near = rng.below(3) == 0 ? ring::Geometry::kRingsAt : memory.size();
    std::size_t at = rng.below(near);
    if (rng.below(4) != 0) {
        at = at / ring::kLineBytes * ring::kLineBytes;
        const std::uint64_t word = rng.below(3) == 0 ? rng.below(100'000) : hostile_word(rng);
        std::memcpy(memory.data() + at, &word, sizeof word);
    } else {
        memory[at] ^= static_cast<std::byte>(1U << rng.below(8));
    }
}

}  // namespace

// A million here; the campaign `ring` runs as many under AddressSanitizer and says so.
TEST_CASE("a million mutations of a ring harm nobody but its path") {
    base::Rng rng(20'260);
    std::size_t ended = 0;
    std::optional<Victim> victim;
    for (std::size_t mutations = 0; mutations < 1'000'000;) {
        if (!victim) victim.emplace(rng.below(2) == 0, rng.below(2) == 0 ? of_two : write_back);
        if (rng.below(3) == 0) victim->behave(1 + rng.below(600));
        for (std::size_t i = rng.below(20); i > 0; --i, ++mutations)
            mutate(victim->memory(), rng);
        if (!victim->turn()) {
            ++ended;
            victim.reset();
        }
    }
    CHECK(ended > 1'000);
}

}  // namespace tests
