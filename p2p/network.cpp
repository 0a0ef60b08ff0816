#include "p2p/network.hpp"

#include "p2p/blocks.hpp"
#include "p2p/catch_up.hpp"
#include "p2p/clocks.hpp"
#include "p2p/dialer.hpp"
#include "p2p/handshake.hpp"
#include "p2p/mender.hpp"
#include "p2p/peers.hpp"
#include "p2p/server.hpp"
#include "p2p/snapshot_join.hpp"
#include "p2p/snapshot_server.hpp"
#include "p2p/transactions.hpp"
#include "p2p/votes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr base::Duration kTickEvery = milliseconds(100);
constexpr base::Duration kHeartbeatEvery = seconds(1);
constexpr base::Duration kSilenceMax = seconds(6);
constexpr base::Duration kGreetingMax = seconds(10);
constexpr base::Duration kScoreRegained = seconds(1);  // One point.
constexpr std::int64_t kStampMax = std::int64_t{1} << 61U;
// A question is asked every kHeartbeatEvery, and only the last one's answer counts.
constexpr base::Duration kRoundTripMax = 2 * kHeartbeatEvery;
constexpr int kOverBudget = 1;  // Points.
constexpr int kUnknownWish = 5;

Reason reason_for_malformed(MessageType type) {
    switch (type) {
        case MessageType::header:
        case MessageType::blocks:
            return Reason::bad_block;
        case MessageType::transaction:
            return Reason::bad_transaction;
        case MessageType::vote:
        case MessageType::certificate:
        case MessageType::clock:
            return Reason::bad_vote;
        default:
            return Reason::wrong_version;
    }
}

std::int64_t nanoseconds_of(base::Timestamp time) {
    return time.time_since_epoch().count();
}

}  // namespace

std::string_view to_string(SnapshotVerdict verdict) {
    constexpr std::array<std::string_view, 6> kNames = {
        "good", "absent", "bad piece", "useless", "bad manifest", "unavailable"};
    return kNames[static_cast<std::size_t>(verdict)];
}

// Sends each input to the part whose business it is.
class Network::Impl {
  public:
    Impl(Options options, base::Log log)
        : options_(std::move(options)),
          peers_(options_, log),
          votes_(peers_),
          clocks_(peers_),
          transactions_(peers_),
          blocks_(peers_, transactions_, ledger_),
          mender_(peers_),
          server_(peers_),
          snapshots_(peers_, server_),
          handshake_(peers_, server_, votes_, ledger_, stored_),
          catch_up_(peers_, blocks_, handshake_.access(), ledger_),
          join_(peers_, catch_up_, ledger_),
          dialer_(options_.seed) {}

    void step(base::Timestamp now, const Input& input, Effects& out) {
        peers_.begin(now, out);
        std::visit([this](const auto& value) { on(value); }, input);
        const bool is_tick = on_time();
        if (handshake_.is_joining() == catch_up_.has_joined()) {
            handshake_.set_joined(catch_up_.has_joined());
        }
        sweep();
        if (is_tick) dial(out);
        wake(out);
    }

    [[nodiscard]] Status status() const {
        SyncStatus sync = catch_up_.status();
        sync.snapshot = join_.status();
        return {.door = door_,
                .peers = peers_.statuses(),
                .dials = dialer_.status(),
                .sync = std::move(sync),
                .go_aways_sent = peers_.go_aways_sent,
                .go_aways_received = peers_.go_aways_received,
                .duplicates_dropped = peers_.duplicates_dropped};
    }

    [[nodiscard]] bool lets_in(base::Timestamp now, const PublicKey& key, bool outbound) const {
        return handshake_.lets_in(now, key, outbound);
    }

  private:
    // --- Inputs ---
    void on(const input::Tick&) {}
    void on(const input::ChannelUp& up) {
        if (is_stopped_) {
            return peers_.turn_away(up.channel, {Reason::shutting_down, "is stopping"});
        }
        handshake_.make_room(up);
        sweep();
        if (up.outbound) dialer_.on_up(up.address, up.key);
        const auto pinned = up.outbound ? dialer_.pinned(up.address) : std::nullopt;
        if (!handshake_.on_up(up, pinned) && up.outbound) {
            dialer_.on_failed(peers_.now(), up.address, {.stays = true, .text = "refused here"});
        }
    }
    void on(const input::ChannelDown& down) {
        if (Peer* peer = peers_.find(down.channel)) peers_.lose(*peer, down.text);
    }
    void on(const input::ConnectFailed& failed) {
        dialer_.on_failed(peers_.now(), failed.address, {.text = failed.text});
    }
    void on(const input::Written& written) {
        Peer* peer = peers_.find(written.channel);
        if (peer == nullptr) return;
        peer->unwritten -= std::min(peer->unwritten, written.bytes);
        server_.serve(*peer);
        snapshots_.serve(*peer);
    }
    void on(const input::LedgerChanged& changed) {
        ledger_ = changed;
        stored_.earliest_height = std::max(changed.earliest_height, changed.served_from);
        blocks_.on_ledger();
        catch_up_.on_ledger();
    }
    void on(const input::PushBlock& push) { blocks_.push(push.block); }
    void on(const input::PushTransaction& push) { transactions_.push(push.transaction->packed); }
    void on(const input::PushVote& push) { votes_.push(push.vote); }
    void on(const input::PushClock& push) { clocks_.push(push.statement); }
    void on(const input::ClockSet& set) { peers_.set_clock(set.ahead); }
    void on(const input::VotesProved& proved) {
        for (const chain::Vote& vote : proved.votes)
            votes_.note_newest(vote);
    }
    void on(const input::PassCertificate& passed) { votes_.pass(passed); }
    void on(const input::Forgotten& gone) { blocks_.take_back(gone.id); }
    void on(const input::Certified& certified) { blocks_.on_certified(certified); }
    void on(const input::Judged& judged) {
        switch (judged.item) {
            case Item::vote:
            case Item::certificate:
                return votes_.on_judged(judged);
            case Item::clock:
                return clocks_.on_judged(judged);
            case Item::transaction:
                return transactions_.on_judged(judged);
            case Item::header:
            case Item::block:
                if (judged.item == Item::block && mender_.on_judged(judged)) return;
                if (!catch_up_.on_judged(judged)) blocks_.on_judged(judged);
        }
    }
    void on(const input::BlocksRead& read) {
        if (!handshake_.on_read(read)) (void)server_.on_read(read);
        greet_ready();
    }
    void on(const input::MendBlocks& wanted) { mender_.set_wanted(wanted); }
    void on(const input::SnapshotsChanged& changed) { stored_.snapshots = changed.snapshots; }
    void on(const input::SnapshotRead& read) { snapshots_.on_read(read); }
    void on(const input::SnapshotKept& kept) { join_.on(kept); }
    void on(const input::SnapshotChecked& checked) { join_.on(checked); }
    void on(const input::SnapshotLoaded& loaded) { join_.on(loaded); }
    void on(const input::RegistryChanged& changed) {
        handshake_.access().set_registry(changed.nodes);
        renew_door();
        handshake_.check_again();
        dialer_.try_again();
    }
    void on(const input::ListsChanged& changed) {
        handshake_.access().set_lists(changed.allow, changed.deny);
        renew_door();
        handshake_.check_again();
        dialer_.try_again();
    }
    void on(const input::Dial& dial) { dialer_.add(dial.address, dial.pinned); }
    void on(const input::Hangup& hangup) {
        dialer_.remove(hangup.address);
        peers_.for_each([&](Peer& peer) {
            if (peer.address != hangup.address) return;
            peers_.close(peer, Reason::shutting_down, "the operator closed the connection");
        });
    }
    void on(const input::Stop&) {
        is_stopped_ = true;
        peers_.for_each(
            [this](Peer& peer) { peers_.close(peer, Reason::shutting_down, "is stopping"); });
    }
    void on(const input::Message& message) {
        Peer* peer = peers_.find(message.channel);
        if (peer == nullptr) return;
        peer->last_message = peers_.now();
        peer->bytes_received += message.bytes.size();
        ++peer->messages_received;
        const auto envelope = read_envelope(message.bytes);
        if (!envelope) return peers_.close(*peer, Reason::wrong_version, envelope.error().detail);
        if (!is_in_order(*peer, envelope->type)) {
            return peers_.close(*peer,
                                Reason::wrong_version,
                                fmt::format("says {} before its time", to_string(envelope->type)));
        }
        const bool is_by_id = blocks_.take_answer(*peer, *envelope);
        if (!is_by_id && !is_within_budget(*peer, *envelope, message.bytes.size())) {
            ++peer->messages_dropped;
            return peers_.charge(*peer,
                                 kOverBudget,
                                 Reason::flooding,
                                 fmt::format("sends too much: {}", to_string(envelope->type)));
        }
        auto body = read_body(*envelope, message.bytes);
        if (!body) {
            return peers_.close(
                *peer,
                reason_for_malformed(envelope->type),
                fmt::format(
                    "{} does not decode: {}", to_string(envelope->type), body.error().detail));
        }
        const Arrival arrival{*peer, *envelope, message.bytes.subspan(kEnvelopeBytes), is_by_id};
        std::visit([&](auto& value) { receive(arrival, value); }, *body);
    }

    // --- Messages ---
    struct Arrival {
        Peer& peer;
        const Envelope& envelope;
        base::ByteView body;
        bool is_by_id;  // Blocks that answer a request by id.
    };
    [[nodiscard]] static bool is_in_order(const Peer& peer, MessageType type) {
        if (type == MessageType::hello || type == MessageType::go_away) return true;
        // It speaks once it has our notice, but its own may come after what is more urgent.
        return type == MessageType::notice ? peer.has_hello : peer.is_accepted;
    }
    // What answers a question of ours is bounded by the question.
    [[nodiscard]] bool is_within_budget(Peer& peer, const Envelope& envelope, std::size_t bytes) {
        const bool is_range =
            envelope.type == MessageType::blocks || envelope.type == MessageType::range_proof;
        if (is_range && catch_up_.is_asked(peer, envelope)) return true;
        if (envelope.type == MessageType::blocks && mender_.is_asked(peer, envelope)) return true;
        const bool is_snapshot = envelope.type == MessageType::snapshot_chunk;
        if (is_snapshot && join_.is_asked(peer, envelope)) return true;
        return peer.budget.take_message(peers_.now(), envelope.type) &&
               peer.budget.take_bytes(peers_.now(), bytes);
    }

    void receive(const Arrival& at, Hello& hello) {
        handshake_.on_hello(at.peer, std::move(hello));
    }
    void receive(const Arrival& at, Notice& notice) {
        Peer& peer = at.peer;
        peer.has_notice = true;
        for (chain::Vote& vote : notice.newest_votes) {
            const auto& ours = options_.vote_keys;
            if (std::find(ours.begin(), ours.end(), vote.key) == ours.end()) {
                return peers_.close(peer, Reason::bad_vote, "names a vote that is not of ours");
            }
            const base::Bytes packed = chain::pack(vote);
            votes_.on_vote(peer, std::move(vote), packed);
        }
        if (notice.stored) {
            peer.stored = *std::move(notice.stored);
            join_.on_stored(peer);
        }
        greet_ready();
        catch_up_.on_notice(peer, at.envelope, notice);
        if (peer.is_ready()) transactions_.on_offer(peer, notice.transactions.ids);
    }
    void receive(const Arrival& at, GoAway& away) {
        ++peers_.go_aways_received;
        const std::string text =
            fmt::format("it said go_away {}: {}", to_string(away.reason), away.text);
        if (away.reason == Reason::twin_key || away.reason == Reason::revoked) {
            peers_.log().error("{}: {}", at.peer.address, text);
        }
        const auto is_proved = [&](const PublicKey& key) {
            const auto& ours = at.peer.statements;
            return std::ranges::find(ours, key, &VoteKeyStatement::key) != ours.end();
        };
        if (!std::ranges::all_of(away.vote_keys, is_proved)) {
            return peers_.close(
                at.peer, Reason::bad_vote, "names a twin of a key that we have not proved to it");
        }
        if (!away.vote_keys.empty() && at.peer.has_hello) {
            peers_.emit(effect::TwinTold{{away.vote_keys.begin(), away.vote_keys.end()},
                                         at.peer.proved_vote_keys()});
        }
        peers_.lose(at.peer, text, away.reason);
    }
    void receive(const Arrival& at, TimeStamps& stamps) {
        if (stamps.origin != 0) return measure(at.peer, stamps);
        const std::int64_t now = nanoseconds_of(peers_.clock());
        peers_.send(at.peer,
                    TimeStamps{.origin = stamps.transmit, .receive = now, .transmit = now});
    }
    void measure(Peer& peer, const TimeStamps& stamps) {
        const std::int64_t now = nanoseconds_of(peers_.clock());
        const bool is_asked = peer.asked_time != base::Timestamp{} &&
                              stamps.origin == nanoseconds_of(peer.asked_time);
        const bool is_sane = std::min(stamps.receive, stamps.transmit) >= 0 &&
                             std::max(stamps.receive, stamps.transmit) < kStampMax;
        if (!is_asked || !is_sane) return;
        handshake_.on_heartbeat(peer);
        peer.asked_time = {};
        // For what is asked of a peer its round trip is waited before another is asked: an answer
        // that left before it came would make that years.
        const std::int64_t held = stamps.transmit - stamps.receive;
        const base::Duration measured(now - stamps.origin - held);
        if (held < 0 || measured < base::Duration{} || measured > kRoundTripMax) return;
        peer.round_trip = peer.round_trip ? (7 * *peer.round_trip + measured) / 8 : measured;
        // Long trips say little of the clock: they are rarely as long in both directions.
        if (peer.clock_offset && measured > 2 * *peer.round_trip) return;
        peer.clock_offset =
            base::Duration((stamps.receive - stamps.origin) / 2 + (stamps.transmit - now) / 2);
    }
    void receive(const Arrival& at, Request& request) {
        const std::uint64_t correlation = at.envelope.correlation;
        if (request.wanted == Wanted::blocks) {
            return server_.on_request(at.peer, std::move(request), correlation);
        }
        transactions_.on_request(at.peer, request.ids, correlation);
    }
    void receive(const Arrival& at, SyncRequest& request) {
        server_.on_sync_request(at.peer, request, at.envelope.correlation);
    }
    void receive(const Arrival& at, HeaderPush& header) {
        if (!catch_up_.takes_news()) return;
        blocks_.on_header(at.peer, std::move(header));
    }
    void receive(const Arrival& at, Blocks& blocks) {
        if (at.is_by_id && !blocks_.is_as_asked(at.peer, at.envelope, blocks)) return;
        if (catch_up_.is_asked(at.peer, at.envelope)) {
            return catch_up_.on_blocks(at.peer, at.envelope, blocks);
        }
        if (mender_.is_asked(at.peer, at.envelope)) return mender_.on_blocks(at.peer, blocks);
        // What answers late is of no use any more; a push is one block.
        if (at.envelope.correlation != 0 && !at.is_by_id) return;
        if (!at.is_by_id && blocks.blocks.size() != 1) {
            return peers_.close(at.peer, Reason::bad_block, "pushes other than one block");
        }
        if (!catch_up_.takes_news()) return;
        for (const chain::BlockPtr& block : blocks.blocks) {
            const auto text = catch_up_.contradiction(*block);
            if (text) return peers_.close(at.peer, Reason::forked, *text);
        }
        blocks_.on_blocks(at.peer, blocks);
    }
    void receive(const Arrival& at, RangeProof& proof) {
        // What answers late is of no use any more.
        if (!catch_up_.is_asked(at.peer, at.envelope)) return;
        catch_up_.on_proof(at.peer, at.envelope, std::move(proof));
    }
    void receive(const Arrival& at, chain::PackedTransaction& packed) {
        const base::Hash256 id = packed.packed_digest();
        transactions_.on_transaction(at.peer, std::move(packed));
        blocks_.on_transaction(id);
    }
    void receive(const Arrival& at, chain::Vote& vote) {
        votes_.on_vote(at.peer, std::move(vote), at.body);
    }
    void receive(const Arrival& at, chain::Certificate& certificate) {
        if (!catch_up_.takes_news()) return;
        blocks_.on_certificate(at.peer, certificate.data.block_id);
        votes_.on_certificate(at.peer, std::move(certificate), at.body);
    }
    void receive(const Arrival& at, const ClockStatement& statement) {
        clocks_.on_clock(at.peer, statement, at.body);
    }
    void receive(const Arrival& at, const SnapshotRequest& request) {
        snapshots_.on_request(at.peer, request, at.envelope.correlation);
    }
    void receive(const Arrival& at, SnapshotChunk& chunk) {
        if (!join_.is_asked(at.peer, at.envelope)) {
            return peers_.charge(
                at.peer, kUnknownWish, Reason::flooding, "sends an unwanted piece of a snapshot");
        }
        join_.on_answer(at.peer, at.envelope, std::move(chunk));
    }
    void receive(const Arrival&, Ack&) {}

    void greet_ready() {
        peers_.for_each_ready([this](Peer& peer) {
            if (!std::exchange(peer.was_ready, true)) on_ready(peer);
        });
    }
    void on_ready(Peer& peer) {
        if (peer.outbound) dialer_.on_ready(peer.address);
        dialer_.on_ready(peer.key);
        peers_.log().info("{} {}: ready, {}, block {}",
                          peer.address,
                          peer.key.to_string(),
                          peer.is_listed ? peer.organisation.to_string() : "in no list",
                          peer.head.height);
        peers_.emit(effect::PeerReady{peer.channel, peer.key, peer.proved_vote_keys()});
        transactions_.on_ready(peer);
        clocks_.on_ready(peer);
    }

    // --- Time ---
    // Whether it was time to look after everything.
    bool on_time() {
        votes_.on_time();
        clocks_.on_time();
        transactions_.on_time();
        blocks_.relay();
        if (peers_.now() < next_tick_) return false;
        next_tick_ = peers_.now() + kTickEvery;
        peers_.for_each([this](Peer& peer) { tend(peer); });
        handshake_.on_time();
        blocks_.on_time();
        catch_up_.on_time();
        mender_.on_time();
        join_.on_time();
        return true;
    }
    void tend(Peer& peer) {
        const base::Timestamp now = peers_.now();
        if (!peer.is_ready()) {
            if (now < peer.since + kGreetingMax) return;
            return peers_.close(peer, Reason::behind, "has not finished its greeting in 10 s");
        }
        if (now >= peer.last_message + kSilenceMax) {
            return peers_.close(peer, Reason::behind, "was silent for 6 s");
        }
        if (peer.score < kScoreBest && now >= peer.scored_at + kScoreRegained) {
            ++peer.score;
            peer.scored_at = now;
        }
        if (now < peer.next_heartbeat) return;
        peer.next_heartbeat = now + kHeartbeatEvery;
        peer.asked_time = peers_.clock();
        peers_.send(peer, TimeStamps{.transmit = nanoseconds_of(peer.asked_time)});
        if (peer.told_head != ledger_.head || peer.told_final != ledger_.finalized ||
            peer.told_stored != stored_) {
            peers_.send(peer, make_notice(peer, ledger_, stored_));
        }
    }

    void sweep() {
        // What is forgotten may close others.
        for (auto gone = peers_.sweep(); !gone.empty(); gone = peers_.sweep()) {
            for (const Peers::Gone& peer : gone) {
                votes_.forget(peer.slot);
                clocks_.forget(peer.slot);
                transactions_.forget(peer.slot);
                blocks_.forget(peer.slot);
                server_.forget(peer.slot);
                snapshots_.forget(peer.slot);
                handshake_.forget(peer.slot);
                catch_up_.forget(peer.slot);
                mender_.forget(peer.slot);
                join_.forget(peer.slot);
                if (!peer.outbound) continue;
                dialer_.on_failed(
                    peers_.now(), peer.address, {.stays = peer.stays, .text = peer.text});
            }
        }
    }
    void renew_door() {
        door_ = std::make_shared<const Door>(handshake_.access(), options_.node_key);
    }
    void dial(Effects& out) {
        if (is_stopped_) return;
        dialer_.dial(
            peers_.now(), [this](const PublicKey& key) { return peers_.is_connected(key); }, out);
    }

    // The next tick, or something sooner; said again only when it changes.
    void wake(Effects& out) {
        base::Timestamp at = std::max(next_tick_, peers_.now() + milliseconds(1));
        for (const auto& time : {votes_.next_time(),
                                 clocks_.next_time(),
                                 transactions_.next_time(),
                                 blocks_.next_relay()}) {
            if (time) at = std::min(at, *time);
        }
        if (at == wake_at_) return;
        wake_at_ = at;
        out.emplace_back(effect::WakeAt{at});
    }

    Options options_;
    input::LedgerChanged ledger_;
    Stored stored_;
    Peers peers_;
    VoteGossip votes_;
    ClockGossip clocks_;
    TransactionGossip transactions_;
    BlockGossip blocks_;
    Mender mender_;
    BlockServer server_;
    SnapshotServer snapshots_;
    Handshake handshake_;
    CatchUp catch_up_;
    SnapshotJoin join_;
    Dialer dialer_;
    std::shared_ptr<const Door> door_;
    base::Timestamp next_tick_{};
    base::Timestamp wake_at_{};
    bool is_stopped_ = false;
};

Network::Network(Options options, base::Log log)
    : impl_(std::make_unique<Impl>(std::move(options), log)) {}

Network::~Network() = default;

void Network::step(base::Timestamp now, const Input& input, Effects& out) {
    impl_->step(now, input, out);
}

Status Network::status() const {
    return impl_->status();
}

bool Network::lets_in(base::Timestamp now, const PublicKey& key, bool outbound) const {
    return impl_->lets_in(now, key, outbound);
}

}  // namespace p2p
