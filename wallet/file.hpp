#pragma once

#include "wallet/secret.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace wallet {

inline constexpr std::size_t kKeysMax = 4'096;  // Of one wallet.

// What deriving a key from a password costs: 128 * n * r bytes, n * r * p mixings.
struct ScryptCost {
    std::uint32_t n = 1U << 15U;  // A power of two.
    std::uint32_t r = 8;
    std::uint32_t p = 1;

    friend bool operator==(const ScryptCost&, const ScryptCost&) = default;
};

using Salt = std::array<std::byte, 32>;

// A key derived from a password, and how.
struct DerivedKey {
    ScryptCost cost;
    Salt salt{};
    SecretBytes key;  // 32 bytes.
};

// A wallet as it lies on disk. Our own form is JSON:
//   {"format": "bor-wallet", "version": 1,
//    "scrypt": {"n", "r", "p", "salt"}, "nonce", "data"}
// with salt, nonce and data in hexadecimal. `data` is AES-256-GCM, its tag at the end, over the
// keys (a number of keys, then for each its type and its 32 bytes); everything before "data" is
// authenticated with it. keosd's form is {"cipher_keys"} (reference "keosd wallet file"): it is
// read, and replaced by ours at the first unlocking.
struct SealedWallet {
    bool is_keosd = false;
    ScryptCost cost;  // Ours only, like salt and nonce.
    Salt salt{};
    std::array<std::byte, 12> nonce{};
    base::Bytes data;
};

// A new salt, and the key for it. About 0.1 s at the default cost.
[[nodiscard]] DerivedKey derive_new(std::string_view password, ScryptCost cost);
// The key of a wallet in our form.
[[nodiscard]] DerivedKey derive(std::string_view password, const SealedWallet& wallet);

// Encrypts under a fresh nonce.
[[nodiscard]] SealedWallet seal(const Keys& keys, const DerivedKey& key);
// Decrypts our form. invalid (wallet_invalid_password_exception): another password, or the file
// was changed; the two cannot be told apart. malformed (wallet_exception): authentic but no
// list of keys.
[[nodiscard]] base::Result<Keys> unseal(const SealedWallet& wallet, const DerivedKey& key);
// Decrypts keosd's form; the same errors.
[[nodiscard]] base::Result<Keys> unseal_keosd(const SealedWallet& wallet,
                                              std::string_view password);

[[nodiscard]] std::string to_text(const SealedWallet& wallet);
// malformed (wallet_exception): neither form, or scrypt parameters beyond 256 MiB.
[[nodiscard]] base::Result<SealedWallet> parse_wallet(std::string_view text);

}  // namespace wallet
