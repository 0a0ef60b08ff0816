#pragma once

#include "wallet/file.hpp"

#include <optional>

// OpenSSL's ciphers for wallet files. Pure but for their cost.
namespace wallet::cipher {

inline constexpr std::size_t kTagBytes = 16;

// scrypt (RFC 7914), 32 bytes. The cost is within the limits that parse_wallet checks.
[[nodiscard]] SecretBytes scrypt(std::string_view password, const Salt& salt, ScryptCost cost);

// AES-256-GCM; the tag stands at the end. `key` has 32 bytes.
[[nodiscard]] base::Bytes seal(const SecretBytes& key,
                               const std::array<std::byte, 12>& nonce,
                               base::ByteView authenticated,
                               const SecretBytes& plain);
// Empty when the tag does not fit.
[[nodiscard]] std::optional<SecretBytes> open(const SecretBytes& key,
                                              const std::array<std::byte, 12>& nonce,
                                              base::ByteView authenticated,
                                              base::ByteView sealed);

// AES-256-CBC with PKCS#7 padding, as keosd uses it. Empty when the padding is wrong.
[[nodiscard]] std::optional<SecretBytes> open_cbc(const SecretBytes& key,
                                                  const std::array<std::byte, 16>& iv,
                                                  base::ByteView sealed);

}  // namespace wallet::cipher
