#include "chain/execution/transaction_run.hpp"

#include "chain/execution/authorization.hpp"

#include <algorithm>
#include <limits>

namespace chain {

namespace {

constexpr std::uint64_t kWordBytes = 8;
// What an account may overrun its limit by while it runs; it is not billed for it, the
// transaction fails at the end. As nodeos' leeway.
constexpr std::uint64_t kCpuLeewayUs = 5'000;

std::uint64_t round_up(std::uint64_t bytes) {
    return (bytes + kWordBytes - 1) / kWordBytes * kWordBytes;
}

}  // namespace

TransactionRun::TransactionRun(TransactionContext& context, std::vector<PublicKey> keys)
    : context_(context),
      transaction_(context.transaction()),
      keys_(std::move(keys)),
      windows_(ResourceWindows::of_interval(context.block().interval_milliseconds)),
      payer_(transaction_.first_authorizer()) {}

bool TransactionRun::fail(Exception exception, std::string text) {
    return context_.fail(make_error(exception, std::move(text)));
}

bool TransactionRun::run() {
    if (!check_header() || !pay_base() || !check_accounts() || !set_limits()) return false;
    if (!context_.read_only() && !check_duplicate()) return false;
    if (!check_authorization()) return false;
    context_.facts_.is_authorized = true;
    return execute_actions() && finish();
}

bool TransactionRun::check_header() {
    if (transaction_.delay_sec > 0) {
        return fail(Exception::transaction_exception, "transaction cannot be delayed");
    }
    if (!context_.read_only() && !check_expiration()) return false;
    if (!transaction_.extensions.empty()) {
        return fail(Exception::subjective_block_production_exception,
                    "no transaction extensions supported yet for input transactions");
    }
    auto sorted = sorted_signature_keys(std::move(keys_));
    if (!sorted) return context_.fail(std::move(sorted).error());
    keys_ = std::move(*sorted);
    return context_.read_only() || check_tapos();
}

bool TransactionRun::check_expiration() {
    const TimePoint expiration = transaction_.expiration.to_time_point();
    const TimePoint now = context_.block().time;
    if (expiration < now) {
        return fail(Exception::expired_tx_exception,
                    "expired transaction " + base::to_hex(context_.decoded().id.view()) +
                        ", expiration " + expiration.to_string() + ", block time " +
                        now.to_string());
    }
    const std::uint32_t lifetime = context_.config().max_transaction_lifetime;
    if (expiration.microseconds <=
        now.microseconds + static_cast<std::int64_t>(lifetime) * 1'000'000) {
        return true;
    }
    return fail(Exception::tx_exp_too_far_exception,
                "Transaction expiration is too far in the future relative to the reference time "
                "of " +
                    now.to_string() + ", expiration is " + transaction_.expiration.to_string() +
                    " and the maximum transaction lifetime is " + std::to_string(lifetime) +
                    " seconds");
}

bool TransactionRun::check_tapos() {
    const Value id =
        context_.state().find(Table::block_id, block_id_key(transaction_.ref_block_num));
    if (id) {
        const auto hash = base::to_hash<32>(*id);
        const bool is_it = hash && ref_block_prefix_of(*hash) == transaction_.ref_block_prefix;
        if (is_it && height_of(*hash) >= context_.block().refers_from) return true;
        if (is_it) {
            return fail(Exception::invalid_ref_block_exception,
                        "Transaction's reference block is from before the time of the chain was "
                        "set back; sign it anew");
        }
    }
    return fail(Exception::invalid_ref_block_exception,
                "Transaction's reference block did not match. Is this transaction from a "
                "different fork?");
}

bool TransactionRun::check_duplicate() {
    const DecodedTransaction& decoded = context_.decoded();
    const RowKey key = transaction_key(transaction_.expiration, decoded.id);
    if (context_.state().find(Table::transaction_id, key)) {
        return fail(Exception::tx_duplicate,
                    "duplicate transaction " + base::to_hex(decoded.id.view()));
    }
    context_.state().put(Table::transaction_id, key, {});
    return true;
}

bool TransactionRun::check_accounts() {
    for (const Action& action : transaction_.context_free_actions) {
        if (context_.find_account(action.account) == nullptr) {
            return fail(
                Exception::transaction_exception,
                "action's code account '" + action.account.to_string() + "' does not exist");
        }
        if (!action.authorization.empty()) {
            return fail(Exception::transaction_exception,
                        "context-free actions cannot have authorizations");
        }
    }
    bool has_authorization = false;
    for (const Action& action : transaction_.actions) {
        if (!check_action_accounts(action, has_authorization)) return false;
    }
    if (has_authorization || context_.read_only() || context_.dry_run()) return true;
    return fail(Exception::tx_no_auths, "transaction must have at least one authorization");
}

// Two rows to look up, and one to write, for each but the first that authorizes: its are in the
// price of the transaction.
bool TransactionRun::pay_for_actor(Name actor) {
    if (actor == payer_ || !actors_.insert(actor).second) return true;
    const PriceTable& prices = context_.prices();
    const std::uint64_t units = 2 * prices[Cost::state].of(0) + prices[Cost::row_write].of(0);
    return context_.pay(units);
}

bool TransactionRun::check_action_accounts(const Action& action, bool& has_authorization) {
    if (context_.find_account(action.account) == nullptr) {
        return fail(Exception::transaction_exception,
                    "action's code account '" + action.account.to_string() + "' does not exist");
    }
    if (context_.read_only() && !action.authorization.empty()) {
        return fail(
            Exception::transaction_exception,
            "read-only action '" + action.name.to_string() + "' cannot have authorizations");
    }
    for (const PermissionLevel& level : action.authorization) {
        has_authorization = true;
        if (!pay_for_actor(level.actor)) return false;
        if (context_.find_account(level.actor) == nullptr) {
            return fail(
                Exception::transaction_exception,
                "action's authorizing actor '" + level.actor.to_string() + "' does not exist");
        }
        if (!context_.permissions().find(context_.state(), level)) {
            return fail(
                Exception::transaction_exception,
                "action's authorizations include a non-existent permission: " + level.to_json());
        }
    }
    return true;
}

std::uint64_t TransactionRun::initial_net_usage() const {
    const ChainConfig& config = context_.config();
    const PackedTransaction& packed = context_.decoded().packed;
    std::uint64_t prunable = packed.net_bytes_prunable();
    const std::uint64_t numerator = config.context_free_discount_net_usage_num;
    const std::uint64_t denominator = config.context_free_discount_net_usage_den;
    if (denominator > 0 && numerator < denominator) {
        prunable = (prunable * numerator + denominator - 1) / denominator;
    }
    return config.base_per_transaction_net_usage + packed.net_bytes_unprunable() + prunable;
}

ResourceLimit TransactionRun::payer_limit(Resource resource) {
    if (payer_.empty()) return {};
    return account_limit(
        *context_.find_account(payer_), context_.counters(), resource, windows_, std::nullopt);
}

bool TransactionRun::set_limits() {
    const ChainConfig& config = context_.config();
    const CountersRow& counters = context_.counters();
    const auto left = [](std::uint64_t limit, std::uint64_t used) {
        return limit > used ? limit - used : 0;
    };
    net_limit_ = left(config.max_block_net_usage, counters.pending_net_usage);
    const auto lower_net = [&](std::uint64_t limit, std::uint64_t& value) {
        if (limit > value) return;
        value = limit;
        net_limit_is_of_block_ = false;
    };
    lower_net(config.max_transaction_net_usage, net_limit_);
    const std::uint64_t own = kWordBytes * std::uint64_t{transaction_.max_net_usage_words};
    if (own > 0) lower_net(own, net_limit_);
    eager_net_limit_ = net_limit_;
    const bool bills = !context_.read_only() && !payer_.empty();
    if (bills) {
        AccountRow& payer = context_.change_account(payer_);
        const std::uint32_t ordinal = usage_ordinal(context_.block().slot);
        payer.net.add(0, std::max(ordinal, payer.net.last_ordinal), windows_.account_slots);
        payer.cpu.add(0, std::max(ordinal, payer.cpu.last_ordinal), windows_.account_slots);
        const std::int64_t available = payer_limit(Resource::net).available;
        if (available >= 0) {
            const auto limit = static_cast<std::uint64_t>(available) + config.net_usage_leeway;
            if (limit < eager_net_limit_) lower_net(limit, eager_net_limit_);
        }
    }
    eager_net_limit_ = eager_net_limit_ / kWordBytes * kWordBytes;
    net_usage_ = initial_net_usage();
    return check_net_usage() && lower_to_account();
}

// What a transaction costs by its form alone. Whoever executes it again for a block skips its
// signatures and authority, and its receipt must come out the same.
std::uint64_t TransactionRun::base_units() const {
    const DecodedTransaction& decoded = context_.decoded();
    const PriceTable& prices = context_.prices();
    std::uint64_t units = prices[Cost::transaction].of(decoded.plain_bytes) +
                          decoded.packed.signatures.size() * prices[Cost::signature].of(0);
    for (const Action& action : transaction_.context_free_actions)
        units += run_price(prices, action);
    for (const Action& action : transaction_.actions)
        units += run_price(prices, action);
    return units;
}

// Before any account is looked up: a transaction that names thousands and can pay for none
// must not cost more than its reading.
bool TransactionRun::pay_base() {
    set_cpu_limit();
    base_units_ = base_units();
    return context_.pay(base_units_);
}

// What the account that pays may use is known once it has been found.
bool TransactionRun::lower_to_account() {
    const std::int64_t available = payer_limit(Resource::cpu).available;
    if (available < 0 || context_.read_only()) return true;
    const std::uint64_t limit = static_cast<std::uint64_t>(available) + kCpuLeewayUs;
    if (limit > context_.cpu_limit_us_) return true;
    const std::uint64_t used = context_.units_at_start_ - context_.meter().remaining();
    context_.cpu_limit_ = TransactionContext::CpuLimit::account;
    context_.give_units(limit);
    return context_.pay(used);
}

// The lowest limit decides what the error says when it is reached.
void TransactionRun::set_cpu_limit() {
    using CpuLimit = TransactionContext::CpuLimit;
    const ChainConfig& config = context_.config();
    const std::uint64_t pending = context_.counters().pending_cpu_usage;
    std::uint64_t limit =
        config.max_block_cpu_usage > pending ? config.max_block_cpu_usage - pending : 0;
    context_.cpu_limit_ = CpuLimit::block;
    const auto lower = [&](std::uint64_t value, CpuLimit why) {
        if (value > limit) return;
        limit = value;
        context_.cpu_limit_ = why;
    };
    lower(config.max_transaction_cpu_usage, CpuLimit::on_chain);
    if (transaction_.max_cpu_usage_ms > 0) {
        lower(std::uint64_t{1000} * transaction_.max_cpu_usage_ms, CpuLimit::header);
    }
    objective_cpu_us_ = limit;
    cpu_limit_is_of_block_ = context_.cpu_limit_ == CpuLimit::block;
    const std::uint32_t own = context_.environment_.options.max_cpu_us;
    if (own > 0) lower(own, CpuLimit::node);
    context_.give_units(limit);
}

bool TransactionRun::check_net_usage() {
    if (net_usage_ <= eager_net_limit_) return true;
    const std::string figures =
        ": " + std::to_string(net_usage_) + " > " + std::to_string(eager_net_limit_);
    if (net_limit_is_of_block_) {
        return fail(Exception::block_net_usage_exceeded,
                    "not enough space left in block" + figures);
    }
    return fail(Exception::tx_net_usage_exceeded, "transaction net usage is too high" + figures);
}

bool TransactionRun::check_authorization() {
    if (context_.read_only() || context_.environment_.options.skip_authorization) return true;
    // Paid by the base price, and bounded by it.
    vm::Meter meter(base_units_);
    const Authorization authorization = context_.authorization(meter);
    const Provided provided{.keys = std::move(keys_), .permissions = {}, .delay_seconds = 0};
    auto checked =
        authorization.check(transaction_.actions, provided, {.dry_run = context_.dry_run()});
    if (checked) return true;
    if (!meter.exhausted()) return context_.fail(std::move(checked).error());
    return fail(Exception::tx_cpu_usage_exceeded,
                "the declared permissions take more than " + std::to_string(base_units_) +
                    " units to check, which is what the transaction's size, signatures and "
                    "authorizations pay for: use permissions with fewer accounts and keys");
}

bool TransactionRun::execute_actions() {
    for (const Action& action : transaction_.context_free_actions) {
        context_.schedule_action(action, action.account, true, 0, 0);
    }
    for (const Action& action : transaction_.actions) {
        context_.schedule_action(action, action.account, false, 0, 0);
    }
    const auto count = static_cast<std::uint32_t>(context_.traces_.size());
    for (std::uint32_t ordinal = 1; ordinal <= count; ++ordinal) {
        if (!context_.execute_action(ordinal, 0)) return false;
    }
    return true;
}

bool TransactionRun::finish() {
    if (!context_.read_only() && (!note_permission_usage() || !check_ram())) return false;
    return bill();
}

bool TransactionRun::note_permission_usage() {
    const TimePoint now = context_.block().time;
    for (const Action& action : transaction_.actions) {
        for (const PermissionLevel& level : action.authorization) {
            const PermissionPtr permission = context_.permissions().find(context_.state(), level);
            if (!permission) {
                // An action has deleted it.
                const Authorization authorization = context_.authorization(context_.meter());
                return context_.fail(authorization.get_permission(level).error());
            }
            if (level.permission == "active"_n) {
                context_.change_account(level.actor).active_last_used = now;
            } else if (permission->last_used != now) {
                PermissionRow row = *permission;
                row.last_used = now;
                base::Bytes value = pack(row);
                const std::uint64_t price = context_.prices()[Cost::row_write].of(value.size());
                if (!context_.pay(price)) return false;
                context_.state().put(Table::permission, permission_key(level), std::move(value));
            }
        }
    }
    return true;
}

bool TransactionRun::check_ram() {
    for (const Name account : context_.ram_to_check_) {
        const AccountRow& row = *context_.find_account(account);
        if (row.ram_quota < 0 || row.ram_usage <= static_cast<std::uint64_t>(row.ram_quota)) {
            continue;
        }
        return fail(Exception::ram_usage_exceeded,
                    "account " + account.to_string() + " has insufficient ram; needs " +
                        std::to_string(row.ram_usage) + " bytes has " +
                        std::to_string(row.ram_quota) + " bytes");
    }
    return true;
}

bool TransactionRun::bill() {
    if (context_.meter().exhausted()) return context_.fail_cpu_exceeded();
    const bool bills = !context_.read_only() && !payer_.empty();
    const std::int64_t account_net = bills ? payer_limit(Resource::net).available : -1;
    if (account_net >= 0 && static_cast<std::uint64_t>(account_net) <= net_limit_) {
        net_limit_ = static_cast<std::uint64_t>(account_net);
        net_limit_is_of_block_ = false;
    }
    net_usage_ = round_up(net_usage_);
    eager_net_limit_ = net_limit_;
    if (!check_net_usage()) return false;
    const std::uint64_t billed = std::max<std::uint64_t>(
        context_.cpu_used_us(), context_.config().min_transaction_cpu_usage);
    const std::int64_t account_cpu = bills ? payer_limit(Resource::cpu).available : -1;
    if (!check_cpu_usage(billed, account_cpu)) return false;
    const auto& expected = context_.environment_.options.expected_cpu_us;
    if (expected && *expected != billed) {
        return fail(Exception::block_tx_output_exception,
                    "the block's receipt says " + std::to_string(*expected) +
                        " us of CPU, execution gives " + std::to_string(billed) + " us");
    }
    if (bills) {
        add_usage(context_.change_account(payer_),
                  context_.change_counters(),
                  {.cpu_us = billed, .net_bytes = net_usage_},
                  usage_ordinal(context_.block().slot),
                  windows_);
    }
    // Nobody is billed for a read-only transaction.
    receipt_.cpu_usage_us = context_.read_only()
                                ? 0
                                : static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                      billed, std::numeric_limits<std::uint32_t>::max()));
    receipt_.net_usage_words = static_cast<std::uint32_t>(net_usage_ / kWordBytes);
    return true;
}

bool TransactionRun::check_cpu_usage(std::uint64_t billed, std::int64_t account_limit_us) {
    const bool of_account =
        account_limit_us >= 0 && static_cast<std::uint64_t>(account_limit_us) <= objective_cpu_us_;
    const std::uint64_t limit =
        of_account ? static_cast<std::uint64_t>(account_limit_us) : objective_cpu_us_;
    if (billed <= limit) return true;
    if (!of_account && cpu_limit_is_of_block_) {
        return fail(Exception::block_cpu_usage_exceeded,
                    "billed CPU time (" + std::to_string(billed) +
                        " us) is greater than the billable CPU time left in the block (" +
                        std::to_string(limit) + " us)");
    }
    if (!of_account) context_.facts_.is_over_limit = true;
    return fail(Exception::tx_cpu_usage_exceeded,
                "billed CPU time (" + std::to_string(billed) +
                    " us) is greater than the maximum billable CPU time for the transaction (" +
                    std::to_string(limit) + " us)" +
                    (of_account ? " reached account cpu limit " + std::to_string(limit) + "us"
                                : std::string()));
}

TransactionResult TransactionRun::take_result() {
    TransactionResult result;
    result.facts = context_.facts_;
    TransactionTrace& trace = result.trace;
    trace.id = context_.decoded().id;
    trace.block_num = context_.block().height;
    trace.block_time = context_.block().time;
    trace.net_usage = net_usage_;
    trace.elapsed = static_cast<std::int64_t>(context_.cpu_used_us());
    trace.action_traces.assign(std::make_move_iterator(context_.traces_.begin()),
                               std::make_move_iterator(context_.traces_.end()));
    if (context_.has_failed()) {
        trace.except = context_.failure();
        trace.error_code = context_.error_code();
    } else {
        trace.receipt = receipt_;
        result.action_digests = std::move(context_.action_digests_);
    }
    return result;
}

}  // namespace chain
