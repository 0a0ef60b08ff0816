#include "p2p/blocks.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kBlocksKept = 16'384;
constexpr std::size_t kIdsAtOnce = 64;            // Of one request.
constexpr std::size_t kRequestsMax = 2;           // Of one peer, not answered.
constexpr std::size_t kJudgingMax = 256;          // Blocks of one peer, with the ledger;
constexpr std::size_t kJudgingAim = 64;           // above this we ask it for no more.
constexpr chain::Height kNear = 128;              // Farther behind, live blocks are of no use.
constexpr chain::Height kCertifiedAhead = 1'024;  // Farther ahead, a sync comes first.
constexpr base::Duration kRelayDelay = milliseconds(5);      // Others' headers come meanwhile.
constexpr base::Duration kBodyPatience = milliseconds(200);  // From a header to its block.
constexpr base::Duration kBusyPatience = milliseconds(20);
constexpr base::Duration kAskAgain = milliseconds(500);
constexpr base::Duration kOrphanLife = seconds(30);
constexpr base::Duration kChaseAgain = seconds(1);
// Points.
constexpr int kRepeatsRefused = 5;
constexpr int kAnswersBadly = 25;

// By what the transactions of a block are told apart; none for those in the id form.
std::vector<base::Hash256> digests_of(const chain::Block& block) {
    std::vector<base::Hash256> digests;
    digests.reserve(block.transactions.size());
    for (const chain::TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&receipt.transaction);
        digests.push_back(packed != nullptr ? packed->packed_digest() : base::Hash256{});
    }
    return digests;
}

// Whether a block, with nothing left out, may be longer than a message: of the parts only the
// transactions can be.
bool fits(const chain::Block& block) {
    constexpr std::size_t kRest = std::size_t{1} << 20U;  // More than the other parts take.
    return packed_bytes(block) + kRest <= carriage_of(MessageType::blocks).body_bytes_max;
}

}  // namespace

BlockGossip::BlockGossip(Peers& peers,
                         TransactionGossip& transactions,
                         const input::LedgerChanged& ledger)
    : peers_(peers),
      transactions_(transactions),
      ledger_(ledger),
      blocks_({kBlocksKept, ~std::size_t{0}}),
      header_relays_(peers.options().times.interval_milliseconds),
      block_relays_(peers.options().times.interval_milliseconds) {}

bool BlockGossip::is_known(const chain::BlockId& id) const {
    if (id == ledger_.finalized.id) return true;
    const State* state = blocks_.look(id);
    return state != nullptr && (state->stage == Stage::delivered || state->stage == Stage::good);
}

bool BlockGossip::is_judging(const chain::BlockId& id) const {
    const State* state = blocks_.look(id);
    return state != nullptr && state->stage == Stage::delivered;
}

void BlockGossip::note_delivered(const chain::BlockId& id) {
    Entry& entry = heard(id);
    if (entry.value.stage != Stage::good) entry.value.stage = Stage::delivered;
    wanted_.erase(id);
}

void BlockGossip::note_good(const chain::BlockId& id) {
    heard(id).value.stage = Stage::good;
    wanted_.erase(id);
}

BlockGossip::Entry& BlockGossip::heard(const chain::BlockId& id) {
    Entry* entry = blocks_.find(id);
    return entry != nullptr ? *entry : blocks_.insert(id, {});
}

void BlockGossip::on_ledger() {
    for (const chain::BlockId& id : ledger_.branch)
        note_good(id);
    // What waits here for a parent that sync has brought.
    deliver_children(ledger_.finalized.id);
    for (const chain::BlockId& id : ledger_.branch)
        deliver_children(id);
}

// --- Passing on ---

bool BlockGossip::is_near(const Peer& peer) const {
    return peer.head.height + kNear >= ledger_.finalized.height;
}

void BlockGossip::push(const chain::BlockPtr& block) {
    Entry& entry = heard(block->id);
    entry.value.stage = Stage::good;
    wanted_.erase(block->id);
    block_relays_.note(block->header.slot);
    pass_on(entry, *block, true);
}

void BlockGossip::pass_on(Entry& entry, const chain::Block& block, bool with_header) {
    if (!fits(block)) {
        return peers_.log().error("block {} is too long for a message; peers cannot have it",
                                  block.header.height);
    }
    SharedBytes header;
    SharedBytes whole;
    std::vector<base::Hash256> digests;
    peers_.for_each_ready([&](Peer& peer) {
        if (entry.holders.has(peer.slot) || !is_near(peer) || peer.is_congested()) return;
        entry.holders.add(peer.slot);
        if (with_header && !entry.told.has(peer.slot)) {
            if (!header) {
                header = pack_message(HeaderPush{{block.header, block.signature}, block.witness});
            }
            entry.told.add(peer.slot);
            peers_.send(peer, MessageType::header, header);
        }
        if (block.transactions.empty()) {
            if (!whole) whole = pack_for(peer, block, digests);
            return peers_.send(peer, MessageType::blocks, whole);
        }
        if (digests.empty()) digests = digests_of(block);
        peers_.send(peer, MessageType::blocks, pack_for(peer, block, digests));
    });
}

SharedBytes BlockGossip::pack_for(const Peer& peer,
                                  const chain::Block& block,
                                  const std::vector<base::Hash256>& digests) const {
    base::Writer out;
    chain::encode(out, chain::SignedHeader{block.header, block.signature});
    out.varuint32(static_cast<std::uint32_t>(block.transactions.size()));
    for (std::size_t i = 0; i < block.transactions.size(); ++i) {
        const chain::TransactionReceipt& receipt = block.transactions[i];
        if (!transactions_.has(peer, digests[i])) {
            chain::encode(out, receipt);
            continue;
        }
        chain::encode(out, static_cast<const chain::TransactionReceiptHeader&>(receipt));
        out.varuint32(0);
        out.hash(digests[i]);
    }
    chain::encode(out, block.witness);
    return pack_blocks({out.view()}, {});
}

// --- What arrives ---

void BlockGossip::on_header(Peer& peer, HeaderPush push) {
    const chain::BlockHeader& header = push.signed_header.header;
    const chain::BlockId id = header.id();
    peer.note_head({header.height, id});
    Entry* found = blocks_.find(id);
    if (found != nullptr) {
        found->holders.add(peer.slot);
        ++peers_.duplicates_dropped;
        if (found->value.stage == Stage::heard)
            want(id, PeerSet::of(peer.slot), peers_.now() + kBodyPatience);
        return;
    }
    if (header.height <= ledger_.finalized.height) return;
    if (header.height > ledger_.head.height + kNear) return;
    if (!peer.begin_judging(Item::header, kJudgingMax)) return;
    Entry& entry = heard(id);
    entry.holders.add(peer.slot);
    entry.value.header_message = pack_message(push);
    entry.value.header = {header.slot, header.producer};
    want(id, PeerSet::of(peer.slot), peers_.now() + kBodyPatience);
    peers_.emit(effect::HeaderArrived{peer.channel, id, std::move(push)});
}

bool BlockGossip::is_as_asked(Peer& peer, const Envelope& envelope, const Blocks& blocks) {
    const std::string_view fault = questions_.check(envelope, blocks);
    if (fault.empty()) return true;
    peers_.charge(peer, kAnswersBadly, Reason::bad_block, std::string(fault));
    return false;
}

void BlockGossip::on_blocks(Peer& peer, const Blocks& blocks) {
    for (const chain::BlockPtr& block : blocks.blocks)
        on_block(peer, block);
    ask_if_due();
}

void BlockGossip::on_block(Peer& peer, chain::BlockPtr block) {
    peer.note_head({block->header.height, block->id});
    Entry& entry = heard(block->id);
    entry.holders.add(peer.slot);
    if (entry.value.stage == Stage::refused) {
        // The ledger is asked again all the same: it may have been refused for our clock.
        peers_.charge(peer, kRepeatsRefused, Reason::bad_block, "repeats a refused block");
        if (peer.is_closed) return;
    } else if (entry.value.stage != Stage::heard) {
        ++peers_.duplicates_dropped;
        return;
    }
    if (block->header.height <= ledger_.finalized.height) return;
    if (is_body_of_use(*block)) {
        if (!assemble(peer, block)) return;
        // Another's copy may be waiting for transactions that do not exist.
        assemblies_.erase(block->id);
    }
    place(peer, block);
}

// Of one that will be dropped, or that waits here already, nothing but the header is looked at.
bool BlockGossip::is_body_of_use(const chain::Block& block) const {
    if (is_known(block.header.previous)) return true;
    return !is_too_high(block) && orphans_.find(block.id) == nullptr;
}

bool BlockGossip::is_too_high(const chain::Block& block) const {
    return block.header.height > ledger_.head.height + kNear;
}

// To the ledger, or to wait for its parent.
void BlockGossip::place(Peer& peer, const chain::BlockPtr& block) {
    trace(*block);
    if (is_known(block->header.previous)) return deliver(peer, block);
    must_ask_ = true;
    if (is_too_high(*block)) return;
    if (orphans_.add(peer.slot, block, peers_.now() + kOrphanLife)) {
        wanted_.erase(block->id);
        want(block->header.previous, PeerSet::of(peer.slot), peers_.now());
        wanted_.hurry(block->header.previous, peer.slot, peers_.now());
    }
}

void BlockGossip::deliver(Peer& peer, const chain::BlockPtr& first) {
    std::vector<Orphans::Orphan> ready{{peer.slot, first, {}, 0}};
    while (!ready.empty()) {
        const Orphans::Orphan next = ready.back();
        ready.pop_back();
        Peer* from = peers_.at(next.from);
        if (from == nullptr || is_known(next.block->id)) continue;
        if (from->judging_of(Item::block) >= kJudgingMax) {
            want(next.block->id, PeerSet::of(next.from), peers_.now() + kAskAgain);
            continue;
        }
        ++from->judging_of(Item::block);
        Entry& entry = heard(next.block->id);
        entry.value.stage = Stage::delivered;
        entry.value.block = next.block;
        wanted_.erase(next.block->id);
        const bool is_certified = certified_.contains(next.block->id);
        peers_.emit(effect::BlockArrived{from->channel, next.block, false, is_certified});
        for (Orphans::Orphan& child : orphans_.take_children(next.block->id))
            ready.push_back(std::move(child));
    }
}

void BlockGossip::deliver_children(const chain::BlockId& parent) {
    for (const Orphans::Orphan& child : orphans_.take_children(parent)) {
        if (Peer* from = peers_.at(child.from)) deliver(*from, child.block);
    }
}

// --- What certificates name ---

void BlockGossip::on_certified(const input::Certified& certified) {
    const Peer* peer = peers_.find(certified.channel);
    if (peer == nullptr || is_known(certified.id)) return;
    const chain::Height height = chain::height_of(certified.id);
    if (height <= ledger_.finalized.height || height > ledger_.head.height + kCertifiedAhead)
        return;
    certified_.add(certified.id, peer->slot);
    for (CertifiedBranches::Branch& branch : certified_.branches()) {
        if (branch.ids.front() != certified.id) continue;
        trace(branch);
        chase(branch);
    }
    ask_wanted();
}

// The block that ends a branch tells what is below it.
void BlockGossip::trace(const chain::Block& block) {
    for (CertifiedBranches::Branch& branch : certified_.branches()) {
        if (branch.ids.back() != block.id || branch.parent) continue;
        if (branch.ids.size() >= CertifiedBranches::kBlocksMax) continue;
        if (is_known(block.header.previous)) {
            branch.parent = block.header.previous;
        } else {
            certified_.extend(branch, block.header.previous);
            trace(branch);
        }
        chase(branch);
    }
}

// As far as blocks wait here.
void BlockGossip::trace(CertifiedBranches::Branch& branch) {
    while (!branch.parent && branch.ids.size() < CertifiedBranches::kBlocksMax) {
        const chain::Block* block = orphans_.find(branch.ids.back());
        if (block == nullptr) return;
        if (is_known(block->header.previous)) {
            branch.parent = block->header.previous;
        } else {
            certified_.extend(branch, block->header.previous);
        }
    }
}

// Down to what is here each is asked for, lowest first; before that is known, the last.
void BlockGossip::chase(CertifiedBranches::Branch& branch) {
    branch.again = peers_.now() + kChaseAgain;
    if (branch.parent && !is_known(*branch.parent)) {
        // The ledger did not take it when it was not known to be certified.
        certified_.extend(branch, *std::exchange(branch.parent, std::nullopt));
        trace(branch);
    }
    if (!branch.parent) return want(branch.ids.back(), branch.holders, peers_.now());
    for (auto at = branch.ids.rbegin(); at != branch.ids.rend(); ++at)
        want(*at, branch.holders, peers_.now());
}

void BlockGossip::on_judged(const input::Judged& judged) {
    Peer* peer = peers_.find(judged.channel);
    if (peer != nullptr) peer->end_judging(judged.item);
    Entry* entry = blocks_.find(judged.id);
    const bool is_bad = judged.verdict == Verdict::bad;
    if (is_bad && peer != nullptr) peers_.close_for(*peer, judged);
    if (entry == nullptr) return;
    if (judged.item == Item::header) {
        SharedBytes message = std::exchange(entry->value.header_message, {});
        // An id is never marked bad for a header: its witness, which the id does not cover, may
        // be what is wrong.
        if (judged.verdict != Verdict::good || !message) return;
        header_relays_.add(entry->value.header, judged.id, std::move(message));
        return relay_headers();
    }
    if (judged.verdict != Verdict::good) entry->value.block.reset();
    switch (judged.verdict) {
        case Verdict::good:
            entry->value.stage = Stage::good;
            if (!entry->value.block) break;
            block_relays_.note(entry->value.block->header.slot);
            relays_.push_back({peers_.now() + kRelayDelay, judged.id});
            break;
        case Verdict::duplicate:
            entry->value.stage = Stage::good;
            break;
        case Verdict::refused:
            entry->value.stage = Stage::refused;
            break;
        case Verdict::unsure:
        case Verdict::early:
            entry->value.stage = Stage::heard;
            break;
        case Verdict::bad:
            // This copy was; others may have a good one.
            entry->value.stage = Stage::heard;
            want(judged.id, {}, peers_.now());
            break;
    }
    ask_wanted();
}

void BlockGossip::relay_headers() {
    while (const auto next = header_relays_.take(peers_.now())) {
        Entry* entry = blocks_.find(next->id);
        if (entry == nullptr) continue;
        peers_.for_each_ready([&](Peer& peer) {
            if (entry->holders.has(peer.slot) || !is_near(peer)) return;
            if (entry->told.has(peer.slot)) return;
            entry->told.add(peer.slot);
            peers_.send(peer, MessageType::header, next->message);
        });
    }
}

void BlockGossip::relay() {
    relay_headers();
    while (!relays_.empty() && relays_.front().due <= peers_.now()) {
        Entry* entry = blocks_.find(relays_.front().id);
        relays_.pop_front();
        if (entry == nullptr) continue;
        if (const auto block = std::exchange(entry->value.block, {})) relay(*entry, *block);
    }
}

void BlockGossip::relay(Entry& entry, const chain::Block& block) {
    bool is_lacked = false;
    bool is_unheard = false;
    peers_.for_each_ready([&](const Peer& peer) {
        if (entry.holders.has(peer.slot) || !is_near(peer)) return;
        is_lacked = true;
        is_unheard = is_unheard || !entry.told.has(peer.slot);
    });
    if (!is_lacked) return;
    const TwoOfSlot::Key key{block.header.slot, block.header.producer};
    if (block_relays_.may_go(peers_.now(), key, block.id, packed_bytes(block))) {
        pass_on(entry, block, header_relays_.may_go(peers_.now(), key, block.id));
    } else if (is_unheard) {
        const HeaderPush push{{block.header, block.signature}, block.witness};
        header_relays_.add(key, block.id, pack_message(push));
        relay_headers();
    }
}

std::optional<base::Timestamp> BlockGossip::next_relay() const {
    auto next = header_relays_.next_time();
    if (relays_.empty()) return next;
    return std::min(next.value_or(relays_.front().due), relays_.front().due);
}

// --- What is missing ---

void BlockGossip::on_known(Peer& peer, const std::vector<chain::BlockId>& ids) {
    for (const chain::BlockId& id : ids) {
        if (Entry* entry = blocks_.find(id)) entry->holders.add(peer.slot);
        want(id, PeerSet::of(peer.slot), peers_.now());
    }
    ask_wanted();
}

void BlockGossip::want(const chain::BlockId& id, PeerSet from, base::Timestamp due) {
    if (!is_known(id) && orphans_.find(id) == nullptr) wanted_.add(id, from, due);
}

// How many more ids the peer may be asked for at this moment.
std::size_t BlockGossip::room_of(Peer& peer) const {
    if (peer.judging_of(Item::block) >= kJudgingAim || !peer.asking.may_ask(peers_.now())) return 0;
    return questions_.count_of(peer.slot) >= kRequestsMax ? 0 : kIdsAtOnce;
}

// Of these, who was not asked and is the least busy; null: all are too busy now; nothing: nobody.
std::optional<Peer*> BlockGossip::next_candidate(PeerSet holders,
                                                 PeerSet tried,
                                                 std::map<PeerSlot, std::size_t>& room) const {
    std::optional<Peer*> best;
    peers_.for_each_ready([&](Peer& peer) {
        if (!holders.has(peer.slot) || tried.has(peer.slot)) return;
        if (!best) best = nullptr;
        if (room.try_emplace(peer.slot, room_of(peer)).first->second == 0) return;
        if (*best == nullptr || peer.judging_of(Item::block) < (*best)->judging_of(Item::block))
            best = &peer;
    });
    return best;
}

// Once a message, whatever it holds: all that is wanted is looked through.
void BlockGossip::ask_if_due() {
    if (must_ask_) ask_wanted();
}

// The least busy, who sent a child, and others: each time twice as many, since who names a block
// may not have it.
void BlockGossip::ask_for(const chain::BlockId& id,
                          Wants::Want& wanted,
                          PeerSet holders,
                          Peer& least_busy,
                          Requests& requests) const {
    const auto ask_too = [&](std::optional<Peer*> peer) {
        if (!peer || *peer == nullptr) return false;
        --requests.room.at((*peer)->slot);
        wanted.tried.add((*peer)->slot);
        requests.ids[(*peer)->slot].push_back(id);
        return true;
    };
    (void)ask_too(&least_busy);
    // What a peer's round trip is, the peer decides.
    const base::Duration trips = 2 * least_busy.round_trip_or({});
    wanted.due = peers_.now() + kAskAgain + std::min(trips, kAskAgain);
    (void)ask_too(next_candidate(std::exchange(wanted.first, {}), wanted.tried, requests.room));
    std::size_t left = wanted.beside;
    while (left > 0 && ask_too(next_candidate(holders, wanted.tried, requests.room)))
        --left;
    wanted.beside = 2 * wanted.beside + 1;
}

// Ids begin with the height, so that parents are asked for first.
void BlockGossip::ask_wanted() {
    must_ask_ = false;
    Requests requests;
    for (auto at = wanted_.entries().begin(); at != wanted_.entries().end();) {
        Wants::Want& wanted = wanted_.current(at->second);
        if (wanted.due > peers_.now() || assemblies_.contains(at->first)) {
            ++at;
            continue;
        }
        const Entry* entry = blocks_.find(at->first);
        PeerSet holders = entry == nullptr ? PeerSet{} : entry->holders;
        holders.add(wanted.candidates);
        const auto peer = next_candidate(holders, wanted.tried, requests.room);
        if (!peer) {
            // Nobody is left to be asked: it is heard of again, or was a lie.
            at = wanted_.erase(at);
            continue;
        }
        if (*peer == nullptr) {
            wanted.due = peers_.now() + kBusyPatience;
        } else {
            ask_for(at->first, wanted, holders, **peer, requests);
        }
        ++at;
    }
    for (auto& [slot, ids] : requests.ids) {
        if (Peer* peer = peers_.at(slot)) ask(*peer, std::move(ids));
    }
}

void BlockGossip::ask(Peer& peer, std::vector<chain::BlockId> ids) {
    const std::uint64_t correlation = questions_.add(peer.slot, ids, peers_.now());
    peer.asking.note_request(peers_.now());
    peers_.send(peer, Request{Wanted::blocks, std::move(ids)}, {.correlation = correlation});
}

bool BlockGossip::take_answer(Peer& peer, const Envelope& envelope) {
    if (!questions_.take(peer.slot, envelope)) return false;
    peer.asking.note_answer(peers_.now(), envelope.length);
    return true;
}

void BlockGossip::on_time() {
    drop_old();
    for (CertifiedBranches::Branch& branch : certified_.branches()) {
        if (peers_.now() >= branch.again) chase(branch);
    }
    ask_wanted();
}

void BlockGossip::drop_old() {
    orphans_.drop(peers_.now(), ledger_.finalized.height);
    certified_.erase_if([this](const CertifiedBranches::Branch& branch) {
        const Entry* entry = blocks_.find(branch.ids.front());
        return (entry != nullptr && entry->value.stage == Stage::good) ||
               chain::height_of(branch.ids.front()) <= ledger_.finalized.height;
    });
    auto& assemblies = assemblies_.entries();
    for (auto at = assemblies.begin(); at != assemblies.end();) {
        const auto next = std::next(at);
        // The transactions did not come.
        if (at->second.due <= peers_.now()) fetch_whole(at);
        at = next;
    }
    questions_.drop(peers_.now());
    auto& wanted = wanted_.entries();
    while (!wanted.empty() && chain::height_of(wanted.begin()->first) <= ledger_.finalized.height)
        wanted_.erase(wanted.begin());
}

void BlockGossip::forget(PeerSlot slot) {
    blocks_.forget(slot);
    wanted_.forget(slot);
    certified_.forget(slot);
    orphans_.forget(slot);
    assemblies_.forget(slot);
    questions_.forget(slot);
}

}  // namespace p2p
