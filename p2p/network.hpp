#pragma once

#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/time.hpp"
#include "chain/types/block.hpp"
#include "chain/types/name.hpp"
#include "p2p/messages.hpp"
#include "p2p/status.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace p2p {

// A node that may connect: a row of the registry, or of the genesis list. A node whose key is
// being rotated has two.
struct RegisteredNode {
    PublicKey key;
    chain::Name organisation;
    std::uint8_t roles = 0;

    friend bool operator==(const RegisteredNode&, const RegisteredNode&) = default;
};

// Names a question to the ledger.
using ReadTicket = std::uint64_t;

// What an arrived thing is, when the ledger speaks of it.
enum class Item : std::uint8_t { header, block, transaction, vote, certificate, clock };
enum class Verdict : std::uint8_t {
    good,       // Valid: pass it on.
    duplicate,  // Had it already.
    unsure,     // Cannot tell (parent, schedule unknown), or no more: may come again.
    early,      // A block whose slot has not come: its producer's clock is wrong, or ours.
    // Not valid here and now, which its sender need not have known. A block is not asked for again.
    refused,
    // Proves its sender faulty: a signature, root or certificate is wrong. Of a block: this copy;
    // another one, with the same id, may be right.
    bad,
};

// What the node says of a snapshot that comes from peers, or of a piece of it.
enum class SnapshotVerdict : std::uint8_t {
    good,
    absent,        // Not all of it but the chunks is stored here.
    bad_piece,     // What one peer sent is wrong: proves that peer faulty.
    useless,       // Is right, and not for this node; the peer that sent it pays a little.
    bad_manifest,  // The manifest contradicts itself: every peer that names it is faulty.
    unavailable,   // Our disk is full or failing: nobody's fault.
};
[[nodiscard]] std::string_view to_string(SnapshotVerdict verdict);

namespace input {
struct Tick {};  // Time passed.
struct ChannelUp {
    ChannelId channel;
    PublicKey key;        // Proved by TLS.
    std::string address;  // Of the remote end; what effect::Connect named, if outbound.
    bool outbound = false;
    base::Hash256 exporter;  // TLS exporter value, the same at both ends.
    // Of our vote keys, signed for this channel (statement_digest); none where Network::lets_in()
    // says no.
    std::vector<VoteKeyStatement> statements;
};
struct ChannelDown {
    ChannelId channel;
    std::string text;
};
struct ConnectFailed {
    std::string address;
    std::string text;
};
struct Message {
    ChannelId channel;
    base::ByteView bytes;  // Envelope and body; borrowed for the call.
};
// So many bytes of what effect::Send gave to the channel have left for the wire. In the end all
// of them must be reported: what is not written yet bounds what is sent.
struct Written {
    ChannelId channel;
    std::uint64_t bytes = 0;
};
// The ledger stands here. To be told before the first ChannelUp and whenever it changes.
struct LedgerChanged {
    BlockPoint head;
    BlockPoint finalized;
    std::vector<chain::BlockId> branch;  // Above `finalized` up to `head`, ascending.
    chain::Height earliest_height = 1;
    chain::Height served_from = 1;       // What is stored below is not checked yet.
    std::uint32_t schedule_version = 0;  // Of a child of the final block.
};
// A block that was made here.
struct PushBlock {
    chain::BlockPtr block;
};
// A transaction that was submitted here and accepted.
struct PushTransaction {
    chain::TransactionPtr transaction;
};
// A vote that was cast here.
struct PushVote {
    chain::Vote vote;
};
// What our clock shows, said with a key of ours.
struct PushClock {
    ClockStatement statement;
};
// Our clock was set: it shows so much more than the time that step() is told.
struct ClockSet {
    base::Duration ahead{};
};
// The votes of a certificate that is good: known of their keys, too, when they ask for them.
struct VotesProved {
    std::vector<chain::Vote> votes;
};
// What consensus passes on, to those who lack it.
struct PassCertificate {
    chain::Certificate certificate;
    std::optional<ChannelId> to;  // To this peer only, whatever it has.
    // To all, whatever they have: nothing becomes final, and what they did with it the last time
    // (they may not have known the block) is not ours to know.
    bool again = false;
};
// The ledger has this block no more.
struct Forgotten {
    chain::BlockId id;
};
// A certificate that this peer sent is good, and names a block that the ledger has not.
struct Certified {
    chain::BlockId id;
    ChannelId channel;
};
// The answer to an Arrived effect, with its id. Exactly one for each of them.
struct Judged {
    Item item = Item::block;
    base::Hash256 id;
    ChannelId channel;
    Verdict verdict = Verdict::good;
    std::string text;  // Why not, for the peer and the log.
};
// The answer to effect::ReadBlocks, packed as stored; those found, in the order asked for.
struct BlocksRead {
    ReadTicket ticket = 0;
    std::vector<SharedBytes> blocks;
    std::optional<RangeProof> proof{};  // Of the last of them, if one was wanted and there is one.
};
// Final blocks, stored here, of which another copy is needed, with the same id: their signatures or
// witnesses are wrong. All of them, again and again, until none is left.
struct MendBlocks {
    std::vector<chain::BlockId> ids;
};
// The snapshots that this node has for others, whole and verified; at most kSnapshotsMax.
struct SnapshotsChanged {
    std::vector<SnapshotPoint> snapshots;
};
// The answer to effect::ReadSnapshot: a snapshot_chunk message.
struct SnapshotRead {
    ReadTicket ticket = 0;
    SharedBytes message;
};
// The answers to effect::KeepSnapshot, CheckSnapshot and LoadSnapshot; one for each.
struct SnapshotKept {
    SnapshotPiece piece;
    SnapshotVerdict verdict = SnapshotVerdict::good;
    std::string text;
};
struct SnapshotChecked {
    base::Hash256 manifest;
    SnapshotVerdict verdict = SnapshotVerdict::good;
    std::string text;
    std::uint32_t chunks = 0;            // Of a good one: how many there are,
    std::uint64_t bytes = 0;             // what they have unpacked,
    std::uint64_t rows = 0;              // and in rows;
    std::vector<std::uint32_t> missing;  // those that are not stored here, ascending,
    base::Timestamp final_time{};        // and of what time the newest block is that it proves.
};
struct SnapshotLoaded {
    base::Hash256 manifest;
    SnapshotVerdict verdict = SnapshotVerdict::good;
    std::string text;
};
// The nodes that may connect, from the final state; before there is one, the genesis list.
struct RegistryChanged {
    std::vector<RegisteredNode> nodes;
};
// The operator's local list; an empty `allow` allows all.
struct ListsChanged {
    std::vector<PublicKey> allow;
    std::vector<PublicKey> deny;
};
// Keep a connection to this address, or do so no more (which closes it).
struct Dial {
    std::string address;
    std::optional<PublicKey> pinned;
};
struct Hangup {
    std::string address;  // Or that of an inbound peer.
};
struct Stop {};  // Says goodbye to all.
}  // namespace input
using Input = std::variant<input::Tick,
                           input::ChannelUp,
                           input::ChannelDown,
                           input::ConnectFailed,
                           input::Message,
                           input::Written,
                           input::LedgerChanged,
                           input::PushBlock,
                           input::PushTransaction,
                           input::PushVote,
                           input::PushClock,
                           input::ClockSet,
                           input::VotesProved,
                           input::PassCertificate,
                           input::Certified,
                           input::Forgotten,
                           input::Judged,
                           input::BlocksRead,
                           input::MendBlocks,
                           input::SnapshotsChanged,
                           input::SnapshotRead,
                           input::SnapshotKept,
                           input::SnapshotChecked,
                           input::SnapshotLoaded,
                           input::RegistryChanged,
                           input::ListsChanged,
                           input::Dial,
                           input::Hangup,
                           input::Stop>;

namespace effect {
struct Send {
    ChannelId channel;
    transport::Lane lane = transport::Lane::control;
    transport::Priority priority = 0;
    SharedBytes bytes;
};
// After what was sent to it before. No input for this channel counts any more but Judged.
struct Close {
    ChannelId channel;
    Reason reason = Reason::internal;
    std::string text;
};
// Answered by ChannelUp or ConnectFailed. Another key than `expected` must fail.
struct Connect {
    std::string address;
    std::optional<PublicKey> expected;
};
// Things from a peer, well-formed and not seen before; each is answered by Judged with its id.
struct HeaderArrived {
    ChannelId channel;
    chain::BlockId id;
    HeaderPush header;
};
// Its parent was handed over before, or is the ledger's. The producer's signature, the witness
// and the body are unchecked.
struct BlockArrived {
    ChannelId channel;
    chain::BlockPtr block;
    bool is_sync = false;       // A final block of the peer's, asked for by height.
    bool is_certified = false;  // input::Certified named it, or a block above it.
};
// Blocks of a sync that follow each other, whole, and what is to prove that the last one is final:
// unchecked, as they are. The first one's parent was handed over before, or is the ledger's.
// Answered by one Judged, of the last.
struct RangeArrived {
    ChannelId channel;
    std::vector<chain::BlockPtr> blocks;
    RangeProof proof;
};
// A copy of a block of input::MendBlocks; answered by Judged.
struct MendArrived {
    ChannelId channel;
    chain::BlockPtr block;
};
struct TransactionArrived {
    ChannelId channel;
    base::Hash256 id;  // packed_digest().
    chain::PackedTransaction transaction;
    PublicKey peer = {};  // Who sent it.
};
// Also an answer to our hello: the newest vote that a peer has seen of a key of ours.
struct VoteArrived {
    ChannelId channel;
    base::Hash256 id;
    chain::Vote vote;
};
struct CertificateArrived {
    ChannelId channel;
    base::Hash256 id;
    chain::Certificate certificate;
};
// Newer than what was heard of its key. The signature is unchecked.
struct ClockArrived {
    ChannelId channel;
    base::Hash256 id;
    ClockStatement statement;
};
// Read stored blocks: of these heights of the final chain, or with these ids. Answered by
// BlocksRead, which may end early after `bytes_max`, with what was found; at least one.
struct ReadBlocks {
    ReadTicket ticket = 0;
    chain::Height from = 0;
    chain::Height to = 0;  // Inclusive; both 0: by ids.
    std::vector<chain::BlockId> ids;
    std::size_t bytes_max = kRangeBytesMax;
    bool is_for_peer = false;  // Only what is checked.
    // Prove the last one, to who trusts the schedule of this version.
    std::optional<std::uint32_t> trusted{};
};
// Read a piece of a snapshot of ours. Answered by SnapshotRead, with this correlation.
struct ReadSnapshot {
    ReadTicket ticket = 0;
    SnapshotPiece piece;
    std::uint64_t correlation = 0;
};
// Store a piece that a peer sent, a chunk after it was checked.
struct KeepSnapshot {
    SnapshotPiece piece;
    std::uint32_t count = 0;  // Pieces of its part.
    SharedBytes bytes;
};
// Look what of this snapshot is stored here, and check all but its chunks. What of links, proof and
// manifest is there in part only, or is wrong, is removed.
struct CheckSnapshot {
    SnapshotPoint snapshot;
};
// All of it is stored: make a state of it. If that is good, the node is opened anew with it.
struct LoadSnapshot {
    SnapshotPoint snapshot;
};
// A peer may be spoken to: send it the highest certificates (spec 04).
struct PeerReady {
    ChannelId channel;
    PublicKey key;
    std::vector<PublicKey> vote_keys;  // Proved to be there.
};
// Another machine signs with one of our vote keys. The later start must not vote.
struct TwinKey {
    PublicKey key;
    bool ours_is_later = false;
    std::string text;
};
// A peer closed on us, since another machine signs with keys of ours and started earlier. It may
// lie: what it says counts where more say it than may be faulty.
struct TwinTold {
    std::vector<PublicKey> keys;     // Ours, of those that we have proved to it.
    std::vector<PublicKey> said_by;  // Proved to be the peer's.
};
struct WakeAt {
    base::Timestamp time;
};
}  // namespace effect
using Effect = std::variant<effect::Send,
                            effect::Close,
                            effect::Connect,
                            effect::HeaderArrived,
                            effect::BlockArrived,
                            effect::RangeArrived,
                            effect::MendArrived,
                            effect::TransactionArrived,
                            effect::VoteArrived,
                            effect::CertificateArrived,
                            effect::ClockArrived,
                            effect::ReadBlocks,
                            effect::ReadSnapshot,
                            effect::KeepSnapshot,
                            effect::CheckSnapshot,
                            effect::LoadSnapshot,
                            effect::PeerReady,
                            effect::TwinKey,
                            effect::TwinTold,
                            effect::WakeAt>;
using Effects = std::vector<Effect>;

// `checkpoint = HEIGHT:ID` binds the history that a joining node accepts.
using Checkpoint = BlockPoint;

struct Options {
    chain::ChainId chain_id;
    chain::SlotTimes times;
    PublicKey node_key;
    std::uint64_t boot_id = 0;  // As in our statements.
    std::uint8_t roles = 0;
    std::string listen_address;
    std::string agent = "bor";
    std::uint32_t rules_version = 0;
    RecoveryPoint recovery;
    std::vector<PublicKey> vote_keys;
    std::optional<Checkpoint> checkpoint;
    bool trusts_certified = false;                // Asks for range proofs.
    bool joins_with_one_organisation = false;     // Else a node at genesis waits for a second one.
    std::optional<SnapshotPoint> begun_snapshot;  // Of which there are chunks here.
    bool takes_snapshots = false;  // Somebody carries Keep-, Check-, LoadSnapshot out.
    std::uint64_t seed = 0;        // Of jitter, and of the order of chunks.
    std::size_t peers_max = 64;    // At most 64.
    // Checks a vote-key statement; simulators have their own.
    bool (*verify)(const PublicKey&,
                   const Signature&,
                   const base::Hash256&) = &base::crypto::verify;
};

// The conversation with all peers (spec 05): handshake, who may connect, gossip, sync, scores and
// budgets. It checks form and order; whether things are true the ledger says (Judged).
//
// Pure: the same sequence of steps produces the same effects on every machine. Memory is bounded
// by peers_max, whatever peers send. Thread: one owner calls step().
class Network : base::Pinned {
  public:
    Network(Options options, base::Log log);
    ~Network();

    // Applies one input and appends to `out` what must now be done, in this order. `now` is what
    // the clock showed at the start and what has passed since: it goes on evenly.
    void step(base::Timestamp now, const Input& input, Effects& out);

    [[nodiscard]] Status status() const;
    // Whether who shows this key in the step at `now` would be greeted. To sign for the others
    // takes time that strangers must not cost.
    [[nodiscard]] bool lets_in(base::Timestamp now, const PublicKey& key, bool outbound) const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace p2p
