#pragma once

#include "base/bytes.hpp"

namespace base::crypto {

// Whether long work goes on, for whoever may have to end it early: asked about every 0.2 ms. After
// a no the result is of no use: a digest is zero. As made, it always goes on.
struct GoesOn {
    bool (*ask)(void* whom) = nullptr;
    void* whom = nullptr;
    [[nodiscard]] bool operator()() const { return ask == nullptr || ask(whom); }
};
inline constexpr std::size_t kPieceBytes = std::size_t{32} * 1024;  // Between two questions.

// One-shot digests. Pure; any thread. No allocation and no algorithm look-up per call.
[[nodiscard]] Hash256 sha256(ByteView data, GoesOn goes_on = {});
[[nodiscard]] Hash512 sha512(ByteView data, GoesOn goes_on = {});
[[nodiscard]] Hash160 sha1(ByteView data, GoesOn goes_on = {});
[[nodiscard]] Hash160 ripemd160(ByteView data, GoesOn goes_on = {});
[[nodiscard]] Hash256 sha3_256(ByteView data, GoesOn goes_on = {});  // FIPS 202.
// The padding before FIPS 202, as Ethereum.
[[nodiscard]] Hash256 keccak256(ByteView data, GoesOn goes_on = {});

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

// RFC 2104 over SHA-256. Pure.
[[nodiscard]] Hash256 hmac_sha256(ByteView key, ByteView data);

}  // namespace base::crypto
