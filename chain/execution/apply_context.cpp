#include "chain/execution/apply_context.hpp"

#include "base/check.hpp"
#include "chain/execution/authorization.hpp"
#include "chain/execution/native_actions.hpp"

#include <algorithm>

namespace chain {

namespace {

using base::ByteView;

constexpr std::size_t kFewLevels = 8;        // That are searched as they are.
constexpr std::size_t kShownBytes = 65'536;  // Of the console, in the text of a failure.
constexpr Name kSystem = "eosio"_n;
constexpr Name kCode = "eosio.code"_n;

}  // namespace

ApplyContext::ApplyContext(TransactionContext& transaction,
                           std::uint32_t ordinal,
                           std::uint32_t depth)
    : transaction_(transaction),
      first_ordinal_(ordinal),
      ordinal_(ordinal),
      depth_(depth),
      action_(&transaction.trace_of(ordinal).act),
      receiver_(transaction.trace_of(ordinal).receiver),
      context_free_(transaction.trace_of(ordinal).context_free) {
    const AccountRow* account = transaction.find_account(receiver_);
    privileged_ = account != nullptr && account->privileged;
}

ApplyContext::~ApplyContext() = default;

bool ApplyContext::fail(Exception exception, std::string text) {
    return fail(make_error(exception, std::move(text)));
}

bool ApplyContext::fail(const base::Error& error) {
    stop = vm::Stop::error;
    return transaction_.fail(error);
}

bool ApplyContext::fail_with_code(Exception exception, std::string text, std::uint64_t error_code) {
    stop = vm::Stop::error;
    return transaction_.fail(make_error(exception, std::move(text)), error_code);
}

void ApplyContext::print(std::string_view text) {
    console_.append(text.substr(0, transaction_.take_console(text.size())));
}

Name ApplyContext::sender() const {
    const ActionTrace& trace = transaction_.trace_of(ordinal_);
    if (trace.creator_action_ordinal == 0) return Name{};
    const ActionTrace& creator = transaction_.trace_of(trace.creator_action_ordinal);
    return creator.receiver;
}

bool ApplyContext::is_account(Name account) {
    return transaction_.find_account(account) != nullptr;
}

// Contracts ask as often as they like, and an action may declare thousands.
bool ApplyContext::has_level(PermissionLevel least, PermissionLevel most) const {
    const std::vector<PermissionLevel>& declared = action_->authorization;
    if (declared.size() <= kFewLevels) {
        return std::ranges::any_of(declared, [&](const PermissionLevel& level) {
            return least <= level && level <= most;
        });
    }
    if (levels_.empty()) {
        levels_ = declared;
        std::ranges::sort(levels_);
    }
    const auto found = std::ranges::lower_bound(levels_, least);
    return found != levels_.end() && *found <= most;
}

bool ApplyContext::has_authorization(Name account) const {
    return has_level({account, Name{}}, {account, Name{~std::uint64_t{0}}});
}

bool ApplyContext::require_authorization(Name account) {
    if (has_authorization(account)) return true;
    return fail(Exception::missing_auth_exception, "missing authority of " + account.to_string());
}

bool ApplyContext::require_authorization(PermissionLevel level) {
    if (has_level(level, level)) return true;
    return fail(
        Exception::missing_auth_exception,
        "missing authority of " + level.actor.to_string() + "/" + level.permission.to_string());
}

bool ApplyContext::require_recipient(Name account) {
    if (receivers_.contains(account)) return true;
    if (!transaction_.pay_for_run(*action_)) return false;
    receivers_.insert(account);
    notified_.push_back({account, schedule(*action_, account, false)});
    return true;
}

std::uint32_t ApplyContext::schedule(const Action& action, Name receiver, bool context_free) {
    return transaction_.schedule_action(action, receiver, context_free, ordinal_, first_ordinal_);
}

bool ApplyContext::add_ram_usage(Name payer, std::int64_t delta) {
    if (delta == 0) return true;
    if (auto added = transaction_.add_ram_usage(payer, delta); !added) {
        return fail(std::move(added).error());
    }
    const auto place = std::ranges::lower_bound(ram_deltas_, payer, {}, &RamDelta::account);
    if (place != ram_deltas_.end() && place->account == payer) {
        place->delta += delta;
    } else {
        ram_deltas_.insert(place, RamDelta{payer, delta});
    }
    return true;
}

bool ApplyContext::set_return_value(ByteView value) {
    const std::uint32_t limit = transaction_.config().max_action_return_value_size;
    if (!read_only() && value.size() > limit) {
        return fail(Exception::action_return_value_exception,
                    "action return value size must be less or equal to " + std::to_string(limit) +
                        " bytes");
    }
    // It is hashed and kept as an action's data is.
    const Price& price = transaction_.prices()[Cost::action];
    if (!transaction_.pay(price.of(value.size()) - price.base)) return false;
    return_value_ = base::to_bytes(value);
    return true;
}

bool ApplyContext::check_inline(const Action& action) {
    for (const PermissionLevel& level : action.authorization) {
        if (!is_account(level.actor)) {
            return fail(
                Exception::action_validate_exception,
                "inline action's authorizing actor " + level.actor.to_string() + " does not exist");
        }
        if (!transaction_.permissions().find(state(), level)) {
            return fail(Exception::action_validate_exception,
                        "inline action's authorizations include a non-existent permission: " +
                            level.to_json());
        }
    }
    if (privileged_ || read_only()) return true;
    const Authorization authorization = transaction_.authorization(transaction_.meter());
    const Provided provided{
        .keys = {}, .permissions = {PermissionLevel{receiver_, kCode}}, .delay_seconds = 0};
    auto checked =
        authorization.check(std::span(&action, 1), provided, {.dry_run = transaction_.dry_run()});
    if (checked) return true;
    if (transaction_.meter().exhausted()) return transaction_.fail_cpu_exceeded();
    return fail(std::move(checked).error());
}

bool ApplyContext::check_code_account(const Action& action) {
    if (is_account(action.account)) return true;
    return fail(Exception::action_validate_exception,
                "inline action's code account " + action.account.to_string() + " does not exist");
}

bool ApplyContext::send_inline(const Action& action) {
    if (!check_code_account(action)) return false;
    // Before its levels are looked up.
    if (!transaction_.pay_for_run(action) || !check_inline(action)) return false;
    inline_actions_.push_back(schedule(action, action.account, false));
    return true;
}

bool ApplyContext::send_context_free_inline(const Action& action) {
    if (!check_code_account(action)) return false;
    if (!action.authorization.empty()) {
        return fail(Exception::action_validate_exception,
                    "context-free actions cannot have authorizations");
    }
    if (!transaction_.pay_for_run(action)) return false;
    context_free_inline_actions_.push_back(schedule(action, action.account, true));
    return true;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as max_inline_action_depth.
bool ApplyContext::execute() {
    notified_.push_back({receiver_, ordinal_});
    receivers_.insert(receiver_);
    for (notified_index_ = 0; notified_index_ < notified_.size(); ++notified_index_) {
        receiver_ = notified_[notified_index_].receiver;
        ordinal_ = notified_[notified_index_].ordinal;
        if (!execute_one()) return false;
    }
    database_.reset();  // Nothing of this action runs any more; inline actions have their own.
    if (inline_actions_.empty() && context_free_inline_actions_.empty()) return true;
    if (depth_ >= transaction_.config().max_inline_action_depth) {
        return transaction_.fail(make_error(Exception::transaction_exception,
                                            "max inline action depth per transaction reached"));
    }
    for (const std::uint32_t ordinal : context_free_inline_actions_) {
        if (!transaction_.execute_action(ordinal, depth_ + 1)) return false;
    }
    for (const std::uint32_t ordinal : inline_actions_) {
        if (!transaction_.execute_action(ordinal, depth_ + 1)) return false;
    }
    return true;
}

bool ApplyContext::execute_one() {
    return_value_.clear();
    stop = vm::Stop::error;
    const std::uint64_t used_before = transaction_.cpu_used_us();
    bool done = transaction_.check_going();
    if (done && transaction_.find_account(receiver_) == nullptr) {
        done = fail(Exception::std_exception,
                    "unknown key (eosio::chain::name): " + receiver_.to_string());
    }
    done = done && run_code() && check_ram_restrictions();
    if (done) {
        done = make_receipt();
    } else {
        TraceMessage message{
            .format = "${receiver} <= ${account}::${action} pending console output: ${console}",
            .values = {{"console", console_.substr(0, kShownBytes)},
                       {"account", action_->account.to_string()},
                       {"action", action_->name.to_string()},
                       {"receiver", receiver_.to_string()}}};
        transaction_.change_failure().stack.push_back(std::move(message));
        ActionTrace& trace = transaction_.trace_of(ordinal_);
        trace.except = transaction_.failure();
        trace.error_code = transaction_.error_code();
    }
    transaction_.trace_of(ordinal_).elapsed =
        static_cast<std::int64_t>(transaction_.cpu_used_us() - used_before);
    close_trace();
    return done;
}

bool ApplyContext::run_code() {
    privileged_ = transaction_.find_account(receiver_)->privileged;
    if (receiver_ == kSystem && action_->account == kSystem) {
        if (!run_native_action(*this)) return false;
    }
    // Read after the native action: code that setcode has just set runs already, as in nodeos.
    const AccountRow& account = *transaction_.find_account(receiver_);
    if (account.code_hash.is_zero()) return true;
    const base::Hash256 hash = account.code_hash;
    if (!transaction_.use_code(hash, account.code_bytes)) return false;
    const Value code = state().find(Table::code, code_key(hash));
    CHECK(code);
    const vm::ApplyArgs args{
        .receiver = receiver_.value, .code = action_->account.value, .action = action_->name.value};
    const vm::Outcome outcome =
        transaction_.engine().run(hash, code_bytes(*code), args, *this, transaction_.meter());
    if (outcome.kind != vm::Outcome::Kind::trapped) return true;
    if (has_failed()) return false;
    if (outcome.trap == vm::Trap::stopped) return transaction_.fail_stopped();
    if (transaction_.meter().exhausted()) return transaction_.fail_cpu_exceeded();
    return fail(Exception::wasm_execution_error, outcome.text);
}

bool ApplyContext::check_ram_restrictions() {
    if (privileged_) return true;
    for (const RamDelta& entry : ram_deltas_) {
        if (entry.delta <= 0 || entry.account == receiver_) continue;
        if (in_notification()) {
            return fail(Exception::unauthorized_ram_usage_increase,
                        "unprivileged contract cannot increase RAM usage of another account within "
                        "a notify context: " +
                            entry.account.to_string());
        }
        if (!has_authorization(entry.account)) {
            return fail(Exception::unauthorized_ram_usage_increase,
                        "unprivileged contract cannot increase RAM usage of another account that "
                        "has not authorized the action: " +
                            entry.account.to_string());
        }
    }
    return true;
}

bool ApplyContext::make_receipt() {
    ActionTrace& trace = transaction_.trace_of(ordinal_);
    ActionReceipt& receipt = trace.receipt.emplace();
    receipt.receiver = receiver_;
    receipt.act_digest = action_digest_of_run();
    if (const AccountRow* account = transaction_.find_account(action_->account)) {
        receipt.code_sequence = static_cast<std::uint32_t>(account->code_sequence);
        receipt.abi_sequence = static_cast<std::uint32_t>(account->abi_sequence);
    }
    if (!read_only()) {
        receipt.global_sequence = ++transaction_.change_counters().global_action_sequence;
        receipt.recv_sequence = ++transaction_.change_account(receiver_).recv_sequence;
        receipt.auth_sequence = count_authorizations();
    }
    transaction_.add_receipt_digest(receipt.digest());
    trace.return_value = std::move(return_value_);
    if (!read_only() || action_->authorization.empty()) return true;
    // nodeos counts the authorizations of inline actions here too, which its database refuses.
    return transaction_.fail(make_error(
        Exception::std_exception, "rethrow attempting to modify a record in read-only mode: "));
}

// By actor, each with the number of its last use.
std::vector<std::pair<Name, std::uint64_t>> ApplyContext::count_authorizations() {
    std::vector<std::pair<Name, std::uint64_t>> uses;
    uses.reserve(action_->authorization.size());
    for (const PermissionLevel& level : action_->authorization) {
        uses.emplace_back(level.actor, ++transaction_.change_account(level.actor).auth_sequence);
    }
    // The greatest number of an actor comes first, and stays.
    std::ranges::sort(uses, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
    });
    const auto rest = std::ranges::unique(uses, {}, &std::pair<Name, std::uint64_t>::first);
    uses.erase(rest.begin(), rest.end());
    return uses;
}

// Runs of one action that return nothing, which is nearly all, have one digest.
Digest ApplyContext::action_digest_of_run() {
    if (!return_value_.empty()) return action_digest(*action_, return_value_);
    if (!plain_digest_) plain_digest_ = action_digest(*action_, {});
    return *plain_digest_;
}

void ApplyContext::close_trace() {
    ActionTrace& trace = transaction_.trace_of(ordinal_);
    trace.account_ram_deltas = std::move(ram_deltas_);
    trace.console = std::move(console_);
    ram_deltas_.clear();
    console_.clear();
    return_value_.clear();
}

}  // namespace chain
