#include "p2p/messages.hpp"

#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "transport/number.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <span>
#include <utility>

namespace p2p {

namespace {

using base::Reader;
using base::Writer;
using chain::decode;
using chain::encode;

constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kVoteBytesMin = 150;
constexpr std::size_t kKeyBytesMin = 34;
constexpr std::size_t kStatementBytesMin = kKeyBytesMin + 8 + 8 + 66;
constexpr std::size_t kNewestVotesMax = 2 * kVoteKeysMax;  // One of each kind.
constexpr std::size_t kControlBytesMax = 64U << 10U;
constexpr std::size_t kHeaderBytesMax = 1U << 20U;         // With two certificates:
constexpr std::size_t kCertificateBytesMax = 512U << 10U;  // 250 signatures of WebAuthn's length.
constexpr std::int64_t kShownMax = std::int64_t{1} << 61U;
constexpr std::size_t kDataBytesMax = transport::kMessageBytesMax - kEnvelopeBytes;

using transport::Lane;
constexpr std::array<Carriage, kMessageTypes> kCarriages = {{
    {Lane::control, 0, 0},
    {Lane::control, 1, kControlBytesMax},  // hello
    {Lane::control, 2, 512U << 10U},       // notice: two lists of kIdsMax ids
    {Lane::control, 2, kControlBytesMax},  // go_away: names keys of one hello
    {Lane::control, 1, 24},                // time
    {Lane::control, 2, 256U << 10U},       // request
    {Lane::control, 2, 20},                // sync_request
    {Lane::control, 1, kHeaderBytesMax},   // header
    {Lane::data, 3, kDataBytesMax},        // blocks
    {Lane::data, 4, chain::kPackedTransactionBytesMax},
    {Lane::control, 0, 4U << 10U},             // vote
    {Lane::control, 0, kCertificateBytesMax},  // certificate
    {Lane::control, 2, 45},                    // snapshot_request
    {Lane::data, 7, kDataBytesMax},            // snapshot_chunk
    {Lane::control, 2, 8},                     // ack
    {Lane::control, 1, 4U << 10U},             // clock
    {Lane::data, kSyncPriority, 4U << 20U},    // range_proof: never behind its blocks
}};

// --- Parts ---

void encode(Writer& out, const BlockPoint& point) {
    out.u32(point.height);
    out.hash(point.id);
}

void decode(Reader& in, BlockPoint& point, std::string_view field) {
    point.height = in.u32(field);
    point.id = in.hash<kHashBytes>(field);
}

void encode(Writer& out, const Stored& stored) {
    out.u32(stored.earliest_height);
    out.varuint32(static_cast<std::uint32_t>(stored.snapshots.size()));
    for (const SnapshotPoint& snapshot : stored.snapshots) {
        out.u32(snapshot.height);
        out.hash(snapshot.manifest);
    }
}

void decode(Reader& in, Stored& stored) {
    stored.earliest_height = in.u32("earliest_height");
    const std::size_t count = in.count("snapshots", kSnapshotsMax, 4 + kHashBytes);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        SnapshotPoint& snapshot = stored.snapshots.emplace_back();
        snapshot.height = in.u32("snapshots");
        snapshot.manifest = in.hash<kHashBytes>("snapshots");
    }
}

void encode(Writer& out, const VoteKeyStatement& statement) {
    encode(out, statement.key);
    out.u64(statement.boot_id);
    out.u64(statement.start_slot);
    encode(out, statement.signature);
}

void decode(Reader& in, VoteKeyStatement& statement, std::string_view field) {
    decode(in, statement.key, field);
    statement.boot_id = in.u64("boot_id");
    if (in.ok() && statement.boot_id == 0) in.set_error("boot_id", "zero is none");
    statement.start_slot = in.u64("start_slot");
    if (statement.start_slot > chain::kSlotMax) in.set_error("start_slot", "above 2^40");
    decode(in, statement.signature, field);
}

void encode(Writer& out, const Known& known) {
    out.u8(static_cast<std::uint8_t>(known.mode));
    out.u32(known.pending);
    chain::encode_list(out, known.ids);
}

void decode(Reader& in, Known& known, std::string_view field) {
    const std::uint8_t mode = in.u8(field);
    if (in.ok() && mode > 3) in.set_error(field, "mode is not from 0 to 3");
    known.mode = static_cast<SyncMode>(mode);
    known.pending = in.u32(field);
    chain::decode_list(in, known.ids, {kIdsMax, kHashBytes}, field);
    if (in.ok() && known.pending < known.ids.size()) {
        in.set_error(field, "fewer pending than ids");
    }
}

template <class Enum>
Enum read_enum(Reader& in, std::string_view field, std::uint8_t last) {
    const std::uint8_t value = in.u8(field);
    if (in.ok() && (value == 0 || value > last)) {
        in.set_error(field, fmt::format("{} is not from 1 to {}", value, last));
    }
    return static_cast<Enum>(value);
}

bool read_flag(Reader& in, std::string_view field) {
    const std::uint8_t value = in.u8(field);
    if (in.ok() && value > 1) in.set_error(field, fmt::format("{} is not 0 or 1", value));
    return in.ok() && value == 1;
}

// --- Bodies ---

void encode(Writer& out, const RecoveryPoint& recovery) {
    out.hash(recovery.id);
    out.hash(recovery.from);
}

void decode(Reader& in, RecoveryPoint& recovery) {
    recovery.id = in.hash<kHashBytes>("recovery");
    recovery.from = in.hash<kHashBytes>("recovery");
}

void encode(Writer& out, const Hello& hello) {
    out.u16(hello.version_min);
    out.u16(hello.version_max);
    out.hash(hello.chain_id);
    out.u8(hello.roles);
    out.string(hello.listen_address);
    out.string(hello.agent);
    encode(out, hello.finalized);
    encode(out, hello.head);
    encode(out, hello.stored);
    out.u32(hello.rules_version);
    encode(out, hello.recovery);
    out.varuint32(static_cast<std::uint32_t>(hello.vote_keys.size()));
    for (const VoteKeyStatement& statement : hello.vote_keys)
        encode(out, statement);
}

void decode(Reader& in, Hello& hello) {
    hello.version_min = in.u16("version_min");
    hello.version_max = in.u16("version_max");
    hello.chain_id = in.hash<kHashBytes>("chain_id");
    hello.roles = in.u8("roles");
    hello.listen_address = in.string("listen_address", kTextBytesMax);
    hello.agent = in.string("agent", kTextBytesMax);
    decode(in, hello.finalized, "final");
    decode(in, hello.head, "head");
    if (in.ok() && (hello.finalized.height == 0 || hello.head.height < hello.finalized.height)) {
        in.set_error("head", "below final, or final below genesis");
    }
    decode(in, hello.stored);
    hello.rules_version = in.u32("rules_version");
    decode(in, hello.recovery);
    const std::size_t keys = in.count("vote_keys", kVoteKeysMax, kStatementBytesMin);
    for (std::size_t i = 0; i < keys && in.ok(); ++i) {
        decode(in, hello.vote_keys.emplace_back(), "vote_keys");
    }
}

void encode(Writer& out, const Notice& notice) {
    encode(out, notice.blocks);
    encode(out, notice.transactions);
    encode(out, notice.finalized);
    encode(out, notice.head);
    chain::encode_list(out, notice.newest_votes);
    out.u8(notice.stored ? 1 : 0);
    if (notice.stored) encode(out, *notice.stored);
}

void decode(Reader& in, Notice& notice) {
    decode(in, notice.blocks, "blocks");
    decode(in, notice.transactions, "transactions");
    decode(in, notice.finalized, "final");
    decode(in, notice.head, "head");
    if (in.ok() && (notice.finalized.height == 0 || notice.head.height < notice.finalized.height)) {
        in.set_error("head", "below final, or final below genesis");
    }
    chain::decode_list(in, notice.newest_votes, {kNewestVotesMax, kVoteBytesMin}, "newest_votes");
    if (read_flag(in, "stored")) decode(in, notice.stored.emplace());
}

void encode(Writer& out, const GoAway& away) {
    out.u8(static_cast<std::uint8_t>(away.reason));
    out.string(std::string_view(away.text).substr(0, kTextBytesMax));
    out.varuint32(static_cast<std::uint32_t>(away.vote_keys.size()));
    for (const PublicKey& key : away.vote_keys)
        encode(out, key);
}

void decode(Reader& in, GoAway& away) {
    away.reason = read_enum<Reason>(in, "reason", 17);
    away.text = in.string("text", kTextBytesMax);
    const std::size_t keys = in.count("vote_keys", kVoteKeysMax, kKeyBytesMin);
    if (in.ok() && keys > 0 && away.reason != Reason::twin_key) {
        in.set_error("vote_keys", "goes with twin_key only");
    }
    for (std::size_t i = 0; i < keys && in.ok(); ++i) {
        PublicKey key;
        decode(in, key, "vote_keys");
        if (in.ok() && i > 0 && key <= *away.vote_keys.rbegin()) {
            in.set_error("vote_keys", "is not ascending");
        }
        away.vote_keys.insert(std::move(key));
    }
}

void encode(Writer& out, const TimeStamps& stamps) {
    out.i64(stamps.origin);
    out.i64(stamps.receive);
    out.i64(stamps.transmit);
}

void decode(Reader& in, TimeStamps& stamps) {
    stamps.origin = in.i64("origin");
    stamps.receive = in.i64("receive");
    stamps.transmit = in.i64("transmit");
}

void encode(Writer& out, const ClockStatement& statement) {
    encode(out, statement.key);
    out.u64(statement.life);
    out.u64(statement.number);
    out.i64(statement.shown);
    encode(out, statement.signature);
}

void decode(Reader& in, ClockStatement& statement) {
    decode(in, statement.key, "key");
    statement.life = in.u64("life");
    statement.number = in.u64("number");
    statement.shown = in.i64("shown");
    if (in.ok() && (statement.shown < 0 || statement.shown >= kShownMax)) {
        in.set_error("shown", "not from 0 to 2^61");
    }
    decode(in, statement.signature, "signature");
}

void encode(Writer& out, const Request& request) {
    out.u8(static_cast<std::uint8_t>(request.wanted));
    chain::encode_list(out, request.ids);
}

void decode(Reader& in, Request& request) {
    request.wanted = read_enum<Wanted>(in, "wanted", 2);
    chain::decode_list(in, request.ids, {kIdsMax, kHashBytes}, "ids");
    if (in.ok() && request.ids.empty()) in.set_error("ids", "asks for nothing");
}

void encode(Writer& out, const SyncRequest& request) {
    out.u32(request.from);
    out.u32(request.to);
    out.u64(request.landing_token);
    if (request.trusted) out.u32(*request.trusted);
}

void decode(Reader& in, SyncRequest& request) {
    request.from = in.u32("from");
    request.to = in.u32("to");
    if (in.ok() && (request.from == 0 || request.to < request.from)) {
        in.set_error("to", "below from, or from is zero");
    }
    if (in.ok() && request.to - request.from >= kRangeMax) {
        in.set_error("to", fmt::format("more than {} heights", kRangeMax));
    }
    request.landing_token = in.u64("landing_token");
    if (in.ok() && in.left() != 0) request.trusted = in.u32("trusted");
}

void encode(Writer& out, const RangeProof& proof) {
    chain::encode_list(out, proof.links);
    encode(out, proof.finality);
}

void decode(Reader& in, RangeProof& proof) {
    chain::decode_list(in, proof.links, {kRangeLinksMax, 2 * chain::kHeaderBytesMin}, "links");
    decode(in, proof.finality, "finality");
    const auto& path = proof.finality.ancestor;
    if (in.ok() && path && path->index >= std::numeric_limits<chain::Height>::max()) {
        in.set_error("finality", "its path is of no height");
    }
}

void encode(Writer& out, const HeaderPush& push) {
    encode(out, push.signed_header);
    encode(out, push.witness);
}

void decode(Reader& in, HeaderPush& push) {
    decode(in, push.signed_header, "header");
    decode(in, push.witness, "witness");
}

void encode(Writer& out, const Blocks& blocks) {
    out.varuint32(static_cast<std::uint32_t>(blocks.blocks.size()));
    for (const chain::BlockPtr& block : blocks.blocks)
        out.bytes(chain::encode_block(*block));
}

void decode(Reader& in, Blocks& blocks) {
    const std::size_t count = in.count("blocks", kBlocksMax, kHashBytes);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        auto block = chain::decode_block(in.bytes("blocks", kDataBytesMax));
        if (!in.ok()) return;
        if (!block) return in.set_error(std::move(block).error());
        blocks.blocks.push_back(*std::move(block));
    }
}

void encode(Writer& out, const SnapshotPiece& piece) {
    out.hash(piece.manifest);
    out.u8(static_cast<std::uint8_t>(piece.part));
    out.u32(piece.index);
}

void decode(Reader& in, SnapshotPiece& piece) {
    piece.manifest = in.hash<kHashBytes>("manifest");
    const std::uint8_t part = in.u8("part");
    if (in.ok() && part > 3) in.set_error("part", fmt::format("{} is not from 0 to 3", part));
    piece.part = static_cast<SnapshotPart>(part);
    piece.index = in.u32("index");
}

void encode(Writer& out, const SnapshotRequest& request) {
    encode(out, request.piece);
    out.u64(request.landing_token);
}

void decode(Reader& in, SnapshotRequest& request) {
    decode(in, request.piece);
    request.landing_token = in.u64("landing_token");
}

void encode_chunk(Writer& out,
                  const SnapshotPiece& piece,
                  std::uint32_t count,
                  base::ByteView bytes) {
    encode(out, piece);
    out.u8(1);
    out.u32(count);
    out.bytes(bytes);
}

void encode(Writer& out, const SnapshotChunk& chunk) {
    if (chunk.is_known) return encode_chunk(out, chunk.piece, chunk.count, chunk.bytes);
    encode(out, chunk.piece);
    out.u8(0);
}

void decode(Reader& in, SnapshotChunk& chunk) {
    decode(in, chunk.piece);
    chunk.is_known = read_flag(in, "is_known");
    if (!chunk.is_known) return;
    chunk.count = in.u32("count");
    chunk.bytes = base::to_bytes(in.bytes("bytes", kDataBytesMax));
    if (in.ok() && (chunk.piece.index < chunk.count) == chunk.bytes.empty()) {
        in.set_error("bytes", "there are some of each piece that the part has, and of no other");
    }
}

void encode(Writer& out, const Ack& ack) {
    out.u64(ack.messages);
}

void decode(Reader& in, Ack& ack) {
    ack.messages = in.u64("messages");
}

std::array<std::byte, kEnvelopeBytes> pack_envelope(MessageType type,
                                                    Mark mark,
                                                    std::size_t length) {
    CHECK(length <= carriage_of(type).body_bytes_max);
    std::array<std::byte, kEnvelopeBytes> packed{};
    const std::span bytes(packed);
    using transport::store_number;
    store_number(bytes.subspan(0, 1), static_cast<std::uint64_t>(type));
    store_number(bytes.subspan(1, 1), mark.flags);
    store_number(bytes.subspan(2, 2), kProtocolVersion);
    store_number(bytes.subspan(4, 4), length);
    store_number(bytes.subspan(8, 8), mark.correlation);
    return packed;
}

SharedBytes with_envelope(MessageType type, Mark mark, base::ByteView body) {
    return std::make_shared<const base::Bytes>(envelop({}, type, body, mark));
}

// Reads the alternative of Body that is at `index`. The chain's own types take a field's name.
template <std::size_t I = 0>
Body read_alternative(std::size_t index, Reader& in) {
    if constexpr (I + 1 < std::variant_size_v<Body>) {
        if (index != I) return read_alternative<I + 1>(index, in);
    }
    Body body(std::in_place_index<I>);
    auto& value = std::get<I>(body);
    if constexpr (requires { decode(in, value); }) {
        decode(in, value);
    } else {
        decode(in, value, to_string(type_of(body)));
    }
    return body;
}

}  // namespace

chain::Height RangeProof::height() const {
    if (!finality.ancestor) return finality.certified.height;
    return static_cast<chain::Height>(finality.ancestor->index + 1);
}

Carriage carriage_of(MessageType type) {
    return kCarriages[static_cast<std::size_t>(type)];
}

MessageType type_of(const Body& body) {
    return static_cast<MessageType>(body.index() + 1);
}

base::Hash256 statement_digest(const VoteKeyStatement& statement, const StatementContext& context) {
    Writer out;
    out.raw(base::as_bytes("BoR vote key 1"));
    out.raw(statement_bytes(statement, context));
    return base::crypto::sha256(out.view());
}

base::Bytes statement_bytes(const VoteKeyStatement& statement, const StatementContext& context) {
    Writer out;
    out.hash(context.chain_id);
    encode(out, context.node_key);
    out.hash(context.exporter);
    encode(out, statement.key);
    out.u64(statement.boot_id);
    out.u64(statement.start_slot);
    return out.take();
}

base::Hash256 clock_digest(const ClockStatement& statement, const chain::ChainId& chain_id) {
    Writer out;
    out.raw(base::as_bytes("BoR clock 1"));
    out.raw(clock_bytes(statement, chain_id));
    return base::crypto::sha256(out.view());
}

base::Bytes clock_bytes(const ClockStatement& statement, const chain::ChainId& chain_id) {
    Writer out;
    out.hash(chain_id);
    encode(out, statement.key);
    out.u64(statement.life);
    out.u64(statement.number);
    out.i64(statement.shown);
    return out.take();
}

base::Bytes envelop(base::Bytes memory, MessageType type, base::ByteView body, Mark mark) {
    const auto envelope = pack_envelope(type, mark, body.size());
    memory.clear();
    memory.reserve(envelope.size() + body.size());
    memory.insert(memory.end(), envelope.begin(), envelope.end());
    memory.insert(memory.end(), body.begin(), body.end());
    return memory;
}

SharedBytes pack_message(const Body& body, Mark mark) {
    Writer out;
    std::visit([&out](const auto& value) { encode(out, value); }, body);
    return with_envelope(type_of(body), mark, out.view());
}

SharedBytes pack_blocks(const std::vector<base::ByteView>& blocks, Mark mark) {
    Writer out;
    out.varuint32(static_cast<std::uint32_t>(blocks.size()));
    for (const base::ByteView block : blocks)
        out.bytes(block);
    return with_envelope(MessageType::blocks, mark, out.view());
}

SharedBytes pack_snapshot_chunk(const SnapshotPiece& piece,
                                std::uint32_t count,
                                base::ByteView bytes,
                                Mark mark) {
    Writer out;
    encode_chunk(out, piece, count, bytes);
    return with_envelope(MessageType::snapshot_chunk, mark, out.view());
}

base::Result<Envelope> read_envelope(base::ByteView message) {
    Reader in(message);
    Envelope envelope;
    const std::uint8_t type = in.u8("type");
    envelope.flags = in.u8("flags");
    envelope.version = in.u16("version");
    envelope.length = in.u32("length");
    envelope.correlation = in.u64("correlation");
    if (in.ok() && (type == 0 || type >= kMessageTypes)) {
        in.set_error("type", fmt::format("{} is unknown", type));
    }
    if (in.ok() && envelope.version != kProtocolVersion) {
        in.set_error("version", fmt::format("{}, we speak {}", envelope.version, kProtocolVersion));
    }
    if (in.ok() && (envelope.flags & ~(kFlagLast | kFlagAnswer | kFlagCertified)) != 0) {
        in.set_error("flags", fmt::format("{} has unknown bits", envelope.flags));
    }
    envelope.type = static_cast<MessageType>(type);
    if (in.ok() && envelope.length != in.left()) {
        in.set_error("length", fmt::format("{}, but {} bytes follow", envelope.length, in.left()));
    }
    if (in.ok() && envelope.length > carriage_of(envelope.type).body_bytes_max) {
        in.set_error("length",
                     fmt::format("{} for {}, at most {} are allowed",
                                 envelope.length,
                                 to_string(envelope.type),
                                 carriage_of(envelope.type).body_bytes_max));
    }
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    return envelope;
}

base::Result<Body> read_body(const Envelope& envelope, base::ByteView message) {
    Reader in(message.subspan(kEnvelopeBytes));
    Body body = read_alternative(static_cast<std::size_t>(envelope.type) - 1, in);
    const auto* request = std::get_if<SyncRequest>(&body);
    const bool is_certified = request != nullptr && request->trusted.has_value();
    if (in.ok() && is_certified != ((envelope.flags & kFlagCertified) != 0)) {
        in.set_error("flags", "certified goes with the schedule that a sync_request trusts");
    }
    if (auto done = in.finish(); !done) return base::fail(std::move(done).error());
    return body;
}

}  // namespace p2p
