#pragma once

#include "tests/sim/full/fleet.hpp"
#include "tests/sim/full/variants.hpp"

#include <deque>
#include <optional>

namespace sim::full {

// Of a block at this height that nobody made.
[[nodiscard]] base::Hash256 random_id(Chance& dice, chain::Height height);

// Byzantine members that fill what honest nodes keep within bounds: tables of wanted blocks and
// transactions, of orphans, headers without bodies, votes, certificates, clocks and questions. All
// of it has the right form; of what is signed, the signatures are good. Good headers of one slot
// and votes are other ones for each honest node, which passes them on to all, and so are good
// blocks of their past slots, while nothing becomes final. Who is behind and asks them for blocks
// by height gets some of theirs, of slots that come in years.
class Flooder {
  public:
    Flooder(Fleet& fleet, std::uint64_t seed);

    void header_signed(std::size_t machine, const chain::SignedHeader& header);
    void became_final(const chain::ExecutedBlockPtr& block);
    // From time to time, to the end.
    void act();

    [[nodiscard]] p2p::SharedBytes falsify(const p2p::SharedBytes& bytes);

    [[nodiscard]] std::uint64_t floods() const { return floods_; }
    [[nodiscard]] std::uint64_t dated() const { return dated_; }

  private:
    void tell(const p2p::SharedBytes& bytes);
    // To each peer so many of its own.
    template <class Make>
    void tell_each(std::size_t count, const Make& make);
    void tell_ids();
    void ask();
    void send_orphans();
    void send_headers();
    void send_good_headers(const chain::BlockHeader& parent);
    void send_old_blocks();
    void send_votes();
    void send_certificates();
    void send_clocks();
    [[nodiscard]] std::vector<base::Hash256> random_ids(std::size_t count);
    [[nodiscard]] chain::VoteData random_vote();

    Fleet& fleet_;
    Chance dice_;
    const std::size_t member_;
    std::optional<chain::SignedHeader> header_;  // The last that it has signed.
    std::deque<chain::BlockHeader> past_;        // What it has signed of slots above the final one.
    std::size_t machine_ = 0;                    // That signed it.
    chain::BlockHeader final_;                   // The last.
    Variants variants_;
    std::uint64_t floods_ = 0;
    std::uint64_t dated_ = 0;
};

}  // namespace sim::full
