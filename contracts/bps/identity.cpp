// Certificates, tokens that hold no more, keys to seal to, quotas.
#include "bps.hpp"

#include <algorithm>

namespace bps {

namespace {

constexpr std::string_view kCertDomain = "BoR cert 1";

uint64_t key_of(const std::string& jti) {
    const Checksum256 digest = sha256(jti);
    uint64_t key = 0;
    std::memcpy(&key, digest.bytes.data(), sizeof(key));
    return key;
}

bool is_printable(const std::string& text) {
    return std::all_of(
        text.begin(), text.end(), [](char letter) { return letter > ' ' && letter <= '~'; });
}

}  // namespace

// Whoever shows a certificate with this P-256 key is this principal. The key signs that it wants
// to be: SHA-256("BoR cert 1" || contract || account || permission || key), so that nobody claims
// the key of somebody else.
void Bps::setcert(const PermissionLevel& principal,
                  const PublicKey& key,
                  const Signature& signature) {
    require_auth(principal);
    require(key.type == KeyType::r1 && signature.type == KeyType::r1,
            "the key of a certificate, and its signature, are of P-256 (R1)");
    Bytes signed_bytes(kCertDomain.begin(), kCertDomain.end());
    const Bytes packed = pack(std::make_tuple(self(), principal, key));
    signed_bytes.insert(signed_bytes.end(), packed.begin(), packed.end());
    const Checksum256 digest = sha256({signed_bytes.data(), signed_bytes.size()});
    require(recover_key(digest, signature) == key,
            "the signature is not by the certificate's key over {}, contract, account, permission, "
            "key: sign these",
            kCertDomain);
    const auto* point = reinterpret_cast<const char*>(key.point.data());
    const Checksum256 hash = sha256({point, key.point.size()});
    Certs certs(self(), self().value);
    const auto by_hash = certs.index<"byhash"_n>();
    const auto same = by_hash.find(hash);
    if (same != by_hash.end()) {
        refuse("this certificate is that of {}@{} already: push delcert first",
               same->account,
               same->permission);
    }
    certs.emplace(principal.actor, [&](Cert& row) {
        row.id = next_row();
        row.hash = hash;
        row.account = principal.actor;
        row.permission = principal.permission;
    });
    count(principal.actor, {.rows = 1}, principal.actor);
}

void Bps::delcert(Name account, const Checksum256& hash) {
    require_auth(account);
    Certs certs(self(), self().value);
    auto by_hash = certs.index<"byhash"_n>();
    const auto row = by_hash.find(hash);
    require(row != by_hash.end() && row->account == account, "{} has no such certificate", account);
    by_hash.erase(row);
    count(account, {.rows = -1}, account);
}

// The token with this jti holds no more; or, if `before` is not 0, none that was issued before it.
void Bps::revoketoken(Name account, const std::string& jti, TimePointSec before) {
    require_auth(account);
    require(jti.empty() != (before.seconds == 0),
            "either the jti of a token is revoked, or all tokens before a time: give one of them");
    const uint32_t now = now_seconds();
    if (before.seconds != 0) return revoke_before(account, before);
    require(jti.size() <= kJtiBytesMax && is_printable(jti),
            "a jti has 1 to {} printable ASCII letters, unlike '{}'",
            kJtiBytesMax,
            shown(jti));
    Revocations revocations(self(), account.value);
    const auto at = revocations.find(key_of(jti));
    require(!revocations.found(at), "the token '{}' is revoked already", jti);
    revocations.emplace(account, [&](Revocation& row) {
        row.key = key_of(jti);
        row.jti = jti;
        row.until = TimePointSec(now + kRevokedSeconds);
    });
    count(account, {.rows = 1}, account);
}

void Bps::revoke_before(Name account, TimePointSec before) {
    require(
        before.seconds <= now_seconds(),
        "tokens before {} s are to be revoked, and it is {} s: choose this time or an earlier one",
        before.seconds,
        now_seconds());
    NotBefores table(self(), self().value);
    const auto at = table.find(account.value);
    if (table.found(at)) {
        require(before > at->time,
                "tokens before {} s are revoked already: choose a later time than {} s",
                at->time.seconds,
                before.seconds);
        return table.modify(at, kSamePayer, [&](NotBefore& row) { row.time = before; });
    }
    table.emplace(account, [&](NotBefore& row) {
        row.account = account;
        row.time = before;
    });
    count(account, {.rows = 1}, account);
}

// Gives back the RAM of revocations of tokens that are expired by now, some at a time. The account
// alone knows whether it signed one for a later day, which would hold again.
void Bps::cleartokens(Name account) {
    require_auth(account);
    const uint32_t now = now_seconds();
    int32_t cleared = 0;
    Revocations revocations(self(), account.value);
    auto by_until = revocations.index<"byuntil"_n>();
    while (cleared < static_cast<int32_t>(kListMax)) {
        const auto first = by_until.begin();
        if (first == by_until.end() || now <= first->until.seconds) break;
        by_until.erase(first);
        ++cleared;
    }
    NotBefores table(self(), self().value);
    const auto at = table.find(account.value);
    if (table.found(at) && uint64_t{now} > uint64_t{at->time.seconds} + kRevokedSeconds) {
        table.erase(at);
        ++cleared;
    }
    require(cleared > 0, "no revocation of {} is over: wait until its tokens expire", account);
    count(account, {.rows = -cleared}, account);
}

// The key to which topic keys are sealed for this account.
void Bps::setsealkey(Name account, const Checksum256& key) {
    require_auth(account);
    require(key != Checksum256{}, "a key of zeros opens nothing: give an X25519 key");
    SealKeys keys(self(), self().value);
    const auto at = keys.find(account.value);
    const uint32_t version = host::get_block_num();
    const auto set = [&](SealKey& row) { row = SealKey{account, key, version}; };
    if (keys.found(at)) {
        require(at->version != version,
                "the key of {} was set in this block: set the next one in a later block",
                account);
        return keys.modify(at, kSamePayer, set);
    }
    keys.emplace(account, set);
    count(account, {.rows = 1}, account);
}

void Bps::delsealkey(Name account) {
    require_auth(account);
    SealKeys keys(self(), self().value);
    const auto at = keys.find(account.value);
    require(keys.found(at), "{} has no key to seal to", account);
    keys.erase(at);
    count(account, {.rows = -1}, account);
}

// What a tenant may use; of the empty name: every tenant without a quota of its own.
void Bps::setquota(const Quota& quota) {
    require_auth(self());
    require(quota.account == Name() || is_account(quota.account),
            "there is no account {}: create it first",
            quota.account);
    for (const int64_t limit : {quota.bytes_in,
                                quota.bytes_out,
                                quota.connections,
                                quota.partitions,
                                quota.groups,
                                quota.stored_bytes}) {
        require(limit >= -1, "a quota is -1 (none) or more, not {}", limit);
    }
    Quotas quotas(self(), self().value);
    const auto at = quotas.find(quota.account.value);
    const auto set = [&](Quota& row) { row = quota; };
    if (quotas.found(at)) return quotas.modify(at, kSamePayer, set);
    quotas.emplace(self(), set);
}

void Bps::delquota(Name account) {
    require_auth(self());
    Quotas quotas(self(), self().value);
    const auto at = quotas.find(account.value);
    require(quotas.found(at), "'{}' has no quota of its own", account);
    quotas.erase(at);
}

}  // namespace bps
