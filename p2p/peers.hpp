#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "p2p/access.hpp"
#include "p2p/budget.hpp"
#include "p2p/network.hpp"
#include "p2p/seen.hpp"
#include "transport/shared_pool.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace p2p {

inline constexpr int kScoreBest = 100;

// By its roles as registered: a node that votes, or stands between those who do.
[[nodiscard]] inline bool carries_votes(std::uint8_t roles) {
    return (roles & (kValidator | kGateway)) != 0;
}

// One connected node: all that is known of it but what the tables of gossip say.
struct Peer {
    // How it came.
    ChannelId channel;
    PeerSlot slot = 0;
    PublicKey key;
    std::string address;
    bool outbound = false;
    base::Hash256 exporter;
    std::vector<VoteKeyStatement> statements;  // Ours, for this channel.
    base::Timestamp since{};

    // Who it is.
    chain::Name organisation{};
    std::uint8_t roles = 0;
    bool is_listed = false;
    bool is_pinned = false;  // We dialled it for this key.
    Hello hello{};

    // Where the conversation stands.
    bool has_hello = false;
    bool is_accepted = false;   // Its hello was good: our notice says so.
    bool has_notice = false;    // It accepts our hello.
    bool was_ready = false;     // PeerReady was said.
    bool is_closed = false;     // Goes at the end of the step.
    ReadTicket fork_check = 0;  // Of the read that tells whether we share its final block.
    // An earlier start of the same node: this one waits until that is known to have ended.
    std::optional<PeerSlot> waits_for{};
    SyncMode mode = SyncMode::none;
    BlockPoint finalized{};
    BlockPoint head{};
    Stored stored{};         // What it has.
    BlockPoint told_head{};  // What our last notice said of us.
    BlockPoint told_final{};
    Stored told_stored{};
    base::Timestamp ahead_since{};  // Since when it has what we lack; zero: it does not.
    base::Timestamp verified_at{};  // Of the last verify_catchup().

    // What it costs us.
    Budget budget;
    Asking asking;  // What we ask it for.
    int score = kScoreBest;
    base::Timestamp scored_at{};
    std::uint64_t unwritten = 0;           // Bytes given to its channel, not yet sent.
    std::array<std::size_t, 6> judging{};  // By Item: with the ledger.

    // Time.
    base::Timestamp last_message{};
    base::Timestamp next_heartbeat{};
    base::Timestamp asked_time{};
    // A later start of it waits for its answer to a heartbeat of this time or later; zero: none.
    base::Timestamp doubted_at{};
    std::optional<base::Duration> round_trip{};
    std::optional<base::Duration> clock_offset{};

    std::uint64_t bytes_received = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t messages_received = 0;
    std::uint64_t messages_dropped = 0;

    [[nodiscard]] bool is_ready() const { return is_accepted && has_notice && !is_closed; }
    [[nodiscard]] PeerState state() const {
        if (!is_accepted) return PeerState::greeting;
        return has_notice ? PeerState::ready : PeerState::accepted;
    }
    // Who needs votes and clocks: who votes, and who stands between those who do.
    [[nodiscard]] bool wants_votes() const {
        return is_ready() && is_listed && (carries_votes(roles) || !hello.vote_keys.empty());
    }
    // Where all slots are taken it gives its own to nobody.
    [[nodiscard]] bool keeps_slot() const { return outbound || carries_votes(roles); }
    // Once it has said hello: check_statements() found them good.
    [[nodiscard]] std::vector<PublicKey> proved_vote_keys() const {
        std::vector<PublicKey> keys;
        keys.reserve(hello.vote_keys.size());
        for (const VoteKeyStatement& statement : hello.vote_keys)
            keys.push_back(statement.key);
        return keys;
    }
    // Bulk has to wait: so much is not written yet.
    [[nodiscard]] bool is_congested() const { return unwritten > kCongestedBytes; }
    [[nodiscard]] base::Duration round_trip_or(base::Duration unknown) const {
        return round_trip.value_or(unknown);
    }
    [[nodiscard]] std::size_t& judging_of(Item item) {
        return judging[static_cast<std::size_t>(item)];
    }
    // One more goes to the ledger. False: `most` are there already; it is dropped.
    [[nodiscard]] bool begin_judging(Item item, std::size_t most) {
        if (judging_of(item) >= most) {
            ++messages_dropped;
            return false;
        }
        ++judging_of(item);
        return true;
    }
    void end_judging(Item item) {
        if (judging_of(item) > 0) --judging_of(item);
    }
    void note_head(const BlockPoint& point) {
        if (point.height > head.height) head = point;
    }
    void note_final(const BlockPoint& point) {
        if (point.height > finalized.height) finalized = point;
        note_head(point);
    }

    static constexpr std::uint64_t kCongestedBytes = 4U << 20U;
};

// That a peer follows another recovery than we do, and the remedy.
[[nodiscard]] std::string describe_parting(const RecoveryPoint& theirs, const RecoveryPoint& ours);

// The connected nodes, and what is common to all conversations with them: sending, scores, and
// the end. Everything of one step happens between begin() and sweep().
class Peers : base::Pinned {
  public:
    Peers(const Options& options, base::Log log) : options_(options), log_(log) {}

    void begin(base::Timestamp now, Effects& out);
    [[nodiscard]] base::Timestamp now() const { return now_; }
    // What our clock shows.
    [[nodiscard]] base::Timestamp clock() const { return now_ + ahead_; }
    void set_clock(base::Duration ahead);
    void emit(Effect effect) { out_->push_back(std::move(effect)); }
    [[nodiscard]] const base::Log& log() const { return log_; }
    [[nodiscard]] const Options& options() const { return options_; }

    // Closes who has to give way to a channel of this node. Of one key no more than two wait to be
    // greeted: both ends may dial at once. Where all slots are taken, the newest peer that does not
    // keep its slot goes for a channel that `keeps_slot`, if its node has none. Free after sweep().
    void make_room(const PublicKey& key, bool keeps_slot);
    // Null: there is no room.
    [[nodiscard]] Peer* add(const input::ChannelUp& up);
    // Null: unknown, or closed in this step.
    [[nodiscard]] Peer* find(ChannelId channel);
    [[nodiscard]] Peer* at(PeerSlot slot);
    // In the order of their channels, without those closed in this step.
    template <class Visit>
    void for_each(const Visit& visit) {
        for (const auto& [channel, peer] : peers_) {
            if (!peer->is_closed) visit(*peer);
        }
    }
    template <class Visit>
    void for_each_ready(const Visit& visit) {
        for (const auto& [channel, peer] : peers_) {
            if (peer->is_ready()) visit(*peer);
        }
    }
    [[nodiscard]] bool is_connected(const PublicKey& key) const;
    [[nodiscard]] std::size_t size() const { return peers_.size(); }

    // A message for several of them of a body that is packed already, in memory that is used again
    // when all have let go of it.
    [[nodiscard]] SharedBytes share(MessageType type, base::ByteView body) {
        return pool_.share(envelop(pool_.take(), type, body));
    }
    void send(Peer& peer, const Body& body, Mark mark = {});
    // A message that was packed before; `priority` absent: that of its type.
    void send(Peer& peer,
              MessageType type,
              SharedBytes bytes,
              std::optional<transport::Priority> priority = {});

    // An error of the peer; at zero points it is closed for this reason.
    void charge(Peer& peer, int points, Reason reason, const std::string& text);
    // Says go_away and closes.
    void close(Peer& peer, const GoAway& away);
    void close(Peer& peer, Reason reason, const std::string& text) {
        close(peer, GoAway{reason, text});
    }
    // The ledger calls this block of it, or the header, bad. Above a recovery that one of us
    // follows and the other does not that proves nothing.
    void close_for(Peer& peer, const input::Judged& bad);
    // Its channel is down, or it said go_away (then `close_channel`).
    void lose(Peer& peer, const std::string& text, std::optional<Reason> close_channel = {});
    // Refuses a channel before a peer was made of it.
    void turn_away(ChannelId channel, const GoAway& away);
    // Until when a node is not talked to because of what it did; zero: it is.
    [[nodiscard]] base::Timestamp banned_until(const PublicKey& key) const;
    // Whether close_for() parted from this node just now: it is not taken with another recovery
    // than ours, so that the claim of one does not stand between bad blocks and a ban.
    [[nodiscard]] bool has_parted_from(const PublicKey& key) const;

    struct Gone {
        PeerSlot slot;
        std::string address;
        bool outbound;
        bool stays;  // Trying again soon is of no use.
        std::string text;
    };
    // Removes who was closed in this step.
    [[nodiscard]] std::vector<Gone> sweep();

    [[nodiscard]] PeerStatus status_of(const Peer& peer) const;
    [[nodiscard]] std::vector<PeerStatus> statuses() const;

    std::uint64_t go_aways_sent = 0;
    std::uint64_t go_aways_received = 0;
    std::uint64_t duplicates_dropped = 0;

  private:
    using Until = std::map<PublicKey, base::Timestamp>;
    void ban(const Peer& peer, Reason reason);
    void note(Until& nodes, const PublicKey& key) const;
    [[nodiscard]] std::size_t most() const { return std::min(options_.peers_max, kPeersMax); }

    const Options& options_;
    base::Log log_;
    transport::SharedPool pool_;
    base::Timestamp now_{};
    base::Duration ahead_{};
    Effects* out_ = nullptr;
    std::map<ChannelId, std::unique_ptr<Peer>> peers_;
    std::array<Peer*, kPeersMax> slots_{};
    std::vector<Gone> gone_;
    Until banned_;
    Until parted_;
};

}  // namespace p2p
