#pragma once

#include "consensus/consensus.hpp"
#include "tests/sim/model/blocks.hpp"
#include "tests/support/journals.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sim::model {

// What can happen to a member.
struct Input {
    enum class Kind : std::uint8_t {
        next_slot,      // Its clock shows the next slot; it may make its block.
        block,          // A block comes, and
        late_block,     // so at the end of its slot, when its certificate is here before it.
        notarize,       // The votes that make a NOTARIZE certificate come, and
        late_notarize,  // so at the end of the block's slot, too late for a COMMIT.
        commit,         // The votes that make a COMMIT certificate come.
        restart,        // It is killed, and starts from what it has on disk.
    };
    Kind kind = Kind::next_slot;
    Number block = 0;

    friend auto operator<=>(const Input&, const Input&) = default;
    [[nodiscard]] std::string describe() const;
};

// What a member has said to the world.
struct Said {
    std::array<BlockSet, 2> votes;  // By kind.
    BlockSet made;                  // Blocks of its own.

    friend auto operator<=>(const Said&, const Said&) = default;
};

// One honest member: the production Consensus, whose effects are carried out at once. Between a
// record and the message that it allows nothing can come: a crash there is the same as one after
// the message, which the network has lost; and one before the record is the same as one before
// the input.
class Replica {
  public:
    Replica(Blocks& blocks, std::size_t member, bool may_restart);

    void give(const Input& input);
    // All that decides what it will ever do; equal keys are one state. What is left out (votes that
    // are counted but are no quorum yet, whose votes a certificate holds, which accusations were
    // made) changes no promise and no message but evidence, which is looked for in all that was
    // said.
    [[nodiscard]] std::string key() const;
    [[nodiscard]] const Said& said() const { return said_; }
    [[nodiscard]] chain::Slot slot() const { return slot_; }
    [[nodiscard]] bool late() const { return late_; }
    [[nodiscard]] bool restarted() const { return restarted_; }
    [[nodiscard]] BlockSet held() const;
    [[nodiscard]] BlockSet certified() const;
    [[nodiscard]] Number finalized() const;
    // The blocks that are not here whose certificates are, by kind; 0: none.
    [[nodiscard]] const std::array<Number, 2>& early() const { return early_; }
    [[nodiscard]] const std::string& failure() const { return failure_; }

  private:
    struct Disk {
        test::Logs logs;
        std::vector<chain::BlockPtr> blocks;
        std::array<std::optional<chain::Certificate>, 2> certificates;  // The newest of each kind.
        consensus::TreeBase base;
    };

    void open(consensus::Journals journals);
    void hear_clocks(base::Timestamp now, base::Timestamp shown);
    void restart();
    void step(const consensus::Input& input);
    void carry_out(const consensus::Effect& effect);
    void persist(const consensus::effect::Persist& persist);
    void make_block(const consensus::effect::Produce& produce);
    void give_block(Number number);
    void give_votes(Number number, chain::VoteKind kind);
    void keep(const chain::Certificate& certificate);
    void note_final(Number number);
    void append_disk(std::string& text) const;

    Blocks& blocks_;
    std::size_t member_;
    bool may_restart_;
    std::unique_ptr<consensus::Consensus> consensus_;
    consensus::KeyTag key_ = 0;
    Disk disk_;
    Said said_;
    chain::Slot slot_ = 0;
    bool late_ = false;
    bool restarted_ = false;
    Number shown_final_ = 0;
    std::array<Number, 2> early_{};
    std::string failure_;
};

}  // namespace sim::model
