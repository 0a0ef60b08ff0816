#include "node/bps/core/last_offsets.hpp"

#include "base/crypto/hash.hpp"

#include <cstring>
#include <utility>

namespace bps {

namespace {

constexpr std::size_t kEntriesFirst = 1'024;

}  // namespace

bool LastOffsets::put(base::ByteView key, std::int64_t offset) {
    if (entries_.empty()) entries_.resize(kEntriesFirst);
    const Hash hash = hash_of(key);
    std::size_t at = place_of(hash);
    if (entries_[at].offset < 0) {
        if (used_ == keys_max_) return false;
        if (4 * (used_ + 1) > 3 * entries_.size()) {
            grow();
            at = place_of(hash);
        }
        ++used_;
    }
    entries_[at] = {.hash = hash, .offset = offset};
    return true;
}

std::int64_t LastOffsets::find(base::ByteView key) const {
    if (entries_.empty()) return -1;
    return entries_[place_of(hash_of(key))].offset;
}

LastOffsets::Hash LastOffsets::hash_of(base::ByteView key) {
    const auto digest = base::crypto::sha256(key);
    Hash hash{};
    std::memcpy(hash.data(), digest.bytes.data(), sizeof(hash));
    return hash;
}

std::size_t LastOffsets::place_of(const Hash& hash) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = static_cast<std::size_t>(hash[0]) & mask;
    while (entries_[at].offset >= 0 && entries_[at].hash != hash)
        at = (at + 1) & mask;
    return at;
}

void LastOffsets::grow() {
    const std::vector<Entry> before = std::exchange(entries_, {});
    entries_.resize(2 * before.size());
    for (const Entry& entry : before) {
        if (entry.offset >= 0) entries_[place_of(entry.hash)] = entry;
    }
}

}  // namespace bps
