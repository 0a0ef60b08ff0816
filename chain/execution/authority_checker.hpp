#pragma once

#include "chain/execution/rows.hpp"
#include "chain/state/state.hpp"
#include "chain/types/transaction.hpp"
#include "chain/vm/host.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace chain {

using PermissionPtr = std::shared_ptr<const PermissionRow>;

// Decoded permissions, by their rows: an entry is good as long as the state has the very value
// it was decoded from, so nobody needs to invalidate it. Thread: one.
//
// A transaction asks for the same permissions several times. While one runs, what was found
// below its changes is remembered, and holds until it changes a permission itself.
class PermissionCache : base::Pinned {
  public:
    // Null: no such permission.
    [[nodiscard]] PermissionPtr find(const StateView& state, PermissionLevel level);

    // A transaction runs on `state`; until end() nothing below it changes.
    void begin(const StateDelta& state);
    void end();

  private:
    static constexpr std::size_t kSlots = 32'768;  // A power of two.
    struct Entry {
        PermissionLevel level;
        Value value;
        PermissionPtr permission;
    };
    struct Found {
        PermissionLevel level;
        PermissionPtr permission;
    };

    [[nodiscard]] PermissionPtr look_up(const StateView& state, PermissionLevel level);

    std::vector<Entry> entries_ = std::vector<Entry>(kSlots);  // Each at the slot of its level.
    const StateDelta* running_ = nullptr;
    std::vector<Found> found_;
};

// What a transaction or action brings to satisfy permissions with.
struct Provided {
    std::vector<PublicKey> keys;  // Sorted, without duplicates.
    // Satisfied already; an empty name means any. Sorted.
    std::vector<PermissionLevel> permissions;
    std::uint64_t delay_seconds = 0;
};

// Where permissions are looked up, and what that may cost.
struct AuthoritySource {
    const StateView& state;
    PermissionCache& cache;
    std::uint16_t depth_max = 6;
    vm::Meter& meter;
};

// Decides whether keys, permissions and a delay satisfy authorities (nodeos'
// authority_checker), and which keys that took. Remembers answers: use one for all
// permissions of a transaction.
class AuthorityChecker : base::Pinned {
  public:
    // Both outlive this.
    AuthorityChecker(const AuthoritySource& source, const Provided& provided);

    // A permission that does not exist is not satisfied. An exhausted meter: false.
    [[nodiscard]] bool satisfied(PermissionLevel level);
    // Counts a provided key as used. False: it is not provided.
    bool use_key(const PublicKey& key);
    [[nodiscard]] bool all_keys_used() const;
    [[nodiscard]] std::vector<PublicKey> used_keys() const;
    [[nodiscard]] std::vector<PublicKey> unused_keys() const;

  private:
    enum class Status : std::uint8_t { being_evaluated, unsatisfied, satisfied };
    using Statuses = std::map<PermissionLevel, Status>;

    [[nodiscard]] bool authority_satisfied(const Authority& authority,
                                           Statuses& statuses,
                                           std::uint16_t depth);
    [[nodiscard]] bool permission_satisfied(PermissionLevel level,
                                            Statuses& statuses,
                                            std::uint16_t depth);
    [[nodiscard]] std::optional<Status> status_of(PermissionLevel level,
                                                  const Statuses& statuses) const;

    const AuthoritySource& source_;
    const Provided& provided_;
    std::vector<bool> used_;
};

}  // namespace chain
