#include "chain/state/digest.hpp"

#include "base/crypto/chacha.hpp"
#include "base/crypto/hash.hpp"

#include <bit>
#include <string>

namespace chain {

namespace {

using Expansion = std::array<std::uint16_t, StateLanes::kPackedBytes / 2>;

std::uint16_t lane_of(const std::byte* bytes) {
    return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) |
                                      std::to_integer<unsigned>(bytes[1]) << 8U);
}

// What one entry adds to each lane.
Expansion expand(Table table, base::ByteView key, base::ByteView value) {
    std::array<std::byte, 6> head{};  // The table u16, the key's length u32.
    const auto number = static_cast<std::uint16_t>(table);
    for (std::size_t i = 0; i < 2; ++i)
        head[i] = static_cast<std::byte>(number >> (8 * i));
    for (std::size_t i = 0; i < 4; ++i)
        head[2 + i] = static_cast<std::byte>(key.size() >> (8 * i));
    base::crypto::Sha256 hash;
    hash.update(base::as_bytes("BoR entry 1")).update(head).update(key).update(value);
    std::array<std::byte, StateLanes::kPackedBytes> stream;  // NOLINT: written at once.
    base::crypto::chacha20_keystream(hash.finish(), stream);
    static_assert(std::endian::native == std::endian::little);
    return std::bit_cast<Expansion>(stream);
}

}  // namespace

void StateLanes::add(Table table, base::ByteView key, base::ByteView value) {
    const Expansion moved = expand(table, key, value);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i] = static_cast<std::uint16_t>(lanes_[i] + moved[i]);
    }
}

void StateLanes::subtract(Table table, base::ByteView key, base::ByteView value) {
    const Expansion moved = expand(table, key, value);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i] = static_cast<std::uint16_t>(lanes_[i] - moved[i]);
    }
}

StateLanes& StateLanes::operator+=(const StateLanes& other) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        lanes_[i] = static_cast<std::uint16_t>(lanes_[i] + other.lanes_[i]);
    }
    return *this;
}

base::Hash256 StateLanes::digest() const {
    return base::crypto::sha256(packed());
}

base::Bytes StateLanes::packed() const {
    base::Bytes out(kPackedBytes);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
        out[2 * i] = static_cast<std::byte>(lanes_[i] & 0xFFU);
        out[2 * i + 1] = static_cast<std::byte>(lanes_[i] >> 8U);
    }
    return out;
}

base::Result<StateLanes> StateLanes::unpack(base::ByteView packed) {
    if (packed.size() != kPackedBytes) {
        return base::fail(
            base::Errc::malformed,
            "the lanes of a state take 2048 bytes, found " + std::to_string(packed.size()));
    }
    StateLanes lanes;
    for (std::size_t i = 0; i < lanes.lanes_.size(); ++i) {
        lanes.lanes_[i] = lane_of(&packed[2 * i]);
    }
    return lanes;
}

std::vector<NetChange> net_changes(const ChangeSet& changes, const StateView& parent) {
    std::vector<NetChange> net;
    net.reserve(changes.size());
    for (const auto& [table, rows] : changes.tables()) {
        for (const auto& [key, after] : rows) {
            Value before = parent.find(table, key);
            const bool same = before && after ? *before == *after : before == after;
            if (!same) net.push_back({table, key, std::move(before), after});
        }
    }
    return net;
}

StateLanes lanes_moved(std::span<const NetChange> changes) {
    StateLanes lanes;
    for (const NetChange& change : changes) {
        if (change.before) lanes.subtract(change.table, change.key, *change.before);
        if (change.after) lanes.add(change.table, change.key, *change.after);
    }
    return lanes;
}

}  // namespace chain
