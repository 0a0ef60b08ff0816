#include "p2p/handshake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {

using std::chrono::seconds;

constexpr std::size_t kBootsMax = 1'024;
// For the answer to a heartbeat; the later start waits for less than its greeting may take.
constexpr base::Duration kAliveMax = seconds(2);

// Later starts yield; of two at once the greater boot id does.
bool is_later(const VoteKeyStatement& one, chain::Slot start_slot, std::uint64_t boot_id) {
    return std::tuple(one.start_slot, one.boot_id) > std::tuple(start_slot, boot_id);
}

}  // namespace

Notice make_notice(Peer& peer, const input::LedgerChanged& ledger, bool with_ids) {
    Notice notice{.finalized = ledger.finalized, .head = ledger.head};
    notice.blocks.mode = peer.mode;
    if (with_ids && peer.head != ledger.head) {
        notice.blocks.pending = static_cast<std::uint32_t>(ledger.branch.size());
        const auto count = std::min(ledger.branch.size(), kIdsMax);
        notice.blocks.ids.assign(ledger.branch.begin(),
                                 ledger.branch.begin() + static_cast<std::ptrdiff_t>(count));
    }
    peer.told_head = ledger.head;
    peer.told_final = ledger.finalized;
    return notice;
}

Notice make_notice(Peer& peer, const input::LedgerChanged& ledger, const Stored& stored) {
    Notice notice = make_notice(peer, ledger, false);
    if (peer.told_stored != stored) notice.stored = peer.told_stored = stored;
    return notice;
}

Handshake::Handshake(Peers& peers,
                     BlockServer& server,
                     VoteGossip& votes,
                     const input::LedgerChanged& ledger,
                     const Stored& stored)
    : peers_(peers), server_(server), votes_(votes), ledger_(ledger), stored_(stored) {}

// --- Who may connect ---

bool Handshake::lets_in(base::Timestamp now, const PublicKey& key, bool outbound) const {
    return peers_.banned_until(key) <= now && !ask_access(key, outbound).refusal;
}

void Handshake::make_room(const input::ChannelUp& up) {
    if (!lets_in(peers_.now(), up.key, up.outbound)) return;
    const Access::Answer answer = ask_access(up.key, up.outbound);
    peers_.make_room(up.key, up.outbound || carries_votes(answer.roles));
}

bool Handshake::on_up(const input::ChannelUp& up, std::optional<PublicKey> pinned) {
    if (const auto until = peers_.banned_until(up.key); until > peers_.now()) {
        const auto left = std::chrono::ceil<std::chrono::seconds>(until - peers_.now());
        turn_away(
            up, {Reason::flooding, fmt::format("misbehaved; may come back in {} s", left.count())});
        return false;
    }
    // Without a place: strangers may come as often as they like.
    const Access::Answer answer = ask_access(up.key, up.outbound);
    if (answer.refusal && !up.outbound) {
        turn_away(up, {*answer.refusal, answer.text});
        return false;
    }
    Peer* peer = peers_.add(up);
    if (peer == nullptr) {
        turn_away(up,
                  {Reason::internal,
                   fmt::format("{} nodes are connected, no more are taken", peers_.size())});
        return false;
    }
    peer->is_pinned = up.outbound && pinned == up.key;
    if (up.outbound && pinned && *pinned != up.key) {
        peers_.close(*peer,
                     Reason::not_permitted,
                     "shows another key than " + pinned->to_string() + ", which is pinned");
    } else if (permit(*peer)) {
        say_hello(*peer);
    }
    return true;
}

// The log is not theirs to fill.
void Handshake::turn_away(const input::ChannelUp& up, const GoAway& away) {
    peers_.turn_away(up.channel, away);
    const auto others = lines_.allow(peers_.now(), away.reason);
    if (!others) return;
    peers_.log().info(
        "{} {}: go_away {}: {}{}",
        up.address,
        up.key.to_string(),
        to_string(away.reason),
        away.text,
        *others == 0 ? "" : fmt::format(" (as {} others since the last line)", *others));
}

Access::Answer Handshake::ask_access(const PublicKey& key, bool outbound) const {
    // Ourselves, or a twin of ours: its hello tells which.
    if (key == peers_.options().node_key) return {};
    return access_.check(key, outbound && is_joining_);
}

bool Handshake::permit(Peer& peer) {
    const Access::Answer answer = ask_access(peer.key, peer.outbound);
    peer.organisation = answer.organisation;
    peer.roles = answer.roles;
    peer.is_listed = answer.is_listed;
    if (answer.refusal) peers_.close(peer, *answer.refusal, answer.text);
    return !answer.refusal;
}

void Handshake::check_again() {
    peers_.for_each([this](Peer& peer) { (void)permit(peer); });
}

void Handshake::set_joined(bool has_joined) {
    is_joining_ = !has_joined;
    if (has_joined) check_again();
}

void Handshake::say_hello(Peer& peer) {
    const Options& options = peers_.options();
    peer.told_stored = stored_;
    peers_.send(peer,
                Hello{.chain_id = options.chain_id,
                      .roles = options.roles,
                      .listen_address = options.listen_address,
                      .agent = options.agent,
                      .finalized = ledger_.finalized,
                      .head = ledger_.head,
                      .stored = stored_,
                      .rules_version = options.rules_version,
                      .recovery = options.recovery,
                      .vote_keys = peer.statements});
}

// --- Hello ---

void Handshake::on_hello(Peer& peer, Hello hello) {
    if (peer.has_hello) return peers_.close(peer, Reason::wrong_version, "says hello twice");
    std::optional<Refusal> refusal = check(peer, hello);
    if (!refusal) refusal = check_recovery(peer, hello);
    if (!refusal) refusal = check_statements(peer, hello);
    if (!refusal) refusal = find_own_twin(peer, hello);
    if (!refusal) refusal = find_twins(peer, hello);
    if (refusal) return peers_.close(peer, *refusal);
    peer.has_hello = true;
    peer.hello = std::move(hello);
    if (!peer.waits_for) greet(peer);
}

void Handshake::greet(Peer& peer) {
    if (auto refusal = find_duplicate(peer)) return peers_.close(peer, *refusal);
    peer.finalized = peer.hello.finalized;
    peer.head = peer.hello.head;
    peer.stored = peer.hello.stored;
    remember(peer);
    if (auto fork = check_fork(peer)) return peers_.close(peer, *fork);
    if (peer.fork_check == 0) accept(peer);
}

std::optional<Handshake::Refusal> Handshake::check(const Peer& peer, const Hello& hello) const {
    const Options& options = peers_.options();
    if (kProtocolVersion < hello.version_min || kProtocolVersion > hello.version_max) {
        return Refusal{Reason::wrong_version,
                       fmt::format("speaks versions {} to {}, we speak {}",
                                   hello.version_min,
                                   hello.version_max,
                                   kProtocolVersion)};
    }
    if (hello.chain_id != options.chain_id) {
        return Refusal{Reason::wrong_chain,
                       fmt::format("is on chain {}, we are on {}",
                                   base::to_hex(hello.chain_id.view()),
                                   base::to_hex(options.chain_id.view()))};
    }
    if (peer.key == options.node_key && hello.vote_keys.empty()) {
        return Refusal{Reason::self, "has our own node key"};
    }
    return {};
}

// Up to the block from which the newer recovery begins both have one chain, and whoever lacks
// blocks of that takes them from the other. After that neither has anything for the other. It is
// for the one that does not follow the newer to say so: it knows whether the block is here, with
// nothing final above it. Who has gone over it follows the recovery by what is stored, or is
// forked.
std::optional<Handshake::Refusal> Handshake::check_recovery(const Peer& peer,
                                                            const Hello& hello) const {
    const RecoveryPoint& ours = peers_.options().recovery;
    const RecoveryPoint& theirs = hello.recovery;
    if (theirs == ours) return {};
    const Refusal parting{Reason::other_recovery, describe_parting(theirs, ours)};
    if (peers_.has_parted_from(peer.key)) return parting;
    const chain::Height from = chain::height_of(theirs.from);
    if (from < chain::height_of(ours.from)) return {};
    const bool is_here = ledger_.finalized.id == theirs.from ||
                         std::ranges::find(ledger_.branch, theirs.from) != ledger_.branch.end();
    if (!is_here || hello.finalized.height < from) return {};
    return parting;
}

std::optional<Handshake::Refusal> Handshake::check_statements(const Peer& peer,
                                                              const Hello& hello) const {
    const StatementContext context{peers_.options().chain_id, peer.key, peer.exporter};
    for (const VoteKeyStatement& statement : hello.vote_keys) {
        const base::Hash256 digest = statement_digest(statement, context);
        if (!peers_.options().verify(statement.key, statement.signature, digest)) {
            return Refusal{Reason::bad_vote,
                           "has not signed that it votes with " + statement.key.to_string()};
        }
    }
    return {};
}

std::optional<Handshake::Refusal> Handshake::find_own_twin(const Peer& peer, const Hello& hello) {
    const Options& options = peers_.options();
    std::optional<Refusal> refusal;
    for (const VoteKeyStatement& theirs : hello.vote_keys) {
        if (std::ranges::find(options.vote_keys, theirs.key) == options.vote_keys.end()) continue;
        if (theirs.boot_id == options.boot_id && peer.key == options.node_key) {
            return Refusal{Reason::self, "has our own node key and boot id"};
        }
        const auto ours = std::ranges::find(peer.statements, theirs.key, &VoteKeyStatement::key);
        const bool ours_is_later =
            ours == peer.statements.end() || is_later(*ours, theirs.start_slot, theirs.boot_id);
        std::string text = fmt::format(
            "vote key {} is used at {} too, since slot {}; the {} one "
            "must not vote",
            theirs.key.to_string(),
            peer.address,
            theirs.start_slot,
            ours_is_later ? "one here, which is the later" : "other");
        peers_.log().error("{}", text);
        peers_.emit(effect::TwinKey{theirs.key, ours_is_later, text});
        if (!refusal) refusal = Refusal{Reason::twin_key, std::move(text)};
        if (!ours_is_later) refusal->vote_keys.insert(theirs.key);
    }
    return refusal;
}

std::optional<Handshake::Refusal> Handshake::find_twins(Peer& peer, const Hello& hello) {
    std::map<PeerSlot, Refusal> later;  // Whose starts are.
    for (const VoteKeyStatement& statement : hello.vote_keys) {
        const auto at = boots_.find(statement.key);
        if (at == boots_.end()) continue;
        Boot& known = at->second;
        Peer* other = known.slot ? peers_.at(*known.slot) : nullptr;
        if (other == nullptr || known.boot_id == statement.boot_id) continue;
        const bool is_newer = is_later(statement, known.start_slot, known.boot_id);
        // The same node with a later start was restarted, and its old channel is dead; or it is a
        // copy of a machine that is alive: only an answer tells. But who comes with an earlier
        // start than was seen is alive beside the later one.
        if (other->key == peer.key && is_newer && !known.is_twin) {
            peer.waits_for = other->slot;
            if (other->doubted_at == base::Timestamp{}) other->doubted_at = peers_.clock();
            other->next_heartbeat = peers_.now();
            continue;
        }
        known.is_twin = true;
        std::string text = fmt::format("vote key {} is used at {} and at {}; the later start goes",
                                       statement.key.to_string(),
                                       other->address,
                                       peer.address);
        peers_.log().error("{}", text);
        const PeerSlot whose = is_newer ? peer.slot : other->slot;
        const auto told = later.try_emplace(whose, Refusal{Reason::twin_key, std::move(text)});
        told.first->second.vote_keys.insert(statement.key);
    }
    const auto its = later.extract(peer.slot);
    for (const auto& [slot, refusal] : later)
        peers_.close(*peers_.at(slot), refusal);
    return its ? std::optional(its.mapped()) : std::nullopt;
}

// Both ends keep the connection that the node with the lower key made; of two that one node
// made the newer one, since it was not made without need.
std::optional<Handshake::Refusal> Handshake::find_duplicate(const Peer& peer) {
    const PublicKey& ours = peers_.options().node_key;
    Peer* old = nullptr;
    peers_.for_each([&](Peer& other) {
        if (other.channel == peer.channel || other.waits_for) return;
        if (other.key == peer.key && other.has_hello) {
            old = &other;
        }
    });
    if (old == nullptr) return {};
    const bool keep_outbound = ours < peer.key;
    if (old->outbound != peer.outbound && peer.outbound != keep_outbound) {
        return Refusal{Reason::duplicate, "is connected already"};
    }
    peers_.close(*old, Reason::duplicate, "has a newer connection");
    return {};
}

void Handshake::remember(const Peer& peer) {
    for (const VoteKeyStatement& statement : peer.hello.vote_keys) {
        if (boots_.size() >= kBootsMax && !boots_.contains(statement.key)) {
            std::erase_if(boots_, [](const auto& item) { return !item.second.slot; });
        }
        Boot& boot = boots_[statement.key];
        if (boot.boot_id != statement.boot_id) boot.is_twin = false;
        boot.boot_id = statement.boot_id;
        boot.start_slot = statement.start_slot;
        boot.slot = peer.slot;
    }
}

// Its final block must be ours where we have one at that height; else it compares ours.
std::optional<Handshake::Refusal> Handshake::check_fork(Peer& peer) {
    const BlockPoint& theirs = peer.finalized;
    if (theirs.height > ledger_.finalized.height) return {};
    if (theirs.height == ledger_.finalized.height) {
        if (theirs.id == ledger_.finalized.id) return {};
        return Refusal{Reason::forked,
                       fmt::format("has another final block {}: {}, we have {}",
                                   theirs.height,
                                   base::to_hex(theirs.id.view()),
                                   base::to_hex(ledger_.finalized.id.view()))};
    }
    // Genesis is in the chain id; what is not stored any more cannot be compared.
    if (theirs.height == 1 || theirs.height < ledger_.earliest_height) return {};
    peer.fork_check = server_.new_ticket();
    peers_.emit(effect::ReadBlocks{
        .ticket = peer.fork_check, .from = theirs.height, .to = theirs.height, .ids = {}});
    return {};
}

bool Handshake::on_read(const input::BlocksRead& read) {
    Peer* peer = nullptr;
    peers_.for_each([&](Peer& other) {
        if (other.fork_check != 0 && other.fork_check == read.ticket) peer = &other;
    });
    if (peer == nullptr) return false;
    peer->fork_check = 0;
    if (!read.blocks.empty()) {
        const auto block = chain::decode_block(*read.blocks.front());
        if (block && (*block)->header.height == peer->hello.finalized.height &&
            (*block)->id != peer->hello.finalized.id) {
            peers_.close(
                *peer,
                Reason::forked,
                fmt::format("has another final block {} than we do", peer->hello.finalized.height));
            return true;
        }
    }
    accept(*peer);
    return true;
}

void Handshake::accept(Peer& peer) {
    peer.is_accepted = true;
    Notice notice = make_notice(peer, ledger_, true);
    for (const VoteKeyStatement& statement : peer.hello.vote_keys) {
        votes_.newest(statement.key, notice.newest_votes);
    }
    peers_.send(peer, notice);
}

void Handshake::on_heartbeat(Peer& peer) {
    if (peer.doubted_at == base::Timestamp{} || peer.asked_time < peer.doubted_at) return;
    peer.doubted_at = {};
    for (auto& [key, boot] : boots_)
        if (boot.slot == peer.slot) boot.is_twin = true;
    look_again(peer.slot);
}

void Handshake::on_time() {
    peers_.for_each([this](Peer& peer) {
        if (peer.doubted_at == base::Timestamp{}) return;
        if (peers_.clock() < peer.doubted_at + kAliveMax) return;
        peers_.close(peer, Reason::duplicate, "has started again, and does not answer any more");
    });
}

void Handshake::forget(PeerSlot slot) {
    for (auto& [key, boot] : boots_) {
        if (boot.slot != slot) continue;
        boot.slot.reset();
        boot.is_twin = false;
    }
    look_again(slot);
}

void Handshake::look_again(PeerSlot earlier) {
    peers_.for_each([&](Peer& peer) {
        if (peer.waits_for != earlier) return;
        peer.waits_for.reset();
        if (const auto refusal = find_twins(peer, peer.hello)) {
            peers_.close(peer, *refusal);
        } else if (!peer.waits_for) {
            greet(peer);
        }
    });
}

}  // namespace p2p
