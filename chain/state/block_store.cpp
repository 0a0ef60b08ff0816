#include "chain/state/block_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

// Traces are ours: the limit only keeps a damaged length from costing memory.
constexpr ListLimit kTracesLimit{kBlockTransactionsMax, 8};

constexpr int kPrunedMax = 16;  // Blocks, and traces of blocks, at a time.

// Big-endian, so that the order of keys is the order of heights.
base::Bytes height_key(Height height) {
    base::Bytes key;
    for (int shift = 24; shift >= 0; shift -= 8) {
        key.push_back(static_cast<std::byte>((height >> shift) & 0xFFU));
    }
    return key;
}

Height height_from(base::ByteView key) {
    Height height = 0;
    for (const std::byte byte : key.first(4)) {
        height = height << 8U | std::to_integer<Height>(byte);
    }
    return height;
}

base::Bytes reversible_key(Height height, const BlockId& id) {
    base::Bytes key = height_key(height);
    key.insert(key.end(), id.bytes.begin(), id.bytes.end());
    return key;
}

base::Bytes index_key(char kind, const base::Hash256& id) {
    base::Bytes key{static_cast<std::byte>(kind)};
    key.insert(key.end(), id.bytes.begin(), id.bytes.end());
    return key;
}

TransactionId id_of(const TransactionReceipt& receipt, const TransactionTrace& trace) {
    const auto* id = std::get_if<TransactionId>(&receipt.transaction);
    return id != nullptr ? *id : trace.id;
}

base::Result<std::optional<Height>> read_height(const base::StorageView& storage,
                                                const base::Bytes& key) {
    auto value = storage.get(Family::index, key);
    if (!value) return fail(std::move(value).error());
    if (!value->has_value()) return std::optional<Height>();
    if ((*value)->size() != 4) {
        return fail(Errc::corrupt, fmt::format("index: an entry of {} bytes", (*value)->size()));
    }
    return std::optional(height_from(**value));
}

// Where pruning goes on. Kept, because to search for the first entry means to pass all that
// were erased before it.
struct Earliest {
    Height blocks = 0;
    Height traces = 0;

    friend bool operator==(const Earliest&, const Earliest&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.blocks, self.traces); }
};

base::Bytes earliest_key() {
    return base::to_bytes(base::as_bytes("earliest"));
}

// The first height at or after `from` that has an entry; 0: none has.
base::Result<Height> next_height(const base::StorageView& storage, Family family, Height from) {
    auto next = storage.at_or_after(family, height_key(from));
    if (!next) return fail(std::move(next).error());
    return next->has_value() && (*next)->key.size() == 4 ? height_from((*next)->key) : 0;
}

base::Result<Earliest> read_earliest(const base::StorageView& storage) {
    auto kept = storage.get(Family::meta, earliest_key());
    if (!kept) return fail(std::move(kept).error());
    if (kept->has_value()) {
        auto earliest = unpack<Earliest>(**kept, "earliest");
        if (!earliest) return fail(Errc::corrupt, earliest.error().detail);
        return earliest;
    }
    auto blocks = next_height(storage, Family::blocks, 0);
    if (!blocks) return fail(std::move(blocks).error());
    auto traces = next_height(storage, Family::traces, 0);
    if (!traces) return fail(std::move(traces).error());
    return Earliest{*blocks, *traces};
}

// Whether what belongs to `at` is to go when `height` is final.
bool outlived(Height at, Height height, std::uint32_t retention) {
    return retention != 0 && height > retention && at <= height - retention;
}

// The transactions of a block, of which it knows no more than their packed form.
std::vector<TransactionId> ids_of(const Block& block) {
    std::vector<TransactionId> ids;
    for (const TransactionReceipt& receipt : block.transactions) {
        const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) {
            ids.push_back(std::get<TransactionId>(receipt.transaction));
        } else if (auto transaction = decode_transaction(*packed)) {
            ids.push_back((*transaction)->id);
        }
    }
    return ids;
}

// A final block and the entries of the index that lead to it.
void erase_final(base::Batch& batch, const Block& block) {
    batch.erase(Family::blocks, height_key(block.header.height));
    batch.erase(Family::index, index_key('b', block.id));
    for (const TransactionId& id : ids_of(block)) {
        batch.erase(Family::index, index_key('t', id));
    }
}

}  // namespace

void append_reversible(base::Batch& batch, const Block& block) {
    batch.put(
        Family::reversible, reversible_key(block.header.height, block.id), encode_block(block));
}

void erase_reversible(base::Batch& batch, const BlockHeader& header, const BlockId& id) {
    batch.erase(Family::reversible, reversible_key(header.height, id));
}

void append_final(base::Batch& batch,
                  const Block& block,
                  const std::vector<TransactionTrace>& traces) {
    const Height height = block.header.height;
    batch.put(Family::blocks, height_key(height), encode_block(block));
    batch.put(Family::index, index_key('b', block.id), height_key(height));
    // In the order of the keys, which RocksDB takes in faster.
    std::vector<TransactionId> ids;
    ids.reserve(traces.size());
    for (std::size_t i = 0; i < traces.size(); ++i) {
        ids.push_back(id_of(block.transactions[i], traces[i]));
    }
    std::ranges::sort(ids);
    for (const TransactionId& id : ids) {
        batch.put(Family::index, index_key('t', id), height_key(height));
    }
    base::Writer packed;
    encode_list(packed, traces);
    batch.put(Family::traces, height_key(height), packed.take());
    erase_reversible(batch, block.header, block.id);
}

void append_without_traces(base::Batch& batch, const Block& block) {
    const Height height = block.header.height;
    batch.put(Family::blocks, height_key(height), encode_block(block));
    batch.put(Family::index, index_key('b', block.id), height_key(height));
    for (const TransactionId& id : ids_of(block)) {
        batch.put(Family::index, index_key('t', id), height_key(height));
    }
}

base::Result<void> append_pruned(base::Batch& batch,
                                 const base::StorageView& storage,
                                 Height height,
                                 const Retention& retention) {
    if (retention.blocks == 0 && retention.traces == 0) return {};
    auto first = read_earliest(storage);
    if (!first) return fail(std::move(first).error());
    const Earliest before = *first;
    base::Batch pruned;
    for (int i = 0; i < kPrunedMax && outlived(first->blocks, height, retention.blocks); ++i) {
        auto block = BlockReader(storage).at(first->blocks);
        if (!block) return fail(std::move(block).error());
        if (*block != nullptr) erase_final(pruned, **block);
        auto next = next_height(storage, Family::blocks, first->blocks + 1);
        if (!next) return fail(std::move(next).error());
        if (*next == 0) break;
        first->blocks = *next;
    }
    for (int i = 0; i < kPrunedMax && outlived(first->traces, height, retention.traces); ++i) {
        pruned.erase(Family::traces, height_key(first->traces));
        auto next = next_height(storage, Family::traces, first->traces + 1);
        if (!next) return fail(std::move(next).error());
        if (*next == 0) break;
        first->traces = *next;
    }
    if (*first == before) return {};
    pruned.put(Family::meta, earliest_key(), pack(*first));
    std::ranges::move(pruned.changes, std::back_inserter(batch.changes));
    return {};
}

base::Result<BlockPtr> BlockReader::at(Height height) const {
    auto bytes = storage_->get(Family::blocks, height_key(height));
    if (!bytes) return fail(std::move(bytes).error());
    if (!bytes->has_value()) return BlockPtr();
    auto block = decode_block(**bytes);
    if (!block || (*block)->header.height != height) {
        return fail(Errc::corrupt,
                    fmt::format("block {} in the storage does not decode: {}",
                                height,
                                block ? "it is another block" : block.error().detail));
    }
    return block;
}

base::Result<std::optional<base::Bytes>> BlockReader::packed_at(Height height) const {
    return storage_->get(Family::blocks, height_key(height));
}

base::Result<std::optional<Height>> BlockReader::height_of(const BlockId& id) const {
    return read_height(*storage_, index_key('b', id));
}

base::Result<std::optional<Height>> BlockReader::height_of_transaction(
    const TransactionId& id) const {
    return read_height(*storage_, index_key('t', id));
}

base::Result<std::optional<std::vector<TransactionTrace>>> BlockReader::traces(
    Height height) const {
    using Traces = std::optional<std::vector<TransactionTrace>>;
    auto bytes = storage_->get(Family::traces, height_key(height));
    if (!bytes) return fail(std::move(bytes).error());
    if (!bytes->has_value()) return Traces();
    base::Reader in(**bytes);
    std::vector<TransactionTrace> traces;
    decode_list(in, traces, kTracesLimit, "traces");
    if (auto done = in.finish(); !done) {
        return fail(Errc::corrupt,
                    fmt::format("traces of block {}: {}", height, done.error().detail));
    }
    return Traces(std::move(traces));
}

base::Result<std::optional<Height>> BlockReader::earliest() const {
    auto first = read_earliest(*storage_);
    if (!first) return fail(std::move(first).error());
    return first->blocks == 0 ? std::optional<Height>() : std::optional(first->blocks);
}

base::Result<std::vector<BlockPtr>> BlockReader::reversible() const {
    std::vector<BlockPtr> blocks;
    base::Result<void> bad;
    const auto read =
        storage_->scan(Family::reversible, {}, [&](base::ByteView, base::ByteView value) {
            auto block = decode_block(value);
            if (block) {
                blocks.push_back(*std::move(block));
            } else {
                bad =
                    fail(Errc::corrupt, "a stored block does not decode: " + block.error().detail);
            }
            return bad.has_value();
        });
    if (!read) return fail(read.error());
    if (!bad) return fail(bad.error());
    return blocks;
}

}  // namespace chain
