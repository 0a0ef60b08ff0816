// Transactions proposed on chain and run once enough of the requested permissions approved: the
// actions, tables and messages of eosio.msig. The account that it is set on must be privileged.
#include <bor/bor.hpp>

#include <algorithm>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

// In the proposer's scope.
struct Proposal {
    Name proposal_name;
    Bytes packed_transaction;
    // From when on the proposal may run: set when it becomes authorized, `delay_sec` later.
    BinaryExtension<std::optional<TimePoint>> earliest_exec_time;
    [[nodiscard]] uint64_t primary_key() const { return proposal_name.value; }
    BOR_FIELDS(proposal_name, packed_transaction, earliest_exec_time)
};

struct Approval {
    PermissionLevel level;
    TimePoint time;
    BOR_FIELDS(level, time)
};

// In the proposer's scope, beside its proposal.
struct ApprovalsInfo {
    uint8_t version = 1;
    Name proposal_name;
    std::vector<Approval> requested;
    std::vector<Approval> provided;
    [[nodiscard]] uint64_t primary_key() const { return proposal_name.value; }
    BOR_FIELDS(version, proposal_name, requested, provided)
};

// Approvals that an account gave at this time or before count no more.
struct Invalidation {
    Name account;
    TimePoint last_invalidation_time;
    [[nodiscard]] uint64_t primary_key() const { return account.value; }
    BOR_FIELDS(account, last_invalidation_time)
};

using Proposals = MultiIndex<"proposal"_n, Proposal>;
using Approvals = MultiIndex<"approvals2"_n, ApprovalsInfo>;
using Invalidations = MultiIndex<"invals"_n, Invalidation>;

// Moves the approval of `level` from one list to the other; fails with `message` if it is not
// there.
void move_approval(std::vector<Approval>& from,
                   std::vector<Approval>& to,
                   const PermissionLevel& level,
                   const char* message) {
    const auto at = std::find_if(
        from.begin(), from.end(), [&](const Approval& each) { return each.level == level; });
    check(at != from.end(), message);
    to.push_back(Approval{level, current_time_point()});
    from.erase(at);
}

TransactionHeader header_of(const Proposal& proposal) {
    return unpack<TransactionHeader>(proposal.packed_transaction);
}

bool is_expired(const TransactionHeader& header) {
    return header.expiration < TimePointSec(current_time_point());
}

class Msig : public Contract {
  public:
    using Contract::Contract;

    // The transaction follows the arguments, and is kept as it was sent.
    void propose(Name proposer, Name proposal_name, const std::vector<PermissionLevel>& requested) {
        const Bytes packed(arguments().pos(), arguments().pos() + arguments().remaining());
        TransactionHeader header;
        std::vector<Action> context_free_actions;
        decode(arguments(), header);
        require_auth(proposer);
        check(!is_expired(header), "transaction expired");
        decode(arguments(), context_free_actions);
        check(context_free_actions.empty(),
              "not allowed to `propose` a transaction with context-free actions");

        Proposals proposals(self(), proposer.value);
        check(!proposals.contains(proposal_name.value), "proposal with the same name exists");
        check(is_transaction_authorized(packed, {}, requested), "transaction authorization failed");

        proposals.emplace(proposer, [&](Proposal& row) {
            row.proposal_name = proposal_name;
            row.packed_transaction = packed;
            row.earliest_exec_time.value.emplace();
        });
        Approvals approvals(self(), proposer.value);
        approvals.emplace(proposer, [&](ApprovalsInfo& row) {
            row.proposal_name = proposal_name;
            for (const PermissionLevel& level : requested) {
                row.requested.push_back(Approval{level, TimePoint{}});
            }
        });
    }

    // With a hash, only when the proposed transaction has it.
    void approve(Name proposer,
                 Name proposal_name,
                 const PermissionLevel& level,
                 const BinaryExtension<Checksum256>& proposal_hash) {
        require_auth(level);
        Proposals proposals(self(), proposer.value);
        const auto proposal = proposals.get(proposal_name.value, "proposal not found");
        if (proposal_hash.value) {
            const Bytes& packed = proposal->packed_transaction;
            assert_sha256({packed.data(), packed.size()}, *proposal_hash.value);
        }
        Approvals approvals(self(), proposer.value);
        const auto info = approvals.get(proposal_name.value, "proposal not found");
        approvals.modify(info, proposer, [&](ApprovalsInfo& row) {
            move_approval(row.requested,
                          row.provided,
                          level,
                          "approval is not on the list of requested approvals");
        });
        update_exec_time(proposals, proposal, approvals);
    }

    // Takes an approval back.
    void unapprove(Name proposer, Name proposal_name, const PermissionLevel& level) {
        require_auth(level);
        Approvals approvals(self(), proposer.value);
        const auto info = approvals.get(proposal_name.value, "proposal not found");
        approvals.modify(info, proposer, [&](ApprovalsInfo& row) {
            move_approval(row.provided, row.requested, level, "no approval previously granted");
        });
        Proposals proposals(self(), proposer.value);
        const auto proposal = proposals.get(proposal_name.value, "proposal not found");
        update_exec_time(proposals, proposal, approvals);
    }

    // By its proposer at any time, by anyone once it is expired.
    void cancel(Name proposer, Name proposal_name, Name canceler) {
        require_auth(canceler);
        Proposals proposals(self(), proposer.value);
        const auto proposal = proposals.get(proposal_name.value, "proposal not found");
        if (canceler != proposer) {
            check(is_expired(header_of(*proposal)), "cannot cancel until expiration");
        }
        proposals.erase(proposal);
        Approvals approvals(self(), proposer.value);
        approvals.erase(approvals.get(proposal_name.value, "proposal not found"));
    }

    // Sends the actions of an authorized proposal and removes it. Anyone may.
    void exec(Name proposer, Name proposal_name, Name executer) {
        require_auth(executer);
        Proposals proposals(self(), proposer.value);
        const auto proposal = proposals.get(proposal_name.value, "proposal not found");
        const auto transaction = unpack<Transaction>(proposal->packed_transaction);
        check(transaction.context_free_actions.empty(),
              "not allowed to `exec` a transaction with context-free actions");
        check(!is_expired(transaction.header), "transaction expired");

        Approvals approvals(self(), proposer.value);
        check(is_authorized(*proposal, approvals), "transaction authorization failed");
        const auto& earliest = proposal->earliest_exec_time.value;
        if (earliest && *earliest) {
            check(**earliest <= current_time_point(), "too early to execute");
        }
        approvals.erase(approvals.get(proposal_name.value, "proposal not found"));
        for (const Action& action : transaction.actions)
            action.send();
        proposals.erase(proposal);
    }

    // Withdraws every approval that this account has given so far.
    void invalidate(Name account) {
        require_auth(account);
        Invalidations invalidations(self(), self().value);
        const auto at = invalidations.find(account.value);
        const auto set = [&](Invalidation& row) {
            row.account = account;
            row.last_invalidation_time = current_time_point();
        };
        if (invalidations.found(at)) {
            invalidations.modify(at, account, set);
        } else {
            invalidations.emplace(account, set);
        }
    }

  private:
    // Whether the approvals that still count authorize the proposal.
    [[nodiscard]] bool is_authorized(const Proposal& proposal, const Approvals& approvals) const {
        const auto info = approvals.get(proposal.proposal_name.value, "proposal not found");
        const Invalidations invalidations(self(), self().value);
        std::vector<PermissionLevel> levels;
        for (const Approval& approval : info->provided) {
            const auto at = invalidations.find(approval.level.actor.value);
            if (!invalidations.found(at) || at->last_invalidation_time < approval.time) {
                levels.push_back(approval.level);
            }
        }
        return is_transaction_authorized(proposal.packed_transaction, {}, levels);
    }

    // The delay runs from the moment when the approvals first suffice, and ends when they do not.
    void update_exec_time(Proposals& proposals,
                          const Proposals::Iterator& at,
                          const Approvals& approvals) {
        const bool authorized = is_authorized(*at, approvals);
        const auto& earliest = at->earliest_exec_time.value;
        const bool timed = earliest && *earliest;
        if (authorized == timed) return;
        std::optional<TimePoint> time;
        if (authorized) {
            const int64_t delay_us = int64_t{header_of(*at).delay_sec.value} * 1'000'000;
            time = TimePoint{current_time_point().microseconds + delay_us};
        }
        proposals.modify(
            at, kSamePayer, [&](Proposal& row) { row.earliest_exec_time.value = time; });
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Msig>(receiver, code, action)
        .on<&Msig::propose>("propose"_n)
        .on<&Msig::approve>("approve"_n)
        .on<&Msig::unapprove>("unapprove"_n)
        .on<&Msig::cancel>("cancel"_n)
        .on<&Msig::exec>("exec"_n)
        .on<&Msig::invalidate>("invalidate"_n);
}
