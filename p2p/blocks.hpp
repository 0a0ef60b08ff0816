#pragma once

#include "p2p/assemblies.hpp"
#include "p2p/block_relays.hpp"
#include "p2p/certified.hpp"
#include "p2p/header_relays.hpp"
#include "p2p/orphans.hpp"
#include "p2p/peers.hpp"
#include "p2p/questions.hpp"
#include "p2p/transactions.hpp"
#include "p2p/wants.hpp"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace p2p {

// Passes new blocks on, header first, and gets those that are missing.
//
// A header goes on as soon as its signature was found good, so that everybody soon knows who is
// getting the block (HeaderRelays: within bounds); the block goes on once it is valid, a little
// later, to peers that showed no sign of it: between nodes that are all connected there are none.
// One that is old, or one of many, is not pushed on (BlockRelays): its header says who has it.
// Invariant: a block is handed to the ledger only after its parent.
class BlockGossip {
  public:
    // All outlive it.
    BlockGossip(Peers& peers, TransactionGossip& transactions, const input::LedgerChanged& ledger);

    void on_ledger();
    void push(const chain::BlockPtr& block);
    void on_header(Peer& peer, HeaderPush header);
    // A push, or what is_as_asked().
    void on_blocks(Peer& peer, const Blocks& blocks);
    // A transaction came that a block may wait for.
    void on_transaction(const base::Hash256& id);
    // The peer has these blocks: get those that we lack.
    void on_known(Peer& peer, const std::vector<chain::BlockId>& ids);
    // A valid certificate names this block, which the ledger has not: it and those below it are
    // fetched, and handed over as certified.
    void on_certified(const input::Certified& certified);
    // The peer sent a certificate of this block, be it one that is known.
    void on_certificate(const Peer& peer, const chain::BlockId& id) {
        certified_.note_holder(id, peer.slot);
    }
    void on_judged(const input::Judged& judged);
    void on_time();
    // Passes on what is due, headers and blocks, which may be sooner than the next on_time().
    void relay();
    [[nodiscard]] std::optional<base::Timestamp> next_relay() const;

    // Whether this answers what the peer was asked by id, within what an answer may take.
    [[nodiscard]] bool take_answer(Peer& peer, const Envelope& envelope);
    // Whether it holds nothing but what was asked for; else its sender is charged.
    [[nodiscard]] bool is_as_asked(Peer& peer, const Envelope& envelope, const Blocks& blocks);
    // Whether the ledger has it or was handed it.
    [[nodiscard]] bool is_known(const chain::BlockId& id) const;
    // Whether the ledger was handed it and has not answered.
    [[nodiscard]] bool is_judging(const chain::BlockId& id) const;
    // The sync manager handed it over, and it is good, or is taken back.
    void note_delivered(const chain::BlockId& id);
    void note_good(const chain::BlockId& id);
    void take_back(const chain::BlockId& id) { blocks_.erase(id); }
    void forget(PeerSlot slot);

  private:
    enum class Stage : std::uint8_t { heard, delivered, good, refused };
    struct State {
        Stage stage = Stage::heard;
        SharedBytes header_message{};  // Until it was judged.
        HeaderRelays::Key header{};    // That message's.
        chain::BlockPtr block{};       // Until it was passed on.
    };
    // Told of one is who got the header from us.
    using Entry = SeenTable<State>::Entry;
    struct Relay {
        base::Timestamp due;
        chain::BlockId id;
    };
    [[nodiscard]] bool is_near(const Peer& peer) const;
    // `with_header`: to who lacks it, too.
    void pass_on(Entry& entry, const chain::Block& block, bool with_header);
    // Pushes it on, or says its header alone.
    void relay(Entry& entry, const chain::Block& block);
    void relay_headers();
    [[nodiscard]] SharedBytes pack_for(const Peer& peer,
                                       const chain::Block& block,
                                       const std::vector<base::Hash256>& digests) const;
    Entry& heard(const chain::BlockId& id);
    void on_block(Peer& peer, chain::BlockPtr block);
    [[nodiscard]] bool is_body_of_use(const chain::Block& block) const;
    [[nodiscard]] bool is_too_high(const chain::Block& block) const;
    // Fills in what is in the id form; false: it has to wait, or is of no use.
    [[nodiscard]] bool assemble(Peer& peer, chain::BlockPtr& block);
    // Whether the peer may name these in a block; charges it. Looks for them.
    [[nodiscard]] bool may_copy(Peer& peer, const chain::Block& block, std::vector<Named>& named);
    void place(Peer& peer, const chain::BlockPtr& block);
    void deliver(Peer& peer, const chain::BlockPtr& block);
    void deliver_children(const chain::BlockId& parent);
    void want(const chain::BlockId& id, PeerSet from, base::Timestamp due);
    void want_whole(const Peer& peer, const chain::BlockId& id);
    void give_up_other(const Peer& peer, const chain::BlockId& id);
    // What will be asked of whom, and how much more each may be asked for.
    struct Requests {
        std::map<PeerSlot, std::vector<chain::BlockId>> ids;
        std::map<PeerSlot, std::size_t> room;
    };
    void ask_for(const chain::BlockId& id,
                 Wants::Want& wanted,
                 PeerSet holders,
                 Peer& least_busy,
                 Requests& requests) const;
    void ask_wanted();
    void ask_if_due();
    [[nodiscard]] std::size_t room_of(Peer& peer) const;
    [[nodiscard]] std::optional<Peer*> next_candidate(PeerSet holders,
                                                      PeerSet tried,
                                                      std::map<PeerSlot, std::size_t>& room) const;
    void fetch_whole(Assemblies::Entries::iterator at);
    // What is known of branches that are certified, and what is missing of them.
    void trace(const chain::Block& block);
    void trace(CertifiedBranches::Branch& branch);
    void chase(CertifiedBranches::Branch& branch);
    void ask(Peer& peer, std::vector<chain::BlockId> ids);
    void drop_old();

    Peers& peers_;
    TransactionGossip& transactions_;
    const input::LedgerChanged& ledger_;
    SeenTable<State> blocks_;
    Wants wanted_;
    CertifiedBranches certified_;
    Assemblies assemblies_;
    Orphans orphans_;
    HeaderRelays header_relays_;
    BlockRelays block_relays_;
    std::deque<Relay> relays_;  // Ascending times.
    Questions questions_;
    bool must_ask_ = false;  // Before the message's end, for what is wanted.
};

}  // namespace p2p
