#pragma once

#include "base/bytes.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bps {

// Where the last record of each key of a log is, as far as they were put in; a bounded number of
// keys. Keys are known by 16 bytes of their SHA-256: who finds two with the same harms records of
// his own only.
class LastOffsets {
  public:
    explicit LastOffsets(std::size_t keys_max) : keys_max_(keys_max) {}

    // Offsets ascend. False: there is no room for another key.
    [[nodiscard]] bool put(base::ByteView key, std::int64_t offset);
    // -1: the key was not put in.
    [[nodiscard]] std::int64_t find(base::ByteView key) const;
    [[nodiscard]] std::size_t size() const { return used_; }

  private:
    using Hash = std::array<std::uint64_t, 2>;
    struct Entry {
        Hash hash{};
        std::int64_t offset = -1;  // -1: free.
    };

    [[nodiscard]] static Hash hash_of(base::ByteView key);
    // The entry of this key, or the free one where it belongs.
    [[nodiscard]] std::size_t place_of(const Hash& hash) const;
    void grow();

    std::size_t keys_max_;
    std::vector<Entry> entries_;  // A power of two of them, at most 3 of 4 in use.
    std::size_t used_ = 0;
};

}  // namespace bps
