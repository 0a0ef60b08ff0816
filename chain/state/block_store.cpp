#include "chain/state/block_store.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

// Traces are ours: the limit only keeps a damaged length from costing memory.
constexpr ListLimit kTracesLimit{kBlockTransactionsMax, 8};

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
                  const std::vector<TransactionTrace>& traces,
                  const Retention& retention) {
    const Height height = block.header.height;
    batch.put(Family::blocks, height_key(height), encode_block(block));
    batch.put(Family::index, index_key('b', block.id), height_key(height));
    for (std::size_t i = 0; i < traces.size(); ++i) {
        batch.put(Family::index,
                  index_key('t', id_of(block.transactions[i], traces[i])),
                  height_key(height));
    }
    base::Writer packed;
    encode_list(packed, traces);
    batch.put(Family::traces, height_key(height), packed.take());
    erase_reversible(batch, block.header, block.id);
    if (retention.blocks != 0 && height > retention.blocks) {
        batch.erase(Family::blocks, height_key(height - retention.blocks));
    }
    if (retention.traces != 0 && height > retention.traces) {
        batch.erase(Family::traces, height_key(height - retention.traces));
    }
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
    auto first = storage_->at_or_after(Family::blocks, {});
    if (!first) return fail(std::move(first).error());
    if (!first->has_value() || (*first)->key.size() != 4) return std::optional<Height>();
    return std::optional(height_from((*first)->key));
}

base::Result<std::vector<BlockPtr>> BlockReader::reversible() const {
    std::vector<BlockPtr> blocks;
    base::Bytes next;
    while (true) {
        auto row = storage_->at_or_after(Family::reversible, next);
        if (!row) return fail(std::move(row).error());
        if (!row->has_value()) return blocks;
        auto block = decode_block((*row)->value);
        if (!block) {
            return fail(Errc::corrupt, "a stored block does not decode: " + block.error().detail);
        }
        blocks.push_back(*std::move(block));
        next = std::move((*row)->key);
        next.push_back(std::byte{0});
    }
}

}  // namespace chain
