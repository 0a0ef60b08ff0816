#pragma once

#include "tests/sim/full/candidates.hpp"
#include "tests/sim/full/claimant.hpp"
#include "tests/sim/full/divider.hpp"
#include "tests/sim/full/fleet.hpp"
#include "tests/sim/full/flooder.hpp"
#include "tests/sim/full/impostor.hpp"
#include "tests/sim/full/miscopier.hpp"
#include "tests/sim/full/splitter.hpp"
#include "tests/sim/full/usurper.hpp"
#include "tests/sim/full/variants.hpp"

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace sim::full {

// The Byzantine members of a fleet. Their machines run the production code, often two of them with
// the same keys, which then make two blocks in a slot and vote for both; what they send is
// withheld, sent to some or released at the edge of the slot; their votes are forged for whatever
// was signed lately, their headers made twice; and some of what they say is no message at all.
// Several know all that one of them knows, vote for the same blocks, and in some slots keep their
// votes and certificates for themselves, all of them, until the end of the slot. Some flood.
class Byzantine {
  public:
    Byzantine(Fleet& fleet, std::uint64_t seed);

    // How much later a message of one of its machines leaves; nothing: never.
    [[nodiscard]] std::optional<base::Duration> delay(std::size_t machine,
                                                      std::size_t peer,
                                                      const p2p::SharedBytes& bytes);
    // What leaves in its place.
    [[nodiscard]] p2p::SharedBytes falsify(const p2p::SharedBytes& bytes);
    void signed_header(std::size_t machine, const chain::SignedHeader& header);
    // Once each, in their order.
    void became_final(const chain::ExecutedBlockPtr& block);
    // What honest members sign.
    [[nodiscard]] Impostor& impostor() { return impostor_; }
    // From time to time, to the end.
    void act();

    // Slots whose votes all of them kept for themselves.
    [[nodiscard]] std::uint64_t conspiracies() const { return conspiracies_; }
    [[nodiscard]] std::uint64_t floods() const { return flooder_ ? flooder_->floods() : 0; }
    // Blocks that were served with another signature or witness.
    [[nodiscard]] std::uint64_t miscopies() const { return miscopier_ ? miscopier_->copies() : 0; }
    // How often a final block was claimed that is none.
    [[nodiscard]] std::uint64_t claims() const { return claimant_ ? claimant_->claims() : 0; }
    // How often they named producers and voters of their own.
    [[nodiscard]] std::uint64_t usurpations() const {
        return usurper_ ? usurper_->usurpations() : 0;
    }
    // Each of the others gets blocks of its own.
    [[nodiscard]] bool splits() const { return splitter_ != nullptr; }
    // Accounts of their own for which they said `ready`.
    [[nodiscard]] std::size_t candidates() const { return candidates_ ? candidates_->ready() : 0; }
    // Answers with blocks of slots that come in years.
    [[nodiscard]] std::uint64_t dated() const { return flooder_ ? flooder_->dated() : 0; }

  private:
    // What one of them made last.
    struct Made {
        std::optional<chain::SignedHeader> header;
        chain::BlockPtr block;
    };

    void forge_votes();
    void forge_votes(std::size_t member, const Seen& block);
    void forge_header(std::size_t member);
    void keep_block(std::size_t machine,
                    const p2p::Envelope& envelope,
                    const p2p::SharedBytes& bytes);
    void spread_variants(std::size_t machine, const chain::BlockPtr& block);
    void babble();
    void tell(const p2p::SharedBytes& bytes, int share);
    [[nodiscard]] base::Duration edge_of_slot();
    [[nodiscard]] bool conspires();
    [[nodiscard]] std::size_t one_of_them();

    Fleet& fleet_;
    Chance& chance_;
    Chance dice_;  // For what several do together.
    Impostor impostor_;
    std::map<std::size_t, Made> made_;  // By member.
    std::vector<char> hears_first_;     // By machine: which of two twins it mostly hears.
    chain::Slot conspiracy_at_ = 0;     // The slot of which is_conspiracy_ speaks.
    bool is_conspiracy_ = false;
    std::uint64_t conspiracies_ = 0;
    std::unique_ptr<Variants> variants_;      // Null: they make none.
    bool spreads_variants_ = false;           // Many of a slot, to all.
    std::unique_ptr<Flooder> flooder_;        // Null: they do not flood.
    std::unique_ptr<Miscopier> miscopier_;    // Null: they serve what they have.
    std::unique_ptr<Claimant> claimant_;      // Null: they say what they have.
    std::unique_ptr<Usurper> usurper_;        // Null: they leave schedules to the chain.
    std::unique_ptr<Divider> divider_;        // Null: nobody is divided.
    std::unique_ptr<Splitter> splitter_;      // Null: nobody is split.
    std::unique_ptr<Candidates> candidates_;  // Null: they vote for members.
    // How it likes to behave, in percent.
    int withholds_ = 0;
    int releases_late_ = 0;
    int splits_ = 0;
    int forges_ = 0;
    bool babbles_ = false;
};

}  // namespace sim::full
