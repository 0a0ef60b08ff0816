#pragma once

#include "tests/sim/full/fleet.hpp"
#include "tests/sim/full/impostor.hpp"

#include <optional>
#include <vector>

namespace sim::full {

// The Byzantine member of a fleet. Its machines run the production code, often two of them with
// the same keys, which then make two blocks in a slot and vote for both; what they send is
// withheld, sent to some or released at the edge of the slot; its votes are forged for whatever
// was signed lately, its headers made twice; and some of what it says is no message at all.
class Byzantine {
  public:
    Byzantine(Fleet& fleet, std::uint64_t seed);

    // How much later a message of one of its machines leaves; nothing: never.
    [[nodiscard]] std::optional<base::Duration> delay(std::size_t machine,
                                                      std::size_t peer,
                                                      const p2p::SharedBytes& bytes);
    void signed_header(const chain::SignedHeader& header) { last_header_ = header; }
    // What honest members sign.
    [[nodiscard]] Impostor& impostor() { return impostor_; }
    // From time to time, to the end.
    void act();

  private:
    void forge_votes();
    void forge_header();
    void keep_block(const p2p::Envelope& envelope, const p2p::SharedBytes& bytes);
    void babble();
    void tell(const p2p::SharedBytes& bytes, int share);
    [[nodiscard]] base::Duration edge_of_slot();

    Fleet& fleet_;
    Chance& chance_;
    std::size_t member_;
    Impostor impostor_;
    std::optional<chain::SignedHeader> last_header_;
    chain::BlockPtr last_block_;
    std::vector<char> hears_first_;  // By machine: which of the two it mostly hears.
    // How it likes to behave, in percent.
    int withholds_ = 0;
    int releases_late_ = 0;
    int splits_ = 0;
    int forges_ = 0;
    bool babbles_ = false;
};

}  // namespace sim::full
