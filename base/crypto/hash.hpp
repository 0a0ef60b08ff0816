#pragma once

#include "base/bytes.hpp"

namespace base::crypto {

// One-shot digests (OpenSSL). Pure; any thread.
[[nodiscard]] Hash256 sha256(ByteView data);
[[nodiscard]] Hash512 sha512(ByteView data);
[[nodiscard]] Hash160 sha1(ByteView data);
[[nodiscard]] Hash160 ripemd160(ByteView data);
[[nodiscard]] Hash256 sha3_256(ByteView data);
[[nodiscard]] Hash256 keccak256(ByteView data);

// SHA-256 over parts that need not lie together. Reusable after finish().
class Sha256 {
  public:
    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    Sha256& update(ByteView data);
    [[nodiscard]] Hash256 finish();

  private:
    alignas(8) std::array<std::byte, 128> state_;  // SHA256_CTX; the .cpp asserts its size.
};

}  // namespace base::crypto
