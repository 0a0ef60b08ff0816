#pragma once

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "chain/state/proof.hpp"
#include "chain/types/block.hpp"
#include "transport/types.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// What nodes say to each other (spec 05, "Messages"): one form for every transport. A message is
// an Envelope of 16 bytes, little-endian, and a body packed like everything else.
namespace p2p {

using base::crypto::PublicKey;
using base::crypto::Signature;
using transport::ChannelId;
using transport::SharedBytes;

inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kEnvelopeBytes = 16;

enum class MessageType : std::uint8_t {
    hello = 1,
    notice = 2,
    go_away = 3,
    time = 4,
    request = 5,
    sync_request = 6,
    header = 7,
    blocks = 8,
    transaction = 9,
    vote = 10,
    certificate = 11,
    snapshot_request = 12,
    snapshot_chunk = 13,
    ack = 14,
    clock = 15,
    range_proof = 16,
};
inline constexpr std::size_t kMessageTypes = 17;  // 0 is none.
[[nodiscard]] std::string_view to_string(MessageType type);

struct Envelope {
    MessageType type = MessageType::hello;
    std::uint8_t flags = 0;
    std::uint16_t version = kProtocolVersion;
    std::uint32_t length = 0;       // Of the body.
    std::uint64_t correlation = 0;  // An answer has that of its question; 0: none.

    friend bool operator==(const Envelope&, const Envelope&) = default;
};
inline constexpr std::uint8_t kFlagLast = 1;    // blocks: nothing more comes for this question.
inline constexpr std::uint8_t kFlagAnswer = 2;  // notice: please answer with yours.
// sync_request: the answer is to begin with a range_proof, if there is one.
inline constexpr std::uint8_t kFlagCertified = 4;

// How a type travels, and the most that its body may have.
struct Carriage {
    transport::Lane lane;
    transport::Priority priority;
    std::size_t body_bytes_max;
};
// Blocks that answer a sync_request travel at kSyncPriority instead.
[[nodiscard]] Carriage carriage_of(MessageType type);
inline constexpr transport::Priority kSyncPriority = 6;

// Limits of lists and texts.
inline constexpr std::size_t kTextBytesMax = 256;
inline constexpr std::size_t kVoteKeysMax = 16;     // Of one node.
inline constexpr std::size_t kIdsMax = 4'096;       // Of a notice or a request: > max_reversible.
inline constexpr std::size_t kSnapshotsMax = 16;    // Named by one node.
inline constexpr std::size_t kBlocksMax = 1'024;    // Of one message.
inline constexpr std::uint32_t kRangeMax = 65'536;  // Heights of one sync_request.
inline constexpr std::size_t kRangeBytesMax = 4U << 20U;  // An answer to it ends after this.
inline constexpr std::size_t kRangeLinksMax = 16;         // Of one range_proof.

// Roles of a node, as registered: a sum (spec 05, "Who may connect").
inline constexpr std::uint8_t kValidator = 1;
inline constexpr std::uint8_t kObserver = 2;
inline constexpr std::uint8_t kBroker = 4;
inline constexpr std::uint8_t kGateway = 8;

// A block by height and id.
struct BlockPoint {
    chain::Height height = 0;
    chain::BlockId id{};

    friend auto operator<=>(const BlockPoint&, const BlockPoint&) = default;
};

// A snapshot that a node has: its block, and the id of its manifest (genesis/snapshot.hpp).
struct SnapshotPoint {
    chain::Height height = 0;
    base::Hash256 manifest{};

    friend auto operator<=>(const SnapshotPoint&, const SnapshotPoint&) = default;
};

// The newest recovery that a chain went through, or is to (genesis::Recovery): its id, and the
// block from which it begins. Both zero: none.
struct RecoveryPoint {
    base::Hash256 id{};
    chain::BlockId from{};

    friend bool operator==(const RecoveryPoint&, const RecoveryPoint&) = default;
};

// What a node has stored for others.
struct Stored {
    chain::Height earliest_height = 1;  // Of its blocks.
    std::vector<SnapshotPoint> snapshots{};

    friend bool operator==(const Stored&, const Stored&) = default;
};

// "I vote with this key": signed with it, so that a second machine with the key is found out.
struct VoteKeyStatement {
    PublicKey key{};
    std::uint64_t boot_id = 0;  // Random at each start of the node, never 0.
    chain::Slot start_slot = 0;
    Signature signature{};  // Over statement_digest().

    friend bool operator==(const VoteKeyStatement&, const VoteKeyStatement&) = default;
};

// What a statement cannot be moved from: this chain, this TLS session, the node that says it.
struct StatementContext {
    chain::ChainId chain_id{};
    PublicKey node_key{};
    base::Hash256 exporter{};  // TLS exporter of the channel; the same at both ends.
};
// SHA-256("BoR vote key 1" || chain id || node key || exporter || key || boot id || start slot).
[[nodiscard]] base::Hash256 statement_digest(const VoteKeyStatement& statement,
                                             const StatementContext& context);
// What follows the words, for a wallet that puts them in front itself.
[[nodiscard]] base::Bytes statement_bytes(const VoteKeyStatement& statement,
                                          const StatementContext& context);

struct Hello {
    std::uint16_t version_min = kProtocolVersion;
    std::uint16_t version_max = kProtocolVersion;
    chain::ChainId chain_id{};
    std::uint8_t roles = 0;
    std::string listen_address{};  // host:port; empty: does not listen.
    std::string agent{};           // "bor/0.1.0"
    BlockPoint finalized{};
    BlockPoint head{};
    Stored stored{};
    std::uint32_t rules_version = 0;
    RecoveryPoint recovery{};
    std::vector<VoteKeyStatement> vote_keys{};

    friend bool operator==(const Hello&, const Hello&) = default;
};

// Where the sender stands towards the receiver (spec 05, "Sync manager"); in a notice it also
// says what the ids are: reversible blocks of its branch, ascending, or transactions it holds.
enum class SyncMode : std::uint8_t { none = 0, catch_up = 1, last_irr_catch_up = 2, normal = 3 };
[[nodiscard]] std::string_view to_string(SyncMode mode);

struct Known {
    SyncMode mode = SyncMode::none;
    std::uint32_t pending = 0;  // How many there are, of which `ids` are the first.
    std::vector<base::Hash256> ids{};

    friend bool operator==(const Known&, const Known&) = default;
};

// The answer to hello, and news afterwards.
struct Notice {
    Known blocks{};
    Known transactions{};  // By packed_digest().
    BlockPoint finalized{};
    BlockPoint head{};
    std::vector<chain::Vote> newest_votes{};  // Seen of the receiver's vote keys; answers hello.
    std::optional<Stored> stored{};           // If it changed since it was said last.

    friend bool operator==(const Notice&, const Notice&) = default;
};

enum class Reason : std::uint8_t {
    self = 1,
    duplicate = 2,
    wrong_chain = 3,
    wrong_version = 4,  // Also: says what nobody of our version says (form, order, length).
    forked = 5,
    unlinkable = 6,
    bad_block = 7,
    bad_transaction = 8,
    bad_vote = 9,
    not_permitted = 10,
    revoked = 11,
    twin_key = 12,
    flooding = 13,
    behind = 14,  // Does not keep up: is silent, or does not read what it is sent.
    shutting_down = 15,
    internal = 16,
    other_recovery =
        17,  // Follows another recovery: above it the blocks of each are not the other's.
};
[[nodiscard]] std::string_view to_string(Reason reason);

struct GoAway {
    Reason reason = Reason::internal;
    std::string text{};  // For people.
    // With twin_key: those of the receiver's that another machine uses since an earlier start.
    std::set<PublicKey> vote_keys{};

    friend bool operator==(const GoAway&, const GoAway&) = default;
};

// NTP's four stamps, nanoseconds since 1970: three travel, the fourth is the arrival of the
// answer. A question has `transmit` only; its answer has all three.
struct TimeStamps {
    std::int64_t origin = 0;
    std::int64_t receive = 0;
    std::int64_t transmit = 0;

    friend bool operator==(const TimeStamps&, const TimeStamps&) = default;
};

// What the clock of a validator shows, signed with a key that it votes with, so that others may
// pass it on (spec 04, "Finality"). Of two the one with the greater life and number is newer.
struct ClockStatement {
    PublicKey key{};
    // Greater than any that the node heard of this key from before it started: nobody can repeat
    // what it said then as if it were news.
    std::uint64_t life = 0;
    std::uint64_t number = 0;  // Of this life, ascending.
    std::int64_t shown = 0;    // Nanoseconds since 1970, less than 2^61.
    Signature signature{};     // Over clock_digest().

    [[nodiscard]] bool is_newer_than(const ClockStatement& other) const {
        return life != other.life ? life > other.life : number > other.number;
    }
    friend bool operator==(const ClockStatement&, const ClockStatement&) = default;
};
// SHA-256("BoR clock 1" || chain id || key || life || number || shown).
[[nodiscard]] base::Hash256 clock_digest(const ClockStatement& statement,
                                         const chain::ChainId& chain_id);
// What follows the words, for a wallet that puts them in front itself.
[[nodiscard]] base::Bytes clock_bytes(const ClockStatement& statement,
                                      const chain::ChainId& chain_id);

enum class Wanted : std::uint8_t { blocks = 1, transactions = 2 };

// Asks for blocks that are not final, or for transactions, by id.
struct Request {
    Wanted wanted = Wanted::blocks;
    std::vector<base::Hash256> ids{};

    friend bool operator==(const Request&, const Request&) = default;
};

// Asks for the final blocks of a range; the answer may end early, after kRangeBytesMax.
struct SyncRequest {
    chain::Height from = 0;
    chain::Height to = 0;             // Inclusive; at most kRangeMax heights.
    std::uint64_t landing_token = 0;  // Of a transport that can write into it; 0: none.
    // With kFlagCertified, and only then: the version of the schedule that the asker trusts.
    std::optional<std::uint32_t> trusted{};

    friend bool operator==(const SyncRequest&, const SyncRequest&) = default;
};

// Begins the answer to a sync_request with kFlagCertified: that the last block of the answer is
// final, and so, by `previous`, all its blocks. It says where the answer ends. A certified header
// is under the schedule to which the links lead from the one that the asker trusts.
struct RangeProof {
    std::vector<chain::ScheduleLink> links{};
    chain::FinalityProof finality{};

    // Of the block that it proves.
    [[nodiscard]] chain::Height height() const;

    friend bool operator==(const RangeProof&, const RangeProof&) = default;
};

// Pushed ahead of its block.
struct HeaderPush {
    chain::SignedHeader signed_header{};
    chain::Witness witness{};

    friend bool operator==(const HeaderPush&, const HeaderPush&) = default;
};

// Blocks as stored. In a push a transaction that the receiver has seen is in the id form, by its
// packed_digest(): that covers the signatures, which a transaction's own id does not.
struct Blocks {
    std::vector<chain::BlockPtr> blocks{};
};

// A snapshot travels in pieces (spec 05, "Snapshots"): links in parts of at most 4 MiB; the proof
// with the agreement part, and the manifest, in pages of kSnapshotPageBytes; chunks as they are
// stored, one each.
enum class SnapshotPart : std::uint8_t { links = 0, proof = 1, manifest = 2, chunk = 3 };
[[nodiscard]] std::string_view to_string(SnapshotPart part);
inline constexpr std::size_t kSnapshotPageBytes = 4U << 20U;
inline constexpr std::size_t kSnapshotRequestsMax = 4;  // Outstanding at a peer.

struct SnapshotPiece {
    base::Hash256 manifest{};  // Id of the snapshot's manifest.
    SnapshotPart part = SnapshotPart::links;
    std::uint32_t index = 0;  // In the part.

    friend auto operator<=>(const SnapshotPiece&, const SnapshotPiece&) = default;
};

struct SnapshotRequest {
    SnapshotPiece piece{};
    std::uint64_t landing_token = 0;  // Of a transport that can write into it; 0: none.

    friend bool operator==(const SnapshotRequest&, const SnapshotRequest&) = default;
};

struct SnapshotChunk {
    SnapshotPiece piece{};
    bool is_known = false;  // Else the sender has no such snapshot, or no more; then all is empty.
    std::uint32_t count = 0;  // Pieces of the part. Of one with an index below it there are bytes.
    base::Bytes bytes{};

    friend bool operator==(const SnapshotChunk&, const SnapshotChunk&) = default;
};

// Only where the transport has no credit of its own.
struct Ack {
    std::uint64_t messages = 0;  // Received so far.

    friend bool operator==(const Ack&, const Ack&) = default;
};

using Body = std::variant<Hello,
                          Notice,
                          GoAway,
                          TimeStamps,
                          Request,
                          SyncRequest,
                          HeaderPush,
                          Blocks,
                          chain::PackedTransaction,
                          chain::Vote,
                          chain::Certificate,
                          SnapshotRequest,
                          SnapshotChunk,
                          Ack,
                          ClockStatement,
                          RangeProof>;
[[nodiscard]] MessageType type_of(const Body& body);

// What goes into an envelope besides type and length.
struct Mark {
    std::uint64_t correlation = 0;
    std::uint8_t flags = 0;
};
[[nodiscard]] SharedBytes pack_message(const Body& body, Mark mark = {});
// A message of a body that is packed already, in the place of `memory`.
[[nodiscard]] base::Bytes envelop(base::Bytes memory,
                                  MessageType type,
                                  base::ByteView body,
                                  Mark mark = {});
// A `blocks` message of blocks that are packed already.
[[nodiscard]] SharedBytes pack_blocks(const std::vector<base::ByteView>& blocks, Mark mark);

// A `snapshot_chunk` message of bytes that lie elsewhere; at most 4 MiB and what packing adds.
[[nodiscard]] SharedBytes pack_snapshot_chunk(const SnapshotPiece& piece,
                                              std::uint32_t count,
                                              base::ByteView bytes,
                                              Mark mark);

// malformed: unknown type, another version, a length that is not that of the rest or above the
// type's limit.
[[nodiscard]] base::Result<Envelope> read_envelope(base::ByteView message);
// Strict; of a message whose envelope was read. malformed: names the field.
[[nodiscard]] base::Result<Body> read_body(const Envelope& envelope, base::ByteView message);

}  // namespace p2p
