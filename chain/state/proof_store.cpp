#include "chain/state/proof_store.hpp"

#include "chain/state/block_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace chain {

namespace {

using base::Bytes;
using base::ByteView;
using base::Errc;
using base::fail;
using base::Family;
using base::Result;

// Blocks that are looked at for a certificate where the newest one's block is not stored.
constexpr Height kSearchMax = 4'096;

Bytes node_key(std::uint8_t level, std::uint64_t position) {
    Bytes key{static_cast<std::byte>('n'), static_cast<std::byte>(level)};
    for (int shift = 56; shift >= 0; shift -= 8) {
        key.push_back(static_cast<std::byte>((position >> shift) & 0xFFU));
    }
    return key;
}

// 's': a ScheduleLink, 'r': a RecoveryLink.
Bytes link_key(char kind, std::uint32_t version) {
    Bytes key{static_cast<std::byte>(kind)};
    for (int shift = 24; shift >= 0; shift -= 8) {
        key.push_back(static_cast<std::byte>((version >> shift) & 0xFFU));
    }
    return key;
}

// Nothing: it is not stored.
Result<std::optional<base::Hash256>> find_node(const base::StorageView& storage,
                                               std::uint8_t level,
                                               std::uint64_t position) {
    auto value = storage.get(Family::index, node_key(level, position));
    if (!value) return fail(std::move(value).error());
    if (!value->has_value()) return std::optional<base::Hash256>();
    auto node = base::to_hash<32>(**value);
    if (!node) return fail(Errc::corrupt, "index: a node of the final ids is not 32 bytes");
    return std::optional(*node);
}

Result<base::Hash256> read_node(const base::StorageView& storage,
                                std::uint8_t level,
                                std::uint64_t position) {
    auto node = find_node(storage, level, position);
    if (!node) return fail(std::move(node).error());
    if (*node) return **node;
    return fail(Errc::not_found,
                fmt::format("no proof can be made: node {} of level {} of the final ids is not "
                            "stored; this data directory begins later",
                            position,
                            level));
}

tl::unexpected<base::Error> not_yet(Height height) {
    return fail(Errc::would_block,
                fmt::format("block {} is not below a certified block yet; ask again after the next "
                            "block is final",
                            height));
}

struct ActionLeaf {
    const ActionReceipt* receipt;
    bool wanted;
};

// The leaves of a block's action_root: its actions' receipts in the order of execution.
std::vector<ActionLeaf> action_leaves(const std::vector<TransactionTrace>& traces,
                                      const TransactionId& id,
                                      std::uint32_t ordinal) {
    std::vector<ActionLeaf> leaves;
    for (const TransactionTrace& trace : traces) {
        for (const ActionTrace& action : trace.action_traces) {
            if (!action.receipt) continue;
            leaves.push_back(
                {&*action.receipt, trace.id == id && action.action_ordinal == ordinal});
        }
    }
    std::ranges::sort(
        leaves, {}, [](const ActionLeaf& leaf) { return leaf.receipt->global_sequence; });
    return leaves;
}

}  // namespace

void ProofIndex::append(const BlockId& id, base::Batch& batch) {
    const auto keep = [&](std::uint8_t level, std::uint64_t position, const base::Hash256& node) {
        batch.put(Family::index, node_key(level, position), base::to_bytes(node.view()));
        fresh_[{level, position}] = node;
    };
    keep(0, range_.count(), merkle_leaf(id));
    range_.append(id, keep);
}

void ProofIndex::recover(const RecoveryLink& link, base::Batch& batch) {
    append_link(batch, link);
    change_.reset();
}

Result<void> ProofIndex::certify(const Certificate& certificate,
                                 const BlockHeader& header,
                                 const base::StorageView& storage,
                                 base::Batch& batch) {
    if (!wants(certificate)) return {};
    if (ids_below(header) < change_->height) return {};
    auto path =
        mountain_proof(change_->height - 1,
                       ids_below(header),
                       [&](std::uint8_t level, std::uint64_t position) -> Result<base::Hash256> {
                           const auto fresh = fresh_.find({level, position});
                           if (fresh != fresh_.end()) return fresh->second;
                           return read_node(storage, level, position);
                       });
    if (!path) return fail(std::move(path).error());
    const ScheduleLink link{*change_, {header, active_part(certificate), *std::move(path)}};
    append_link(batch, link);
    change_.reset();
    return {};
}

void append_link(base::Batch& batch, const Link& link) {
    const std::uint32_t version = version_of(link);
    if (const auto* recovery = std::get_if<RecoveryLink>(&link)) {
        batch.put(Family::index, link_key('r', version), pack(*recovery));
    } else {
        batch.put(Family::index, link_key('s', version), pack(std::get<ScheduleLink>(link)));
    }
}

void append_peaks(base::Batch& batch, const MountainRange& range) {
    std::uint64_t first = 0;
    for (const base::Hash256& peak : range.peaks()) {
        const std::uint64_t size = std::bit_floor(range.count() - first);
        const auto level = static_cast<std::uint8_t>(std::countr_zero(size));
        batch.put(Family::index, node_key(level, first >> level), base::to_bytes(peak.view()));
        first += size;
    }
}

Result<std::optional<base::Hash256>> OlderIds::find(std::uint8_t level,
                                                    std::uint64_t position) const {
    const auto fresh = fresh_.find({level, position});
    if (fresh != fresh_.end()) return std::optional(fresh->second);
    return find_node(*storage_, level, position);
}

Result<void> OlderIds::add(const BlockId& id, base::Batch& batch) {
    std::uint8_t level = 0;
    std::uint64_t position = height_of(id) - 1;
    base::Hash256 node = merkle_leaf(id);
    while (true) {
        auto stored = find(level, position);
        if (!stored) return fail(std::move(stored).error());
        if (*stored && **stored == node) return {};  // So are those above it.
        if (*stored) {
            return fail(Errc::corrupt,
                        fmt::format("block {} is not among the final ones of this data directory: "
                                    "node {} of level {} of their ids is another",
                                    height_of(id),
                                    position,
                                    level));
        }
        batch.put(Family::index, node_key(level, position), base::to_bytes(node.view()));
        fresh_[{level, position}] = node;
        // Its parent is complete with the left child, the later one, if it has a right one.
        if (position % 2 == 1) return {};
        auto right = find(level, position + 1);
        if (!right) return fail(std::move(right).error());
        if (!*right) return {};
        node = merkle_node(node, **right);
        position /= 2;
        ++level;
    }
}

Result<std::optional<ScheduleLink>> stored_link(const base::StorageView& storage,
                                                std::uint32_t version) {
    auto bytes = storage.get(Family::index, link_key('s', version));
    if (!bytes) return fail(std::move(bytes).error());
    if (!bytes->has_value()) return std::optional<ScheduleLink>();
    auto link = unpack<ScheduleLink>(**bytes, "schedule link");
    if (!link) return fail(Errc::corrupt, link.error().detail);
    if (version_of(*link) == version) return std::optional(*std::move(link));
    return fail(Errc::corrupt, fmt::format("index: the link to schedule {} is another", version));
}

Result<bool> has_link(const base::StorageView& storage, std::uint32_t version) {
    for (const char kind : {'s', 'r'}) {
        auto bytes = storage.get(Family::index, link_key(kind, version));
        if (!bytes) return fail(std::move(bytes).error());
        if (bytes->has_value()) return true;
    }
    return false;
}

Result<std::vector<RecoveryLink>> stored_recoveries(const base::StorageView& storage) {
    std::vector<RecoveryLink> links;
    Result<void> outcome;
    auto read = storage.scan(Family::index, link_key('r', 0), [&](ByteView key, ByteView value) {
        if (key.empty() || key[0] != static_cast<std::byte>('r')) return false;
        auto link = unpack<RecoveryLink>(value, "recovery link");
        if (link) {
            links.push_back(*std::move(link));
        } else {
            outcome = fail(Errc::corrupt, link.error().detail);
        }
        return outcome.has_value();
    });
    if (!read) return fail(std::move(read).error());
    if (!outcome) return fail(std::move(outcome).error());
    return links;
}

Result<ProofMaker::Certified> ProofMaker::newest() const {
    const BlockReader blocks(*storage_);
    auto bytes = storage_->get(Family::meta, base::as_bytes(kMetaFinalCertificate));
    if (!bytes) return fail(std::move(bytes).error());
    if (!bytes->has_value()) return fail(Errc::would_block, "no block has a certificate yet");
    auto certificate = unpack<Certificate>(**bytes, "final_certificate");
    if (!certificate) return fail(Errc::corrupt, certificate.error().detail);
    auto block = blocks.at(certificate->data.height);
    if (!block) return fail(std::move(block).error());
    if (*block != nullptr) return Certified{(*block)->header, *std::move(certificate)};
    // It was stored ahead of its block: the last one that is in a witness, then.
    const Height above = certificate->data.height;
    for (Height height = above; height > 1 && above - height < kSearchMax; --height) {
        auto witness = blocks.at(height - 1);
        if (!witness) return fail(std::move(witness).error());
        if (*witness == nullptr || !(*witness)->witness.finalized) continue;
        auto certified = blocks.at((*witness)->witness.finalized->data.height);
        if (!certified) return fail(std::move(certified).error());
        if (*certified == nullptr) break;
        return Certified{(*certified)->header, *(*witness)->witness.finalized};
    }
    return fail(Errc::would_block, "no stored block has a certificate yet");
}

Result<std::optional<Link>> ProofMaker::link_from(
    std::uint32_t version, std::uint32_t last, const std::vector<RecoveryLink>& recoveries) const {
    using Found = std::optional<Link>;
    const auto recovery = std::ranges::find_if(recoveries, [&](const RecoveryLink& each) {
        return each.from.schedule_version == version && each.reset.schedule.version <= last;
    });
    if (recovery != recoveries.end()) return Found(*recovery);
    auto link = stored_link(*storage_, version + 1);
    if (!link) return fail(std::move(link).error());
    if (*link) return Found(**std::move(link));
    if (version == last) return Found();
    return fail(
        Errc::not_found,
        fmt::format("no proof can be made: the link to schedule {} is not stored", version + 1));
}

template <class Take>
Result<void> ProofMaker::each_link(std::uint32_t trusted,
                                   std::uint32_t last,
                                   const Take& take) const {
    auto recoveries = stored_recoveries(*storage_);
    if (!recoveries) return fail(std::move(recoveries).error());
    for (std::uint32_t version = trusted; version <= last;) {
        auto link = link_from(version, last, *recoveries);
        if (!link) return fail(std::move(link).error());
        if (!*link) return {};
        version = version_of(**link);
        auto goes_on = take(std::move(**link));
        if (!goes_on) return fail(std::move(goes_on).error());
        if (!*goes_on) return {};
    }
    return {};
}

Result<void> ProofMaker::all_links(std::uint32_t trusted,
                                   std::uint32_t last,
                                   const TakeLink& take) const {
    return each_link(trusted, last, [&](const Link& link) -> Result<bool> {
        if (auto taken = take(link); !taken) return fail(std::move(taken).error());
        return true;
    });
}

namespace {

Result<ScheduleLink> step_of(Link link) {
    if (auto* step = std::get_if<ScheduleLink>(&link)) return std::move(*step);
    return fail(Errc::invalid,
                fmt::format("one proof does not reach over a recovery, which began schedule {}: "
                            "ask for the links in parts, then for a proof with the last of them "
                            "as 'trusted', as 'bor-cli proof get' does with --genesis FILE",
                            version_of(link)));
}

}  // namespace

Result<std::vector<ScheduleLink>> ProofMaker::links(std::uint32_t trusted,
                                                    std::uint32_t last) const {
    std::vector<ScheduleLink> links;
    if (last <= trusted) return links;
    auto read = each_link(trusted, last, [&](Link link) -> Result<bool> {
        if (version_of(link) > last) return false;
        auto step = step_of(std::move(link));
        if (!step) return fail(std::move(step).error());
        if (links.size() == kProofLinksMax) {
            return fail(Errc::invalid,
                        fmt::format("more than {} schedules since version {}: ask for the links in "
                                    "parts, then for a proof with the last of them as 'trusted'",
                                    kProofLinksMax,
                                    trusted));
        }
        links.push_back(*std::move(step));
        return true;
    });
    if (!read) return fail(std::move(read).error());
    return links;
}

Result<std::vector<Link>> ProofMaker::next_links(std::uint32_t trusted) const {
    auto certified = newest();
    if (!certified) return fail(std::move(certified).error());
    const std::uint32_t last = certified->header.schedule_version;
    std::vector<Link> links;
    if (last <= trusted) return links;
    std::size_t bytes = 0;
    auto read = each_link(trusted, last, [&](Link link) -> Result<bool> {
        if (version_of(link) > last) return false;
        bytes += pack(link).size();
        links.push_back(std::move(link));
        return bytes < kLinksPartBytes && links.size() < kProofLinksMax;
    });
    if (!read) return fail(std::move(read).error());
    return links;
}

Result<MerkleProof> ProofMaker::path_of(Height height, const BlockHeader& certified) const {
    const std::uint64_t count = ids_below(certified);
    if (height > count) return not_yet(height);
    return mountain_proof(height - 1, count, [&](std::uint8_t level, std::uint64_t position) {
        return read_node(*storage_, level, position);
    });
}

Result<FinalityProof> ProofMaker::newest_certified() const {
    auto certified = newest();
    if (!certified) return fail(std::move(certified).error());
    return FinalityProof{certified->header, active_part(certified->certificate), std::nullopt};
}

Result<FinalityProof> ProofMaker::certified_alone(const BlockHeader& header) const {
    auto certified = newest();
    if (!certified) return fail(std::move(certified).error());
    const bool is_whole = certified->certificate.bitmaps.size() == 1;
    if (header != certified->header || !is_whole) return not_yet(header.height);
    return FinalityProof{header, std::move(certified->certificate), std::nullopt};
}

Result<FinalityProof> ProofMaker::finality_of(const BlockHeader& header) const {
    auto proof = newest_certified();
    if (!proof) return proof;
    auto path = path_of(header.height, proof->certified);
    if (!path) return fail(std::move(path).error());
    proof->ancestor = *std::move(path);
    return proof;
}

Result<Proof> ProofMaker::of_header(const BlockHeader& header, std::uint32_t trusted) const {
    Proof proof;
    proof.header = header;
    auto finality = finality_of(header);
    if (!finality) return fail(std::move(finality).error());
    proof.finality = *std::move(finality);
    auto links = this->links(trusted, proof.finality.certified.schedule_version);
    if (!links) return fail(std::move(links).error());
    proof.links = *std::move(links);
    return proof;
}

Result<Proof> ProofMaker::of_block(Height height, std::uint32_t trusted) const {
    auto block = BlockReader(*storage_).at(height);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr) {
        return fail(Errc::not_found, fmt::format("no final block {} is stored", height));
    }
    return of_header((*block)->header, trusted);
}

Result<BlockPtr> ProofMaker::block_of(const TransactionId& id) const {
    const BlockReader blocks(*storage_);
    auto height = blocks.height_of_transaction(id);
    if (!height) return fail(std::move(height).error());
    auto block = *height ? blocks.at(**height) : Result<BlockPtr>(nullptr);
    if (block && *block == nullptr) {
        return fail(Errc::not_found,
                    fmt::format("transaction {} is in no final block that is stored",
                                base::to_hex(id.bytes)));
    }
    return block;
}

Result<Proof> ProofMaker::of_transaction(const TransactionId& id, std::uint32_t trusted) const {
    auto block = block_of(id);
    if (!block) return fail(std::move(block).error());
    auto proof = of_header((*block)->header, trusted);
    if (!proof) return proof;
    const auto& receipts = (*block)->transactions;
    std::vector<Digest> leaves;
    for (const TransactionReceipt& receipt : receipts) {
        const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction);
        if (packed != nullptr) {
            const auto decoded = decode_transaction(*packed);
            if (decoded && (*decoded)->id == id) {
                proof->path.index = leaves.size();
                proof->transaction = receipt;
            }
        }
        leaves.push_back(receipt.digest());
    }
    if (!proof->transaction) {
        return fail(Errc::corrupt, "index: a transaction is not in the block it leads to");
    }
    proof->subject = ProofSubject::transaction;
    proof->path = merkle_proof(leaves, proof->path.index);
    return proof;
}

Result<Proof> ProofMaker::of_action(const TransactionId& id,
                                    std::uint32_t ordinal,
                                    std::uint32_t trusted) const {
    auto block = block_of(id);
    if (!block) return fail(std::move(block).error());
    const BlockHeader& header = (*block)->header;
    auto traces = BlockReader(*storage_).traces(header.height);
    if (!traces) return fail(std::move(traces).error());
    if (!*traces) {
        return fail(Errc::not_found,
                    fmt::format("the traces of block {} are not kept any more", header.height));
    }
    const std::vector<ActionLeaf> leaves = action_leaves(**traces, id, ordinal);
    const auto wanted = std::ranges::find(leaves, true, &ActionLeaf::wanted);
    if (wanted == leaves.end()) {
        return fail(
            Errc::not_found,
            fmt::format("transaction {} executed no action {}", base::to_hex(id.bytes), ordinal));
    }
    auto proof = of_header(header, trusted);
    if (!proof) return proof;
    std::vector<Digest> digests;
    digests.reserve(leaves.size());
    for (const ActionLeaf& leaf : leaves) {
        digests.push_back(leaf.receipt->digest());
    }
    proof->subject = ProofSubject::action;
    proof->action = *wanted->receipt;
    proof->path = merkle_proof(digests, static_cast<std::uint64_t>(wanted - leaves.begin()));
    return proof;
}

}  // namespace chain
