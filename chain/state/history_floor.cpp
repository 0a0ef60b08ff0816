#include "chain/state/history_floor.hpp"

#include <algorithm>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

base::Bytes floor_key() {
    return base::to_bytes(base::as_bytes("history_floor"));
}

}  // namespace

base::Bytes height_key(Height height) {
    base::Bytes key;
    for (int shift = 24; shift >= 0; shift -= 8) {
        key.push_back(static_cast<std::byte>((height >> shift) & 0xFFU));
    }
    return key;
}

Height height_from(base::ByteView bytes) {
    Height height = 0;
    for (const std::byte byte : bytes.first(4)) {
        height = height << 8U | std::to_integer<Height>(byte);
    }
    return height;
}

bool HistoryFloor::has_block(Height height) const {
    return height >= blocks || std::ranges::binary_search(kept, height);
}

bool HistoryFloor::is_past(Family family, base::ByteView key, base::ByteView value) const {
    if (family == Family::blocks) return key.size() == 4 && !has_block(height_from(key));
    if (family == Family::traces) return key.size() == 4 && height_from(key) < traces;
    if (family != Family::index || key.size() != 1 + sizeof(BlockId) || value.size() != 4) {
        return false;
    }
    const char kind = static_cast<char>(key.front());
    if (kind != kIndexedBlock && kind != kIndexedTransaction) return false;
    return !has_block(height_from(value));
}

base::Result<HistoryFloor> read_floor(const base::StorageView& storage) {
    auto found = storage.get(Family::meta, floor_key());
    if (!found) return fail(std::move(found).error());
    HistoryFloor floor;
    if (!found->has_value()) return floor;
    base::Reader in(**found);
    floor.blocks = in.u32("blocks");
    floor.traces = in.u32("traces");
    floor.swept = in.u32("swept");
    const std::uint32_t kept = in.u32("kept");
    if (in.ok() && kept > kKeptMax) in.set_error("kept", "are too many");
    for (std::uint32_t i = 0; i < kept && in.ok(); ++i)
        floor.kept.push_back(in.u32("kept"));
    if (auto done = in.finish(); !done) {
        return fail(Errc::corrupt, "history_floor: " + done.error().detail);
    }
    return floor;
}

void append_floor(base::Batch& batch, const HistoryFloor& floor) {
    base::Writer out;
    out.u32(floor.blocks);
    out.u32(floor.traces);
    out.u32(floor.swept);
    out.u32(static_cast<std::uint32_t>(floor.kept.size()));
    for (const Height height : floor.kept)
        out.u32(height);
    batch.put(Family::meta, floor_key(), out.take());
}

HistoryFloor lowered(HistoryFloor floor, Height blocks) {
    if (floor.blocks <= blocks) return floor;
    floor.blocks = blocks > 1 ? blocks : 0;
    floor.swept = std::min(floor.swept, floor.blocks);
    std::erase_if(floor.kept, [&](Height kept) { return kept >= blocks; });
    return floor;
}

}  // namespace chain
