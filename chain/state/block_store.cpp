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

// The first height at or after `from` that has an entry; nothing: none has.
base::Result<std::optional<Height>> next_height(const base::StorageView& storage,
                                                Family family,
                                                Height from) {
    auto next = storage.at_or_after(family, height_key(from));
    if (!next) return fail(std::move(next).error());
    if (!next->has_value() || (*next)->key.size() != 4) return std::optional<Height>();
    return std::optional(height_from((*next)->key));
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
    batch.put(Family::index, index_key(kIndexedBlock, block.id), height_key(height));
    // In the order of the keys, which RocksDB takes in faster.
    std::vector<TransactionId> ids;
    ids.reserve(traces.size());
    for (std::size_t i = 0; i < traces.size(); ++i) {
        ids.push_back(id_of(block.transactions[i], traces[i]));
    }
    std::ranges::sort(ids);
    for (const TransactionId& id : ids) {
        batch.put(Family::index, index_key(kIndexedTransaction, id), height_key(height));
    }
    base::Writer packed;
    encode_list(packed, traces);
    batch.put(Family::traces, height_key(height), packed.take());
    erase_reversible(batch, block.header, block.id);
}

void append_without_traces(base::Batch& batch, const Block& block) {
    const Height height = block.header.height;
    batch.put(Family::blocks, height_key(height), encode_block(block));
    batch.put(Family::index, index_key(kIndexedBlock, block.id), height_key(height));
    for (const TransactionId& id : ids_of(block)) {
        batch.put(Family::index, index_key(kIndexedTransaction, id), height_key(height));
    }
}

base::Result<const HistoryFloor*> BlockReader::floor() const {
    if (!floor_) {
        auto floor = read_floor(*storage_);
        if (!floor) return fail(std::move(floor).error());
        floor_ = *std::move(floor);
    }
    return &*floor_;
}

base::Result<BlockPtr> BlockReader::at(Height height) const {
    auto bytes = packed_at(height);
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
    auto from = floor();
    if (!from) return fail(std::move(from).error());
    if (!(*from)->has_block(height)) return std::optional<base::Bytes>();
    return storage_->get(Family::blocks, height_key(height));
}

base::Result<std::optional<Height>> BlockReader::height_at(char kind,
                                                           const base::Hash256& id) const {
    auto height = read_height(*storage_, index_key(kind, id));
    if (!height || !*height) return height;
    auto from = floor();
    if (!from) return fail(std::move(from).error());
    return (*from)->has_block(**height) ? height : std::optional<Height>();
}

base::Result<std::optional<Height>> BlockReader::height_of(const BlockId& id) const {
    return height_at(kIndexedBlock, id);
}

base::Result<std::optional<Height>> BlockReader::height_of_transaction(
    const TransactionId& id) const {
    return height_at(kIndexedTransaction, id);
}

base::Result<std::optional<std::vector<TransactionTrace>>> BlockReader::traces(
    Height height) const {
    using Traces = std::optional<std::vector<TransactionTrace>>;
    auto from = floor();
    if (!from) return fail(std::move(from).error());
    if (height < (*from)->traces) return Traces();
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
    auto from = floor();
    if (!from) return fail(std::move(from).error());
    return next_height(*storage_, Family::blocks, (*from)->blocks);
}

base::Result<std::optional<Height>> BlockReader::earliest_traces() const {
    auto from = floor();
    if (!from) return fail(std::move(from).error());
    return next_height(*storage_, Family::traces, (*from)->traces);
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
