#pragma once

#include "consensus/certificate.hpp"
#include "tests/sim/consensus/universe.hpp"

#include <array>
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
    chain::ScheduleState schedules;
    std::array<std::vector<chain::Vote>, 2> votes;  // By kind; of honest members.
    // By kind: votes that the active and the pending schedule still need. Nobody votes for genesis.
    std::array<std::array<std::size_t, 2>, 2> lacking{{{1, 0}, {1, 0}}};
    chain::Height eos_proposed = 0;  // See Observer::check_eos().

    [[nodiscard]] const chain::BlockHeader& header() const { return block->header; }
    [[nodiscard]] chain::VoteData data(chain::VoteKind kind) const;
    // Whether a certificate can exist: of the honest votes that left, and all Byzantine ones.
    [[nodiscard]] bool has_quorum(chain::VoteKind kind) const {
        return lacking[index_of(kind)] == std::array<std::size_t, 2>{};
    }
    [[nodiscard]] bool notarizable() const { return has_quorum(chain::VoteKind::notarize); }
    [[nodiscard]] bool finalizable() const {
        return notarizable() && has_quorum(chain::VoteKind::commit);
    }
    // A vote of a key that has cast none of this kind.
    void count(const base::crypto::PublicKey& key, chain::VoteKind kind);
};

// Watches a run and says what must never happen (spec 09, "Invariants").
class Observer {
  public:
    Observer(const Universe& universe, bool beyond_bound);

    // --- What happened ---
    Seen& add(const chain::BlockPtr& block);
    void header_left(const chain::Block& block);
    void vote_left(const chain::Vote& vote);
    void became_final(std::size_t node, const chain::BlockId& id);
    void accused(const chain::Evidence& evidence);
    void schedules_on(std::size_t node, const chain::BlockId& id, const chain::ScheduleState& own);
    void recovery_block() { recovery_ = true; }
    void fail(std::string what);

    // --- What there is ---
    [[nodiscard]] Seen* find(const chain::BlockId& id);
    [[nodiscard]] std::vector<Seen*>& blocks() { return order_; }
    // From honest votes that left and Byzantine ones at will; nothing: no quorum yet.
    [[nodiscard]] std::optional<chain::Certificate> certificate(const Seen& block,
                                                                chain::VoteKind kind) const;
    [[nodiscard]] const std::string& failure() const { return failure_; }
    [[nodiscard]] std::size_t finals() const { return final_.size(); }
    [[nodiscard]] std::size_t conflicts() const { return conflicts_; }
    // Times that the EOS rule called something irreversible.
    [[nodiscard]] std::size_t eos_finals() const { return eos_finals_; }

  private:
    [[nodiscard]] static bool related(const Seen& a, const Seen& b);
    [[nodiscard]] static bool extends(const Seen& block, const Seen& ancestor);
    [[nodiscard]] bool breaks_a_rule(const chain::Vote& a, const chain::Vote& b);
    void check_final(Seen& block);
    [[nodiscard]] std::set<base::crypto::PublicKey> guilty();
    void check_proof(const Seen& a, const Seen& b);
    void check_eos(Seen& block);

    const Universe& universe_;
    bool beyond_bound_;
    bool recovery_ = false;
    bool any_byzantine_ = false;
    std::map<chain::BlockId, Seen> seen_;
    std::vector<Seen*> order_;
    std::map<base::crypto::PublicKey, std::vector<chain::Vote>> by_key_;
    std::map<std::pair<chain::Name, chain::Slot>, chain::BlockId> headers_;
    std::vector<Seen*> final_;                  // That a COMMIT certificate can exist for.
    std::map<std::size_t, const Seen*> shown_;  // Final on each node.
    std::size_t conflicts_ = 0;
    const Seen* eos_final_ = nullptr;
    std::size_t eos_finals_ = 0;
    std::string failure_;
};

}  // namespace sim
