#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "transport/ring/record.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct evp_cipher_ctx_st;

namespace transport::ring {

// Seals the records of one ring, or opens them: AES-128-GCM with the record's word as associated
// data and its position as nonce, which never returns. Keys are derived from `secret` by HKDF,
// a new one for each 16 GiB of positions, far below the bounds of the mode (RFC 8446, 5.5;
// RFC 5869). `secret` comes from the TLS session and is for this ring, direction and generation
// alone.
//
// Thread: one. Allocates nothing after construction but for a new key.
class Seal : base::Pinned {
  public:
    enum class Use : std::uint8_t { seal, open };

    Seal(const base::Hash256& secret, Use use);
    ~Seal();

    // Writes `plain`, of at most kSealedBytesMax, and the tag to `out`, which has room for both;
    // they don't overlap.
    void seal(std::uint64_t position,
              std::uint64_t word,
              base::ByteView plain,
              std::span<std::byte> out);
    // Opens `bytes`, a payload and its tag, in place. False: they are not what was sealed.
    [[nodiscard]] bool open(std::uint64_t position, std::uint64_t word, std::span<std::byte> bytes);

    using Tag = std::array<std::byte, kTagBytes>;
    // A payload whose tag stands elsewhere, in place.
    [[nodiscard]] bool open(std::uint64_t position,
                            std::uint64_t word,
                            std::span<std::byte> payload,
                            Tag tag);

  private:
    void choose_key(std::uint64_t position);
    // Begins a record: nonce and associated data.
    void begin(std::uint64_t position, std::uint64_t word);
    void update(base::ByteView in, std::byte* out);

    struct Free {
        void operator()(evp_cipher_ctx_st* context) const;
    };
    std::unique_ptr<evp_cipher_ctx_st, Free> context_;
    base::Hash256 secret_;
    std::uint64_t epoch_ = ~std::uint64_t{0};  // Of the key in context_.
    Use use_;
};

}  // namespace transport::ring
