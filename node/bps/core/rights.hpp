#pragma once

#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/access.hpp"
#include "node/bps/core/rows.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bps {

// What a token says of itself, once its signatures were checked. Times are seconds since 1970.
struct TokenClaims {
    chain::Name account;
    std::string jti;
    std::uint32_t issued_at = 0;
    std::uint32_t not_before = 0;
    std::uint32_t expires_at = 0;
};

// Who may do what (spec 08, "Who is who"), from the rows of the contract as the last final block
// left them, and from nothing else: the same rows, times and questions have the same answers.
//
// Thread: that of the broker.
//
// Invariants, checked by check_invariants():
// R1. Every index names a row that is there, under what the row says.
class Rights final : public Access {
  public:
    struct Settings {
        chain::Name contract;                // Owns the names that begin with "__".
        std::int32_t broker = 0;             // This one,
        chain::Name broker_account;          // and its account, which acts for owners.
        std::optional<Principal> anonymous;  // bps-anonymous: who comes on loopback without login.
    };
    static constexpr std::int64_t kMaxStaleMs = 60'000;  // Where a topic does not say otherwise.
    static constexpr std::uint32_t kTokenSecondsMax = 24 * 3'600;

    explicit Rights(Settings settings) : settings_(std::move(settings)) {}

    // A row as the last final block left it; nothing: it is erased. Rows of tables that decide
    // nothing here are passed over. malformed: it is not what the contract writes.
    base::Result<void> apply(const RowId& id, std::optional<base::ByteView> value);
    // All of a final block is applied. `time` is the block's, in milliseconds since 1970.
    void on_final(std::uint32_t height, std::int64_t time);
    // Milliseconds by which the times that are given are ahead of the local clock, which was set
    // back: they never fall, and what is compared with a block's time or a token's must not wait
    // for the clock to come up.
    void set_ahead(std::int64_t ahead) { ahead_ = ahead; }
    // What the local clock shows at such a time.
    [[nodiscard]] std::int64_t local(std::int64_t now) const { return now - ahead_; }
    // Of the last final block.
    [[nodiscard]] std::int64_t age(std::int64_t now) const { return local(now) - time_; }

    [[nodiscard]] Verdict<TopicAccess> topic(const Principal& caller,
                                             std::string_view name,
                                             Right right,
                                             std::int64_t now) const override;
    [[nodiscard]] Verdict<chain::Name> group(const Principal& caller,
                                             std::string_view name,
                                             std::optional<chain::Name> owner,
                                             Right right,
                                             std::int64_t now) const override;
    [[nodiscard]] std::optional<std::string> topic_name(TopicId id) const override;
    [[nodiscard]] std::optional<std::uint32_t> id_space(chain::Name account) const override;
    // The row of a topic; null: there is none. Who may see it is not asked.
    [[nodiscard]] const rows::Topic* find_topic(TopicId id) const;
    [[nodiscard]] const rows::Topic* find_topic(std::string_view name) const;
    // Ids of all topics by name.
    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& topic_names() const {
        return topics_by_name_;
    }
    // Whose a new topic of this name is. topic_authorization_failed: the caller may not make it.
    [[nodiscard]] Verdict<chain::Name> new_topic_owner(const Principal& caller,
                                                       std::string_view name) const;
    // Whether this broker may push the action in the owner's name. policy_violation: it may not;
    // the reason has the command that lets it.
    [[nodiscard]] Verdict<void> delegated(chain::Name owner,
                                          chain::Name action,
                                          std::string_view topic) const;

    // Whose grant for this name, or for names that begin so, the caller may make or take back: that
    // of a topic which it administers, else of whom such a name belongs to.
    // cluster_authorization_failed: it may not; a token with a scope may not at all.
    [[nodiscard]] Verdict<chain::Name> grant_owner(const Principal& caller,
                                                   const rows::Grant& grant) const;
    // Whether the caller may change this grant of the owner.
    [[nodiscard]] bool may_change(const Principal& caller,
                                  chain::Name owner,
                                  const rows::Grant& grant) const;
    // By who grants and the grant's id.
    [[nodiscard]] const std::map<std::pair<chain::Name, std::uint64_t>, rows::Grant>& grants()
        const {
        return grants_;
    }
    // Whether the height of the last final block is among those at which the grant holds.
    [[nodiscard]] bool is_in_force(const rows::Grant& grant) const;

    [[nodiscard]] const Settings& settings() const { return settings_; }

    // Whether a token holds: at login, and at every request of its session.
    // sasl_authentication_failed: the session ends.
    [[nodiscard]] Verdict<void> token(const TokenClaims& claims, std::int64_t now) const;
    // Who has this client certificate: by SHA-256 of its key.
    [[nodiscard]] std::optional<Principal> certificate(const base::Hash256& hash) const;
    // Who comes without login. sasl_authentication_failed: nobody may, there.
    [[nodiscard]] Verdict<Principal> anonymous(bool from_loopback) const;

    void check_invariants() const;

  private:
    using Scoped = std::pair<chain::Name, std::uint64_t>;  // Scope and key.
    struct Asked {
        rows::Resource resource;
        std::string_view name;
        Right right;
    };

    [[nodiscard]] bool holds(const rows::Grant& grant,
                             const Principal& caller,
                             const Asked& asked) const;
    [[nodiscard]] static bool is_in_scope(const TokenScope& scope, const Asked& asked);
    [[nodiscard]] bool may(const Principal& caller, chain::Name owner, const Asked& asked) const;
    [[nodiscard]] bool is_stale(std::int64_t stale_max, std::int64_t now) const;
    // The owner of the longest reserved prefix of a name.
    [[nodiscard]] std::optional<chain::Name> reserved_by(std::string_view name) const;
    [[nodiscard]] chain::Name natural_owner(const Principal& caller, std::string_view name) const;

    base::Result<void> set(const RowId& id, const rows::Topic& row);
    base::Result<void> set(const RowId& id, const rows::Grant& row);
    base::Result<void> set(const RowId& id, const rows::Prefix& row);
    base::Result<void> set(const RowId& id, const rows::Delegation& row);
    base::Result<void> set(const RowId& id, const rows::Cert& row);
    base::Result<void> set(const RowId& id, const rows::Revocation& row);
    base::Result<void> set(const RowId& id, const rows::NotBefore& row);
    base::Result<void> set(const RowId& id, const rows::IdSpace& row);
    template <class Row>
    base::Result<void> read_and_set(const RowId& id, base::ByteView value);
    void erase(const RowId& id);

    Settings settings_;
    std::uint32_t height_ = 0;
    std::int64_t time_ = 0;
    std::int64_t ahead_ = 0;
    std::map<std::uint64_t, rows::Topic> topics_;
    std::map<std::string, std::uint64_t, std::less<>> topics_by_name_;
    std::map<Scoped, rows::Grant> grants_;
    // Keys of grants by who grants and to whom.
    std::map<std::pair<chain::Name, chain::Name>, std::map<std::uint64_t, const rows::Grant*>>
        grants_by_parties_;
    std::map<std::uint64_t, rows::Prefix> prefixes_;
    std::map<std::string, std::uint64_t, std::less<>> prefixes_by_text_;
    std::map<Scoped, rows::Delegation> delegations_;
    std::map<std::uint64_t, rows::Cert> certs_;
    std::map<base::Hash256, std::uint64_t> certs_by_hash_;
    std::map<Scoped, rows::Revocation> revocations_;
    std::map<std::uint64_t, rows::NotBefore> not_before_;
    std::map<std::uint64_t, rows::IdSpace> id_spaces_;
};

}  // namespace bps
