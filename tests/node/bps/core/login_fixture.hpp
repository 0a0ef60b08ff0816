#pragma once

#include "base/crypto/keys.hpp"
#include "chain/abi/serializer.hpp"
#include "node/bps/core/login.hpp"
#include "node/bps/core/token.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace support {

using namespace chain::literals;  // NOLINT(google-build-using-namespace)

// Permissions as a test sets them: so many of these keys.
class Permissions final : public bps::PermissionCheck {
  public:
    struct Needs {
        std::size_t count = 1;
        std::vector<base::crypto::PublicKey> keys;
    };

    [[nodiscard]] std::uint32_t height() const override { return at_height; }
    [[nodiscard]] bool satisfies(chain::Name account,
                                 chain::Name permission,
                                 const std::vector<base::crypto::PublicKey>& keys) const override {
        ++asked;
        const auto found = needs.find({account.value, permission.value});
        if (found == needs.end()) return false;
        const auto count = std::ranges::count_if(
            keys, [&](const auto& key) { return std::ranges::count(found->second.keys, key) > 0; });
        return static_cast<std::size_t>(count) >= found->second.count;
    }

    std::uint32_t at_height = 100;
    std::map<std::pair<std::uint64_t, std::uint64_t>, Needs> needs;
    mutable int asked = 0;
};

// A chain on which alice@active is one key of two, and what judges tokens there. It is kNow.
struct LoginFixture {
    static constexpr std::uint32_t kNowSeconds = 1'800'000'000;
    static constexpr std::int64_t kNow = std::int64_t{kNowSeconds} * 1'000;

    LoginFixture() {
        rights.on_final(100, kNow);
        permissions.needs[{("alice"_n).value, ("active"_n).value}] = {
            1, {key.public_key(), other_key.public_key()}};
        permissions.needs[{("bob"_n).value, ("active"_n).value}] = {1, {bob_key.public_key()}};
    }

    template <class Row>
    void put(const Row& row, std::uint64_t id, chain::Name scope = "bps"_n) {
        const base::Bytes bytes = chain::pack(row);
        REQUIRE(rights.apply({Row::kTable, scope, id}, base::ByteView(bytes)).has_value());
    }
    template <class Row>
    void erase(std::uint64_t id, chain::Name scope = "bps"_n) {
        REQUIRE(rights.apply({Row::kTable, scope, id}, std::nullopt).has_value());
    }
    // For an hour from now.
    [[nodiscard]] bps::TokenTerms terms() const {
        bps::TokenTerms made;
        made.chain = chain_id;
        made.claims = {.account = "alice"_n,
                       .jti = "a-1",
                       .issued_at = kNowSeconds,
                       .not_before = kNowSeconds,
                       .expires_at = kNowSeconds + 3'600};
        made.permission = "active"_n;
        made.scope.items = {
            {.prefixed = false, .topic = "a.one", .rights = {bps::Right::produce}},
            {.prefixed = true,
             .topic = "a.",
             .rights = {bps::Right::produce, bps::Right::consume, bps::Right::admin}}};
        return made;
    }
    [[nodiscard]] static std::string sign(const bps::TokenTerms& terms,
                                          const std::vector<base::crypto::PrivateKey>& keys) {
        const auto digest = bps::token_digest(terms);
        REQUIRE(digest);
        std::vector<base::crypto::Signature> signatures;
        signatures.reserve(keys.size());
        for (const auto& each : keys)
            signatures.push_back(each.sign(*digest));
        const auto token = bps::make_token(terms, std::move(signatures));
        REQUIRE(token);
        return *token;
    }
    [[nodiscard]] std::string token() const { return sign(terms(), {key}); }
    // Why it is not admitted; empty: it is.
    [[nodiscard]] std::string why_not(std::string_view text, std::int64_t now = kNow) const {
        const auto holder = bps::admit_token(judge, text, now);
        if (holder) return {};
        CHECK(holder.error().code == bps::ErrorCode::sasl_authentication_failed);
        CHECK(!holder.error().reason.empty());
        return holder.error().reason;
    }

    using PrivateKey = base::crypto::PrivateKey;
    using KeyType = base::crypto::KeyType;
    PrivateKey key = PrivateKey::generate(KeyType::k1);
    PrivateKey other_key = PrivateKey::generate(KeyType::r1);
    PrivateKey bob_key = PrivateKey::generate(KeyType::k1);
    base::Hash256 chain_id{.bytes = {std::byte{7}}};
    bps::Rights rights{
        {.contract = "bps"_n,
         .broker = 1,
         .broker_account = "broker1"_n,
         .anonymous = bps::Principal{.account = "guest"_n, .permission = "active"_n}}};
    Permissions permissions;
    bps::TokenJudge judge{.chain = chain_id, .rights = rights, .permissions = permissions};
};

}  // namespace support
