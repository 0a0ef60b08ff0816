#include "wallet/keyring.hpp"

#include "base/crypto/wipe.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <utility>

namespace wallet {

using base::Result;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;
using base::crypto::Signature;
using chain::Exception;

namespace {

std::string upper_case(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    }
    return out;
}

Result<void> check_name(std::string_view name) {
    if (valid_name(name)) return {};
    return chain::fail(Exception::wallet_exception,
                       fmt::format("Invalid filename, path not allowed in wallet name {}", name));
}

}  // namespace

Keyring::Keyring(const Directory& directory, ScryptCost cost, base::Duration timeout)
    : directory_(directory), cost_(cost), timeout_(timeout) {}

Result<SecretText> Keyring::create(std::string_view name, base::Timestamp now) {
    use(now);
    if (const auto valid = check_name(name); !valid) return base::fail(valid.error());
    if (directory_.exists(name)) {
        return chain::fail(
            Exception::wallet_exist_exception,
            fmt::format(
                "Wallet with name: '{}' already exists at {}", name, directory_.file_of(name)));
    }
    if (wallets_.size() >= kWalletsMax && wallets_.count(name) == 0) {
        return chain::fail(Exception::wallet_exception,
                           fmt::format("{} wallets are open, the most there can be; restart "
                                       "bor-wallet to close them",
                                       kWalletsMax));
    }
    SecretText text(PrivateKey::generate(KeyType::k1).to_string());
    SecretText password("PW" + std::string(text.view()));
    Wallet wallet;
    wallet.key = derive_new(password.view(), cost_);
    if (const auto saved = save(name, wallet); !saved) return base::fail(saved.error());
    wallets_.insert_or_assign(std::string(name), std::move(wallet));
    return password;
}

Result<void> Keyring::open(std::string_view name, base::Timestamp now) {
    use(now);
    return load(name);
}

Result<void> Keyring::load(std::string_view name) {
    if (auto valid = check_name(name); !valid) return valid;
    const auto text = directory_.read(name);
    if (!text) return base::fail(text.error());
    auto sealed = parse_wallet(*text);
    if (!sealed) {
        base::Error error = sealed.error();
        error.detail = fmt::format("{}: {}", directory_.file_of(name), error.detail);
        return base::fail(std::move(error));
    }
    if (wallets_.size() >= kWalletsMax && wallets_.count(name) == 0) {
        return chain::fail(Exception::wallet_exception,
                           fmt::format("{} wallets are open, the most there can be; restart "
                                       "bor-wallet to close them",
                                       kWalletsMax));
    }
    Wallet wallet;
    wallet.sealed = std::move(*sealed);
    wallets_.insert_or_assign(std::string(name), std::move(wallet));
    return {};
}

Result<void> Keyring::unlock(std::string_view name,
                             std::string_view password,
                             base::Timestamp now) {
    use(now);
    if (wallets_.count(name) == 0) {
        if (auto opened = load(name); !opened) return opened;
    }
    const auto found = find(name);
    if (!found) return base::fail(found.error());
    Wallet& wallet = **found;
    if (wallet.key) {
        return chain::fail(Exception::wallet_unlocked_exception,
                           fmt::format("Wallet is already unlocked: {}", name));
    }
    if (wallet.sealed.is_keosd) return unlock_keosd(name, wallet, password);
    DerivedKey key = derive(password, wallet.sealed);
    auto keys = unseal(wallet.sealed, key);
    if (!keys) {
        const bool is_wrong =
            chain::exception_of(keys.error()) == Exception::wallet_invalid_password_exception;
        return base::fail(is_wrong ? invalid_password(name) : keys.error());
    }
    wallet.keys = std::move(*keys);
    wallet.key = std::move(key);
    return {};
}

// A file of keosd becomes one of ours as soon as its password is known: keosd's form has no
// protection against guessing. The old file stays beside.
Result<void> Keyring::unlock_keosd(std::string_view name,
                                   Wallet& wallet,
                                   std::string_view password) {
    auto keys = unseal_keosd(wallet.sealed, password);
    if (!keys) {
        const bool is_wrong =
            chain::exception_of(keys.error()) == Exception::wallet_invalid_password_exception;
        return base::fail(is_wrong ? invalid_password(name) : keys.error());
    }
    if (auto kept = directory_.keep_copy(name, "keosd"); !kept) return kept;
    Wallet converted;
    converted.keys = std::move(*keys);
    converted.key = derive_new(password, cost_);
    if (auto saved = save(name, converted); !saved) return saved;
    wallet = std::move(converted);
    return {};
}

Result<void> Keyring::lock(std::string_view name, base::Timestamp now) {
    use(now);
    const auto wallet = find(name);
    if (!wallet) return base::fail(wallet.error());
    lock(**wallet);
    return {};
}

void Keyring::lock(Wallet& wallet) {
    wallet.key.reset();
    wallet.keys.clear();
}

void Keyring::lock_all() {
    for (auto& [name, wallet] : wallets_)
        lock(wallet);
}

Result<void> Keyring::add(std::string_view name, Wallet& wallet, const PrivateKey& key) {
    if (wallet.keys.size() >= kKeysMax) {
        return chain::fail(Exception::wallet_exception,
                           fmt::format("Wallet {} has {} keys, the most there can be; create "
                                       "another wallet",
                                       name,
                                       kKeysMax));
    }
    const auto [at, added] = wallet.keys.emplace(key.public_key(), key);
    if (!added) {
        return chain::fail(Exception::key_exist_exception, "Key already in wallet");
    }
    auto saved = save(name, wallet);
    if (!saved) wallet.keys.erase(at);
    return saved;
}

Result<void> Keyring::import_key(std::string_view name,
                                 std::string_view private_key,
                                 base::Timestamp now) {
    use(now);
    const auto wallet = find_unlocked(name);
    if (!wallet) return base::fail(wallet.error());
    const auto key = PrivateKey::from_string(private_key);
    if (!key) return base::fail(key.error());
    return add(name, **wallet, *key);
}

Result<void> Keyring::remove_key(std::string_view name,
                                 std::string_view password,
                                 std::string_view public_key,
                                 base::Timestamp now) {
    use(now);
    const auto found = find_unlocked(name);
    if (!found) return base::fail(found.error());
    Wallet& wallet = **found;
    if (auto checked = check_password(name, wallet, password); !checked) return checked;
    const auto id = PublicKey::from_string(public_key);
    if (!id) return base::fail(id.error());
    const auto at = wallet.keys.find(*id);
    if (at == wallet.keys.end()) {
        return chain::fail(Exception::key_nonexistent_exception, "Key not in wallet");
    }
    auto removed = wallet.keys.extract(at);
    auto saved = save(name, wallet);
    if (!saved) wallet.keys.insert(std::move(removed));
    return saved;
}

Result<PublicKey> Keyring::create_key(std::string_view name,
                                      std::string_view type,
                                      base::Timestamp now) {
    use(now);
    const auto wallet = find_unlocked(name);
    if (!wallet) return base::fail(wallet.error());
    const std::string wanted = upper_case(type);
    if (!wanted.empty() && wanted != "K1" && wanted != "R1") {
        return chain::fail(Exception::unsupported_key_type_exception,
                           fmt::format("Key type \"{}\" not supported by software wallet", wanted));
    }
    const PrivateKey key = PrivateKey::generate(wanted == "R1" ? KeyType::r1 : KeyType::k1);
    if (const auto added = add(name, **wallet, key); !added) return base::fail(added.error());
    return key.public_key();
}

std::vector<std::string> Keyring::list_wallets(base::Timestamp now) {
    use(now);
    std::vector<std::string> names;
    names.reserve(wallets_.size());
    for (const auto& [name, wallet] : wallets_)
        names.push_back(wallet.key ? name + " *" : name);
    return names;
}

Result<const Keys*> Keyring::list_keys(std::string_view name,
                                       std::string_view password,
                                       base::Timestamp now) {
    use(now);
    const auto wallet = find_unlocked(name);
    if (!wallet) return base::fail(wallet.error());
    if (const auto checked = check_password(name, **wallet, password); !checked) {
        return base::fail(checked.error());
    }
    return &(*wallet)->keys;
}

Result<std::set<PublicKey>> Keyring::public_keys(base::Timestamp now) {
    use(now);
    if (wallets_.empty()) {
        return chain::fail(Exception::wallet_not_available_exception, "You don't have any wallet!");
    }
    std::set<PublicKey> all;
    bool any_unlocked = false;
    for (const auto& [name, wallet] : wallets_) {
        any_unlocked = any_unlocked || wallet.key;
        for (const auto& [id, key] : wallet.keys)
            all.insert(id);
    }
    if (!any_unlocked) {
        return chain::fail(Exception::wallet_locked_exception,
                           "You don't have any unlocked wallet!");
    }
    return all;
}

Result<Signature> Keyring::sign(const base::Hash256& digest,
                                const PublicKey& key,
                                base::Timestamp now) {
    use(now);
    for (const auto& [name, wallet] : wallets_) {
        const auto found = wallet.keys.find(key);
        if (found != wallet.keys.end()) return found->second.sign(digest);
    }
    return chain::fail(Exception::wallet_missing_pub_key_exception,
                       fmt::format("Public key not found in unlocked wallets {}", key.to_string()));
}

Result<void> Keyring::set_timeout(std::int64_t seconds, base::Timestamp now) {
    expire(now);
    const auto since_start = now.time_since_epoch();
    const auto seconds_max =
        std::chrono::duration_cast<std::chrono::seconds>(base::Duration::max() - since_start);
    if (seconds < 0 || seconds > seconds_max.count()) {
        return chain::fail(Exception::invalid_lock_timeout_exception,
                           fmt::format("Overflow on timeout_time, specified {}, now {}, "
                                       "timeout_time at most {}",
                                       seconds,
                                       since_start.count(),
                                       base::Duration::max().count()));
    }
    timeout_ = std::chrono::seconds(seconds);
    deadline_ = now + timeout_;
    return {};
}

bool Keyring::expire(base::Timestamp now) {
    if (now < deadline_) return false;
    lock_all();
    deadline_ = base::Timestamp::max();
    return true;
}

void Keyring::use(base::Timestamp now) {
    expire(now);
    const bool overflows = base::Timestamp::max() - now < timeout_;
    deadline_ = overflows ? base::Timestamp::max() : now + timeout_;
}

Result<Keyring::Wallet*> Keyring::find(std::string_view name) {
    const auto found = wallets_.find(name);
    if (found == wallets_.end()) {
        return chain::fail(Exception::wallet_nonexistent_exception,
                           fmt::format("Wallet not found: {}", name));
    }
    return &found->second;
}

Result<Keyring::Wallet*> Keyring::find_unlocked(std::string_view name) {
    auto wallet = find(name);
    if (wallet && !(*wallet)->key) {
        return chain::fail(Exception::wallet_locked_exception,
                           fmt::format("Wallet is locked: {}", name));
    }
    return wallet;
}

Result<void> Keyring::save(std::string_view name, Wallet& wallet) {
    SealedWallet sealed = seal(wallet.keys, *wallet.key);
    if (auto written = directory_.write(name, to_text(sealed)); !written) return written;
    wallet.sealed = std::move(sealed);
    return {};
}

Result<void> Keyring::check_password(std::string_view name,
                                     const Wallet& wallet,
                                     std::string_view password) const {
    const DerivedKey key = derive(password, wallet.sealed);
    if (base::crypto::equal_in_constant_time(key.key, wallet.key->key)) return {};
    return base::fail(invalid_password(name));
}

base::Error Keyring::invalid_password(std::string_view name) const {
    return chain::make_error(
        Exception::wallet_invalid_password_exception,
        fmt::format("Invalid password for wallet: \"{}\"", directory_.file_of(name)));
}

}  // namespace wallet
