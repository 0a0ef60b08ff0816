#pragma once

#include "base/pinned.hpp"
#include "node/bps/core/admin.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/reply.hpp"
#include "node/bps/core/rights.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace bps {

// Compacted, owned by the contract's account: what groups leave (spec 08, "Groups").
inline constexpr std::string_view kOffsetsTopic = "__consumer_offsets";

// What a broker asks of the contract though no client did (spec 08, "Contract"): an election where
// it would become the leader, its answer to a suspicion, and the topic that groups are kept in.
//
// One action of each kind is in flight; one that was refused is asked for again a second later.
// Thread: that of the broker. Times are milliseconds since 1970.
class Duties : base::Pinned {
  public:
    // All of it outlives this.
    struct World {
        const Rights& rights;
        const Directory& directory;
        Admin& admin;
    };
    explicit Duties(const World& world) : world_(world) {}

    // All rows of a final block were fed, and the row of this broker has its present start.
    void on_final(std::int64_t now, Effects& out);
    // A group needs the topic, and there is none. policy_violation: the contract's account has not
    // let this broker make it; the reason has the command. Else it is on its way, as far as there
    // are live brokers for it.
    [[nodiscard]] Verdict<void> make_offsets_topic(std::int64_t now, Effects& out);
    // False: the call was not one of these.
    [[nodiscard]] bool on_called(std::uint64_t ticket, const Verdict<void>& outcome);

  private:
    static constexpr std::int64_t kRetryMs = 1'000;

    struct Duty {
        std::optional<std::uint64_t> ticket;  // Of the action in flight.
        std::int64_t asked_at = 0;
        bool is_refused = false;

        [[nodiscard]] bool is_due(std::int64_t now) const {
            return !ticket && !(is_refused && now < asked_at + kRetryMs);
        }
    };

    template <class Action>
    void ask(std::int64_t now, Duty& duty, const Action& action, Effects& out);
    void elect(std::int64_t now, Effects& out);
    void answer_suspicion(std::int64_t now, Effects& out);
    // Whether the contract would choose this broker.
    [[nodiscard]] bool would_lead(const rows::Partition& row) const;
    [[nodiscard]] std::int32_t self() const { return world_.rights.settings().broker; }

    const World world_;
    Duty election_;
    Duty answer_;
    Duty offsets_topic_;
};

}  // namespace bps
