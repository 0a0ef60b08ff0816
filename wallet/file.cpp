#include "wallet/file.hpp"

#include "base/codec.hpp"
#include "base/crypto/hash.hpp"
#include "base/crypto/wipe.hpp"
#include "chain/abi/json.hpp"
#include "chain/types/exception.hpp"
#include "wallet/cipher.hpp"
#include "wallet/directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace wallet {

namespace {

using base::crypto::KeyType;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;
using chain::Exception;
using chain::abi::Json;

constexpr std::string_view kFormat = "bor-wallet";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kPackedKeyBytes = 1 + 32;

tl::unexpected<base::Error> no_wallet(std::string_view why) {
    return chain::fail(Exception::wallet_exception, fmt::format("no wallet file: {}", why));
}

tl::unexpected<base::Error> wrong_password() {
    return chain::fail(Exception::wallet_invalid_password_exception,
                       "wrong password, or the file was changed");
}

// What the tag covers besides the data.
std::string header_of(const SealedWallet& wallet) {
    return fmt::format("{} {} {} {} {} {} {}",
                       kFormat,
                       kVersion,
                       wallet.cost.n,
                       wallet.cost.r,
                       wallet.cost.p,
                       base::to_hex(wallet.salt),
                       base::to_hex(wallet.nonce));
}

bool is_affordable(std::uint64_t n, std::uint64_t r, std::uint64_t p) {
    const bool in_range = n >= 2 && n <= (1U << 20U) && r >= 1 && r <= 32 && p >= 1 && p <= 16;
    constexpr std::uint64_t kMemoryMax = std::uint64_t{256} << 20;
    return in_range && std::has_single_bit(n) && 128 * n * r <= kMemoryMax &&
           128 * n * r * p <= 4 * kMemoryMax;
}

SecretBytes pack(const Keys& keys) {
    base::Writer count;
    count.varuint32(static_cast<std::uint32_t>(keys.size()));
    SecretBytes plain;
    plain.reserve(count.view().size() + keys.size() * kPackedKeyBytes);
    plain.insert(plain.end(), count.view().begin(), count.view().end());
    for (const auto& [id, key] : keys) {
        plain.push_back(static_cast<std::byte>(key.type()));
        plain.insert(plain.end(), key.secret().begin(), key.secret().end());
    }
    return plain;
}

// Reads a private key; `claimed` is the public key that the file gives with it, or null.
base::Result<void> read_key(base::Reader& in, Keys& keys, const PublicKey* claimed) {
    const std::uint8_t type = in.u8("type of private key");
    const base::ByteView secret = in.raw(32, "private key");
    if (const auto status = in.status(); !status) return no_wallet(status.error().detail);
    const auto key = PrivateKey::from_secret(static_cast<KeyType>(type), secret);
    if (!key) return no_wallet(key.error().detail);
    const PublicKey id = key->public_key();
    if (claimed != nullptr && *claimed != id) return no_wallet("a key that fits no private key");
    if (!keys.emplace(id, *key).second) return no_wallet("a key twice");
    return {};
}

base::Result<Keys> unpack(base::Reader& in, bool with_public_keys) {
    const std::size_t item_bytes = with_public_keys ? 34 + kPackedKeyBytes : kPackedKeyBytes;
    const std::size_t count = in.count("keys", kKeysMax, item_bytes);
    Keys keys;
    for (std::size_t i = 0; i < count; ++i) {
        PublicKey claimed;
        if (with_public_keys) decode(in, claimed, "public key");
        const auto read = read_key(in, keys, with_public_keys ? &claimed : nullptr);
        if (!read) return base::fail(read.error());
    }
    if (const auto end = in.finish(); !end) return no_wallet(end.error().detail);
    return keys;
}

// A member that is hexadecimal text.
bool read_data(const Json& json, std::string_view member, base::Bytes& out) {
    const Json* value = chain::abi::find_member(json, member);
    if (value == nullptr || !value->is_string()) return false;
    auto bytes = base::from_hex(value->get_ref<const std::string&>());
    if (!bytes) return false;
    out = std::move(*bytes);
    return true;
}

// A member that is hexadecimal text of exactly `out.size()` bytes.
bool read_hex(const Json& json, std::string_view member, std::span<std::byte> out) {
    base::Bytes bytes;
    if (!read_data(json, member, bytes) || bytes.size() != out.size()) return false;
    std::ranges::copy(bytes, out.begin());
    return true;
}

// A member that is a number of 32 bits; 0, which is never valid, for anything else.
std::uint32_t read_number(const Json& json, std::string_view member) {
    const Json* value = chain::abi::find_member(json, member);
    if (value == nullptr || !value->is_number_unsigned()) return 0;
    const auto number = value->get<std::uint64_t>();
    return number <= 0xFFFFFFFFU ? static_cast<std::uint32_t>(number) : 0;
}

}  // namespace

DerivedKey derive_new(std::string_view password, ScryptCost cost) {
    DerivedKey out;
    out.cost = cost;
    base::crypto::random_bytes(out.salt);
    out.key = cipher::scrypt(password, out.salt, cost);
    return out;
}

DerivedKey derive(std::string_view password, const SealedWallet& wallet) {
    return {wallet.cost, wallet.salt, cipher::scrypt(password, wallet.salt, wallet.cost)};
}

SealedWallet seal(const Keys& keys, const DerivedKey& key) {
    SealedWallet out;
    out.cost = key.cost;
    out.salt = key.salt;
    base::crypto::random_bytes(out.nonce);
    out.data = cipher::seal(key.key, out.nonce, base::as_bytes(header_of(out)), pack(keys));
    return out;
}

base::Result<Keys> unseal(const SealedWallet& wallet, const DerivedKey& key) {
    const std::string header = header_of(wallet);
    const auto plain = cipher::open(key.key, wallet.nonce, base::as_bytes(header), wallet.data);
    if (!plain) return wrong_password();
    base::Reader in(*plain);
    return unpack(in, false);
}

base::Result<Keys> unseal_keosd(const SealedWallet& wallet, std::string_view password) {
    const base::Hash512 hash = base::crypto::sha512(base::as_bytes(password));
    SecretBytes secret(hash.bytes.begin(), hash.bytes.end());
    const SecretBytes key(secret.begin(), secret.begin() + 32);
    std::array<std::byte, 16> iv{};
    std::copy_n(secret.begin() + 32, iv.size(), iv.begin());
    const auto plain = cipher::open_cbc(key, iv, wallet.data);
    if (!plain) return wrong_password();
    base::Reader in(*plain);
    const base::ByteView checksum = in.raw(secret.size(), "checksum");
    if (!base::crypto::equal_in_constant_time(checksum, secret)) return wrong_password();
    return unpack(in, true);
}

std::string to_text(const SealedWallet& wallet) {
    const Json json = {{"format", kFormat},
                       {"version", kVersion},
                       {"scrypt",
                        {{"n", wallet.cost.n},
                         {"r", wallet.cost.r},
                         {"p", wallet.cost.p},
                         {"salt", base::to_hex(wallet.salt)}}},
                       {"nonce", base::to_hex(wallet.nonce)},
                       {"data", base::to_hex(wallet.data)}};
    return chain::abi::dump_json(json, 2) + "\n";
}

base::Result<SealedWallet> parse_wallet(std::string_view text) {
    const auto json = chain::abi::parse_json(
        text, {.bytes = kFileBytesMax, .depth = 4, .members = 16, .values = 64});
    if (!json) return no_wallet(json.error().detail);
    SealedWallet out;
    if (chain::abi::find_member(*json, "cipher_keys") != nullptr) {
        out.is_keosd = true;
        if (!read_data(*json, "cipher_keys", out.data)) return no_wallet("cipher_keys is no hex");
        return out;
    }
    const Json* format = chain::abi::find_member(*json, "format");
    if (format == nullptr || *format != kFormat) return no_wallet("format is not bor-wallet");
    if (read_number(*json, "version") != kVersion) {
        return no_wallet("version is not 1; it was written by a newer bor-wallet");
    }
    const Json* scrypt = chain::abi::find_member(*json, "scrypt");
    if (scrypt == nullptr) return no_wallet("scrypt is missing");
    out.cost = {read_number(*scrypt, "n"), read_number(*scrypt, "r"), read_number(*scrypt, "p")};
    if (!is_affordable(out.cost.n, out.cost.r, out.cost.p)) {
        return no_wallet("scrypt's n, r and p are missing or need more than 256 MiB");
    }
    if (!read_hex(*scrypt, "salt", out.salt)) return no_wallet("salt is no 32 bytes of hex");
    if (!read_hex(*json, "nonce", out.nonce)) return no_wallet("nonce is no 12 bytes of hex");
    if (!read_data(*json, "data", out.data)) return no_wallet("data is no hex");
    return out;
}

}  // namespace wallet
