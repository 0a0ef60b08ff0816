#pragma once

#include "tests/sim/full/fleet.hpp"
#include "tests/sim/full/variants.hpp"

#include <optional>

namespace sim::full {

// A Byzantine producer that divides the others by four blocks of one slot, once: one validator gets
// two of them, all others the other two, on one of which the next producer builds. Only for what is
// built there it votes, with which the NOTARIZE certificate of that is made; the four have none,
// and nothing is final. Then it is silent for ever: without the one who has the first two there is
// no quorum.
class Divider {
  public:
    // How a message leaves.
    struct Fate {
        std::optional<base::Duration> delay;  // Nothing: never.
    };

    Divider(Fleet& fleet, std::uint64_t seed);

    // Whether there is one in the world of this seed.
    [[nodiscard]] static bool is_in(const World& world, std::uint64_t seed);
    // Its machine begins to push this block of its own. False: not of this one.
    bool divide(std::size_t machine, const chain::BlockPtr& block, Variants& variants);
    // Nothing: as another Byzantine member's.
    [[nodiscard]] std::optional<Fate> fate(std::size_t peer,
                                           const p2p::Envelope& envelope,
                                           const p2p::SharedBytes& bytes);
    [[nodiscard]] bool has_divided() const { return divided_at_ != base::Timestamp{}; }

  private:
    [[nodiscard]] std::optional<std::size_t> choose_victim(const chain::Block& block) const;
    [[nodiscard]] std::optional<std::size_t> machine_of(chain::Name producer) const;
    [[nodiscard]] Fleet::End* wire_to(std::size_t machine, std::size_t peer);
    template <class Pick>
    void give(std::size_t machine, const chain::BlockPtr& block, const Pick& pick);
    [[nodiscard]] bool reaches_all(std::size_t machine, const chain::Block& block);
    [[nodiscard]] Fate fate_of(const chain::Vote& vote);

    Fleet& fleet_;
    const chain::Slot from_;  // It waits for a slot of its own.
    base::Timestamp divided_at_{};
    base::Timestamp silent_at_{};
    chain::Slot slot_ = 0;
    std::size_t victim_ = 0;
};

}  // namespace sim::full
