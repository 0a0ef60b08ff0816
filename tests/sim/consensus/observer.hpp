#pragma once

#include "consensus/certificate.hpp"
#include "tests/sim/consensus/oracle.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {

// A block as one sees it who sees everything: all votes that left an honest node, and what the
// Byzantine members could make of them.
struct Seen {
    chain::BlockPtr block;
    const Seen* parent = nullptr;
    const Known* known = nullptr;           // What the oracle says of it.
    chain::ScheduleState schedules;         // What production says, and
    std::vector<consensus::Tally> tallies;  // its count of the same votes, by kind.
    chain::Height eos_proposed = 0;         // See Observer::check_eos().

    [[nodiscard]] const chain::BlockHeader& header() const { return block->header; }
    [[nodiscard]] chain::VoteData data(chain::VoteKind kind) const;
    // Whether a certificate can exist: of the honest votes that left, and all Byzantine ones.
    [[nodiscard]] bool has_quorum(chain::VoteKind kind) const {
        return known->can_certify[index_of(kind)];
    }
    [[nodiscard]] bool notarizable() const { return has_quorum(chain::VoteKind::notarize); }
    [[nodiscard]] bool finalizable() const {
        return notarizable() && has_quorum(chain::VoteKind::commit);
    }
};

// Watches a run and says what must never happen (spec 09, "Invariants"). The oracle decides;
// where production answers the same question, both must agree.
class Observer {
  public:
    Observer(const Universe& universe, bool beyond_bound);

    // --- What happened ---
    Seen& add(const chain::BlockPtr& block);
    // A block that nobody may adopt. It is not among blocks().
    void forged(const chain::BlockPtr& block);
    void header_left(const chain::Block& block);
    void vote_left(const chain::Vote& vote);
    void became_final(std::size_t node, const chain::BlockId& id);
    // The node has lost its disk or the last of it, and may show less as final.
    void starts_over(std::size_t node) { shown_.erase(node); }
    // An old copy of all that its machine had was put back, and nobody who was asked knew better:
    // it counts as Byzantine, but for what clocks alone keep it from. Or its operator let it go on
    // without its journal (accept-amnesia).
    void excuse(const base::crypto::PublicKey& key) { excused_.insert(key); }
    // A key has answered a recovery, and signs nothing more; or its machine has lost all that it
    // knew of that.
    void answered(const base::crypto::PublicKey& key) { answered_.insert(key); }
    void forgets_answer(const base::crypto::PublicKey& key) { answered_.erase(key); }
    void accused(const chain::Evidence& evidence);
    // Whether one key had to sign both: else they prove nothing.
    [[nodiscard]] bool is_one_signer(const chain::BlockHeader& a,
                                     const chain::BlockHeader& b) const;
    // A node is about to adopt the block. False: it must not.
    bool adopts(std::size_t node, const chain::Block& block);
    // And what its witness has to prove.
    void check_witness(std::size_t node, const chain::Block& block);
    // A node adopted the block, and derived these schedules for it.
    void schedules_on(std::size_t node, const chain::BlockId& id, const chain::ScheduleState& own);
    // A node made the certificate of votes, or says what it proves.
    void certificate_left(const chain::Certificate& certificate);
    // A node has the block, and took the certificate for good or not; signatures are sign()'s.
    void judged(const chain::Certificate& certificate, bool is_good);
    [[nodiscard]] bool is_proof(const chain::Certificate& certificate) const;
    // A node refuses the block for what its header says.
    void refused(const chain::Block& block, const std::string& reason);
    // What came over the wire, its signatures checked.
    void heard(const chain::Vote& vote);
    void heard(const chain::Certificate& certificate);
    void recovery_block() { recovery_ = true; }
    // Before blocks are made under it.
    void recovered(const chain::ScheduleReset& reset);
    void fail(std::string what);

    // --- What there is ---
    [[nodiscard]] Seen* find(const chain::BlockId& id);
    [[nodiscard]] std::vector<Seen*>& blocks() { return order_; }
    // From honest votes that left and Byzantine ones at will; nothing: no quorum yet.
    [[nodiscard]] std::optional<chain::Certificate> certificate(const Seen& block,
                                                                chain::VoteKind kind) const;
    [[nodiscard]] bool can_have_signed(const base::crypto::PublicKey& key,
                                       const Seen& block,
                                       chain::VoteKind kind) const {
        return oracle_.can_have_signed(key, *block.known, kind);
    }
    [[nodiscard]] bool is_byzantine(const base::crypto::PublicKey& key) const {
        return oracle_.is_byzantine(key);
    }
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::size_t excused() const { return excused_.size(); }
    [[nodiscard]] std::size_t finals() const { return final_.size(); }
    [[nodiscard]] std::size_t conflicts() const { return conflicts_; }
    // From this slot on no message is lost and no node fails.
    void heals(chain::Slot slot) { healed_at_ = slot; }
    // Times that the EOS rule called something irreversible.
    [[nodiscard]] std::size_t eos_finals() const { return eos_finals_; }

  private:
    [[nodiscard]] static bool related(const Seen& a, const Seen& b);
    [[nodiscard]] static bool extends(const Seen& block, const Seen& ancestor);
    // Its votes convict it, and that is no fault of production.
    [[nodiscard]] bool is_excused(const base::crypto::PublicKey& key) const;
    [[nodiscard]] bool breaks_a_rule(const chain::Vote& a, const chain::Vote& b);
    [[nodiscard]] bool is_proved(const std::optional<chain::Certificate>& certificate,
                                 chain::VoteKind kind,
                                 const chain::BlockRef& named,
                                 const chain::BlockRef& before) const;
    void signs(const base::crypto::PublicKey& key);
    void tally(Seen& block, chain::VoteKind kind, const chain::Vote* vote);
    void check_final(Seen& block);
    void check_proof(const Seen& a, const Seen& b);
    void check_proved(Seen& block);
    void prove(const Seen& block, const Seen& by);
    [[nodiscard]] chain::Certificate active_votes(const Seen& block) const;
    void check_culprits(const Testimony& testimony, const Seen& a, const Seen& b);
    void check_eos(Seen& block);

    const Universe& universe_;
    bool beyond_bound_;
    bool recovery_ = false;
    std::optional<chain::ScheduleReset> reset_;
    bool any_byzantine_ = false;
    ById<Seen> seen_;
    std::vector<Seen*> order_;
    Oracle oracle_;
    Testimony left_;   // All votes that left an honest node.
    Testimony heard_;  // And those of others that reached one; only beyond the bound.
    std::map<base::crypto::PublicKey, std::vector<chain::Vote>> by_key_;
    std::map<std::pair<chain::Name, chain::Slot>, chain::BlockId> headers_;
    std::vector<Seen*> final_;                  // That a COMMIT certificate can exist for.
    std::vector<const Seen*> proved_;           // That a proof for strangers can be made of.
    std::map<std::size_t, const Seen*> shown_;  // Final on each node.
    std::set<base::crypto::PublicKey> excused_;
    std::set<base::crypto::PublicKey> answered_;
    std::size_t conflicts_ = 0;
    chain::Slot healed_at_ = std::numeric_limits<chain::Slot>::max();
    const Seen* eos_final_ = nullptr;
    std::size_t eos_finals_ = 0;
    std::string failure_;
};

}  // namespace sim
