#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "base/time.hpp"
#include "wallet/directory.hpp"
#include "wallet/file.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace wallet {

inline constexpr std::size_t kWalletsMax = 256;  // Open at a time.

// The wallets of a directory, with the meaning and the error texts that keosd gives each call.
// Every call counts as a use, from which the time to the automatic locking is measured.
//
// Invariants: 1. Private keys are in memory only while their wallet is unlocked. 2. What a call
// reports as done is durable. 3. After a failed call the keys are what they were.
//
// Thread: one at a time. Unlocking and checking a password take about 0.1 s.
// Errors: Antelope's wallet exceptions.
class Keyring : base::Pinned {
  public:
    // The directory outlives it. `timeout` is positive.
    Keyring(const Directory& directory, ScryptCost cost, base::Duration timeout);

    // A new wallet, unlocked; gives its password, which is nowhere else.
    [[nodiscard]] base::Result<SecretText> create(std::string_view name, base::Timestamp now);
    // Reads the wallet's file, locked, also when it was open or unlocked.
    base::Result<void> open(std::string_view name, base::Timestamp now);
    // Opens it if necessary.
    base::Result<void> unlock(std::string_view name,
                              std::string_view password,
                              base::Timestamp now);
    // No error when it is locked already.
    base::Result<void> lock(std::string_view name, base::Timestamp now);
    void lock_all();

    base::Result<void> import_key(std::string_view name,
                                  std::string_view private_key,
                                  base::Timestamp now);
    base::Result<void> remove_key(std::string_view name,
                                  std::string_view password,
                                  std::string_view public_key,
                                  base::Timestamp now);
    // `type`: "K1", "R1" in any case; empty: K1.
    [[nodiscard]] base::Result<base::crypto::PublicKey> create_key(std::string_view name,
                                                                   std::string_view type,
                                                                   base::Timestamp now);

    // Names in order; those of unlocked wallets end with " *".
    [[nodiscard]] std::vector<std::string> list_wallets(base::Timestamp now);
    // The keys of an unlocked wallet whose password the caller knows; valid until the next call.
    [[nodiscard]] base::Result<const Keys*> list_keys(std::string_view name,
                                                      std::string_view password,
                                                      base::Timestamp now);
    // Of all unlocked wallets.
    [[nodiscard]] base::Result<std::set<base::crypto::PublicKey>> public_keys(base::Timestamp now);

    // With the key of any unlocked wallet.
    [[nodiscard]] base::Result<base::crypto::Signature> sign(const base::Hash256& digest,
                                                             const base::crypto::PublicKey& key,
                                                             base::Timestamp now);

    base::Result<void> set_timeout(std::int64_t seconds, base::Timestamp now);
    // When the wallets lock by themselves.
    [[nodiscard]] base::Timestamp deadline() const { return deadline_; }
    // Locks all when the deadline has come; whether it has.
    bool expire(base::Timestamp now);

  private:
    struct Wallet {
        SealedWallet sealed;
        std::optional<DerivedKey> key;  // Present: unlocked.
        Keys keys;
    };

    // Locks what has expired and starts the time anew.
    void use(base::Timestamp now);
    [[nodiscard]] base::Result<Wallet*> find(std::string_view name);
    [[nodiscard]] base::Result<Wallet*> find_unlocked(std::string_view name);
    [[nodiscard]] base::Result<void> load(std::string_view name);
    [[nodiscard]] base::Result<void> save(std::string_view name, Wallet& wallet);
    [[nodiscard]] base::Result<void> add(std::string_view name,
                                         Wallet& wallet,
                                         const base::crypto::PrivateKey& key);
    [[nodiscard]] base::Result<void> unlock_keosd(std::string_view name,
                                                  Wallet& wallet,
                                                  std::string_view password);
    [[nodiscard]] base::Result<void> check_password(std::string_view name,
                                                    const Wallet& wallet,
                                                    std::string_view password) const;
    [[nodiscard]] base::Error invalid_password(std::string_view name) const;
    static void lock(Wallet& wallet);

    const Directory& directory_;
    ScryptCost cost_;
    base::Duration timeout_;
    base::Timestamp deadline_ = base::Timestamp::max();
    std::map<std::string, Wallet, std::less<>> wallets_;
};

}  // namespace wallet
