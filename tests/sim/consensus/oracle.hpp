#pragma once

#include "chain/types/block.hpp"
#include "chain/types/schedule_reset.hpp"
#include "chain/types/schedule_state.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {

// A schedule where genesis or the header that proposed it has it.
struct Term {
    std::uint32_t version = 0;
    const std::vector<chain::ScheduleEntry>* entries = nullptr;

    // More than two thirds of the entries.
    [[nodiscard]] bool is_quorum(std::size_t votes) const {
        return 3 * votes > 2 * entries->size();
    }
    // More than the faulty that are tolerated.
    [[nodiscard]] bool is_beyond(std::size_t votes) const {
        return votes > (entries->size() - 1) / 3;
    }
};

// What spec 04 says of a block, read from the headers of its branch and from votes alone.
struct Known {
    chain::BlockPtr block;
    const Known* parent = nullptr;  // Null: genesis.
    // The newest block up to this one that proposes a schedule; null: none since the first one.
    const Known* change = nullptr;
    Term first;                      // Of genesis, or of the recovery that it is under.
    chain::Height final_height = 0;  // Of the block that the header names as final.
    Term active;                     // Votes count under this one,
    std::optional<Term> pending;     // and at the same time under this.
    std::string fault;               // Why no honest node may adopt it; empty: it is valid.
    std::array<std::vector<base::crypto::PublicKey>, 2> voters;  // By kind, of honest members.
    std::array<bool, 2> can_certify{};  // With these votes, and all those of Byzantine members.

    [[nodiscard]] const chain::BlockHeader& header() const { return block->header; }
    [[nodiscard]] chain::VoteData data(chain::VoteKind kind) const;
    [[nodiscard]] bool extends(const Known& ancestor) const;
    // Whether production derived the same schedules.
    [[nodiscard]] bool has(const chain::ScheduleState& schedules) const;
    // The key that its header has to be signed with; null: its producer is in no schedule.
    [[nodiscard]] const base::crypto::PublicKey* signer() const;
    // Whether it is a vote key of one of the schedules.
    [[nodiscard]] bool names(const base::crypto::PublicKey& vote_key) const;
};

// A second opinion on what production's schedules_below(), check_header(), Tally, check_form()
// and signers() decide: none of them is used here, so that an error of theirs is no error of the
// invariants. What it finds differs from theirs only if one of both is wrong.
class Oracle {
  public:
    using Key = base::crypto::PublicKey;

    explicit Oracle(const Universe& universe);
    Oracle(const Oracle&) = delete;
    Oracle& operator=(const Oracle&) = delete;

    // Members have recovered the chain: the oracle must know before blocks are made under it.
    void recovered(const chain::ScheduleReset& reset) { reset_ = reset; }
    // Its parent was added before.
    Known& add(const chain::BlockPtr& block);
    // Null: nobody made it.
    [[nodiscard]] const Known* find(const chain::BlockId& id) const;
    // An honest vote that left. False: it is not a vote for a block that somebody made.
    bool vote(const chain::Vote& vote);
    // Who may sign the largest certificate that can exist now, in the order of its signatures.
    [[nodiscard]] std::vector<Key> possible_signers(const Known& block, chain::VoteKind kind) const;
    // Whether this key can have signed that: it has voted so, or is Byzantine.
    [[nodiscard]] bool can_have_signed(const Key& key,
                                       const Known& block,
                                       chain::VoteKind kind) const;
    // Who must have signed a certificate, in the order of its signatures. Nothing: it proves
    // nothing, whoever signed.
    [[nodiscard]] std::optional<std::vector<Key>> signers(
        const chain::Certificate& certificate) const;
    [[nodiscard]] bool is_byzantine(const Key& key) const { return byzantine_.contains(key); }

  private:
    // Whether this block is the first under the recovery's schedule.
    [[nodiscard]] bool begins_anew(const chain::BlockHeader& header) const;
    void derive_schedules(Known& block) const;
    [[nodiscard]] std::string fault_of(const Known& block) const;
    [[nodiscard]] std::string fault_of_change(const Known& block) const;
    void count(Known& block, chain::VoteKind kind) const;

    const Universe& universe_;
    std::optional<chain::ScheduleReset> reset_;
    std::set<Key> byzantine_;
    ById<Known> known_;
};

// What was heard of each key, and whom two of its votes convict (spec 04, "Evidence").
class Testimony {
  public:
    explicit Testimony(const Oracle& oracle) : oracle_(oracle) {}

    // True: with what was heard before, this vote convicts its key.
    bool hear(const base::crypto::PublicKey& key, const chain::VoteData& data);
    [[nodiscard]] const std::set<base::crypto::PublicKey>& convicted() const { return convicted_; }
    // Whether more keys of one schedule are convicted than may be faulty, of one that is in force
    // for either block or an ancestor of it.
    [[nodiscard]] bool explains(const Known& a, const Known& b) const;
    // Whether COMMIT and NOTARIZE of one key are evidence together.
    [[nodiscard]] bool forbids(const chain::VoteData& commit,
                               const chain::VoteData& notarize) const;

  private:
    using BySlot = std::map<chain::Slot, chain::VoteData>;

    const Oracle& oracle_;
    std::map<base::crypto::PublicKey, std::array<BySlot, 2>> said_;
    std::set<base::crypto::PublicKey> convicted_;
};

}  // namespace sim
