#include "chain/execution/transaction_context.hpp"

#include "base/check.hpp"
#include "chain/execution/apply_context.hpp"
#include "chain/execution/authorization.hpp"
#include "chain/execution/resource_limits.hpp"

#include <algorithm>
#include <limits>

namespace chain {

namespace {

// What nodeos reports for an error that has no number of its own.
constexpr std::uint64_t kGenericSystemError = 10'000'000'000'000'000'000ULL;
constexpr std::uint32_t kFirstChainException = 3'000'000;
constexpr std::string_view kOwnLimit = "node configured max-transaction-time";

}  // namespace

vm::Limits vm_limits(const WasmConfig& config) {
    vm::Limits limits;  // Whose module and code size are BoR's own, and smaller.
    limits.max_mutable_global_bytes = config.max_mutable_global_bytes;
    limits.max_table_elements = config.max_table_elements;
    limits.max_section_elements = config.max_section_elements;
    limits.max_linear_memory_init = config.max_linear_memory_init;
    limits.max_func_local_bytes = config.max_func_local_bytes;
    limits.max_nested_structures =
        std::min(config.max_nested_structures, limits.max_nested_structures);
    limits.max_symbol_bytes = config.max_symbol_bytes;
    limits.max_module_bytes = std::min(config.max_module_bytes, limits.max_module_bytes);
    limits.max_code_bytes = std::min(config.max_code_bytes, limits.max_code_bytes);
    limits.max_pages = std::min(config.max_pages, limits.max_pages);
    limits.max_call_depth = std::min(config.max_call_depth, limits.max_call_depth);
    return limits;
}

vm::Prices vm_prices(const PriceTable& table) {
    return {.plain = table[Cost::plain].base,
            .memory = table[Cost::memory].base,
            .memory_mid = table[Cost::memory_mid].base,
            .memory_far = table[Cost::memory_far].base,
            .divide = table[Cost::divide].base,
            .floating = table[Cost::floating].base,
            .root = table[Cost::root].base,
            .call = table[Cost::call].base,
            .local = table[Cost::local].base,
            .page = table[Cost::page].base,
            .data = table[Cost::data].base,
            .run = table[Cost::run].base};
}

std::uint64_t run_price(const PriceTable& prices, const Action& action) {
    return prices[Cost::action].of(action.data.size()) +
           prices[Cost::authorization].base * std::uint64_t{action.authorization.size()};
}

TransactionContext::TransactionContext(const Environment& environment,
                                       const DecodedTransaction& transaction)
    : environment_(environment), decoded_(transaction), meter_(0) {
    auto counters = load_counters(environment.state);
    CHECK(counters);
    counters_ = *counters;
    environment_.permissions.begin(environment_.state);
}

TransactionContext::~TransactionContext() {
    environment_.permissions.end();
}

base::ByteView TransactionContext::packed_transaction() {
    if (decoded_.packed.compression == Compression::none) return decoded_.packed.packed_trx;
    if (packed_.empty()) packed_ = pack(transaction());
    return packed_;
}

Authorization TransactionContext::authorization(vm::Meter& meter) {
    return Authorization({.state = environment_.state,
                          .cache = environment_.permissions,
                          .config = config(),
                          .meter = meter});
}

TransactionContext::KeptAccount& TransactionContext::keep(Name account) {
    const auto [place, is_new] = accounts_.try_emplace(account);
    if (!is_new) return place->second;
    const Value value = environment_.state.find(Table::account, account_key(account));
    if (value) {
        auto row = decode_account(*value);
        CHECK(row);
        place->second.row = *row;
        place->second.exists = true;
    }
    return place->second;
}

const AccountRow* TransactionContext::find_account(Name account) {
    const KeptAccount& kept = keep(account);
    return kept.exists ? &kept.row : nullptr;
}

AccountRow& TransactionContext::change_account(Name account) {
    KeptAccount& kept = keep(account);
    CHECK(kept.exists);
    kept.changed = true;
    return kept.row;
}

AccountRow& TransactionContext::create_account(Name account, const AccountRow& row) {
    KeptAccount& kept = keep(account);
    CHECK(!kept.exists);
    kept = {.row = row, .exists = true, .changed = true};
    return kept.row;
}

CountersRow& TransactionContext::change_counters() {
    counters_changed_ = true;
    return counters_;
}

void TransactionContext::flush() {
    for (auto& [name, kept] : accounts_) {
        if (!kept.changed) continue;
        environment_.state.put(Table::account, account_key(name), encode_account(kept.row));
        kept.changed = false;
    }
    if (!counters_changed_) return;
    environment_.state.put(Table::global, global_key(kGlobalCounters), encode_counters(counters_));
    counters_changed_ = false;
}

Rules& TransactionContext::change_rules() {
    if (!changed_rules_) changed_rules_ = environment_.rules;
    return *changed_rules_;
}

void TransactionContext::set_config(const ChainConfig& config) {
    change_rules().config = config;
    environment_.state.put(Table::global, global_key(kGlobalConfig), pack(config));
}

void TransactionContext::set_wasm_config(const WasmConfig& config) {
    change_rules().wasm = config;
    environment_.state.put(Table::global, global_key(kGlobalWasm), pack(config));
}

void TransactionContext::set_parameters(const BorParameters& parameters) {
    change_rules().parameters = parameters;
    environment_.state.put(Table::global, global_key(kGlobalParameters), pack(parameters));
}

void TransactionContext::set_account_limits(Name account,
                                            std::int64_t ram,
                                            std::int64_t net,
                                            std::int64_t cpu) {
    AccountRow& row = change_account(account);
    const bool lower_ram = ram >= 0 && (row.ram_quota < 0 || ram < row.ram_quota);
    change_limits(row, change_counters(), ram, net, cpu);
    if (!lower_ram) return;
    const auto place = std::ranges::lower_bound(ram_to_check_, account);
    if (place == ram_to_check_.end() || *place != account) ram_to_check_.insert(place, account);
}

base::Result<void> TransactionContext::add_ram_usage(Name account, std::int64_t delta) {
    if (delta == 0) return {};
    if (find_account(account) == nullptr) {
        return chain::fail(
            Exception::account_query_exception,
            "cannot bill RAM to account " + account.to_string() + ", which does not exist");
    }
    AccountRow& row = change_account(account);
    if (delta > 0) {
        const auto more = static_cast<std::uint64_t>(delta);
        if (std::numeric_limits<std::uint64_t>::max() - row.ram_usage < more) {
            return chain::fail(Exception::transaction_exception,
                               "Ram usage delta would overflow UINT64_MAX");
        }
        row.ram_usage += more;
        const auto place = std::ranges::lower_bound(ram_to_check_, account);
        if (place == ram_to_check_.end() || *place != account) ram_to_check_.insert(place, account);
        return {};
    }
    const auto less = std::uint64_t{0} - static_cast<std::uint64_t>(delta);
    if (row.ram_usage < less) {
        return chain::fail(Exception::transaction_exception,
                           "Ram usage delta would underflow UINT64_MAX");
    }
    row.ram_usage -= less;
    return {};
}

void TransactionContext::give_units(std::uint64_t limit_us) {
    cpu_limit_us_ = limit_us;
    const std::uint64_t scale = std::max<std::uint64_t>(parameters().cpu_units_per_us, 1);
    constexpr std::uint64_t kUnitsMax = std::numeric_limits<std::uint64_t>::max() / 2;
    units_at_start_ = limit_us > kUnitsMax / scale ? kUnitsMax : limit_us * scale;
    meter_ = vm::Meter(units_at_start_, &environment_.options.is_stopped);
}

std::uint64_t TransactionContext::cpu_used_us() const {
    const std::uint64_t used = units_at_start_ - meter_.remaining();
    const std::uint64_t scale = std::max<std::uint64_t>(parameters().cpu_units_per_us, 1);
    return used / scale + (used % scale != 0 ? 1 : 0);
}

bool TransactionContext::fail_cpu_exceeded() {
    if (is_stopped()) return fail_stopped();
    const std::string used = std::to_string(cpu_used_us());
    const bool is_own = cpu_limit_ != CpuLimit::block && cpu_limit_ != CpuLimit::account;
    if (!failure_ && is_own) facts_.is_over_limit = true;
    if (cpu_limit_ == CpuLimit::block) {
        return fail(make_error(
            Exception::block_cpu_usage_exceeded,
            "not enough time left in block to complete executing transaction " + used + "us"));
    }
    std::string_view reason;
    switch (cpu_limit_) {
        case CpuLimit::block:
        case CpuLimit::on_chain:
            reason = "on chain max_transaction_cpu_usage";
            break;
        case CpuLimit::header:
            reason = "trx specified max_cpu_usage_ms";
            break;
        case CpuLimit::account:
            reason = "account cpu limit";
            break;
        case CpuLimit::node:
            reason = kOwnLimit;
            break;
    }
    return fail_too_long(reason, cpu_limit_us_);
}

bool TransactionContext::fail_too_long(std::string_view reason, std::uint64_t limit_us) {
    // Where the clock reached it, the units say less: a time below its limit would puzzle.
    return fail(make_error(Exception::tx_cpu_usage_exceeded,
                           "transaction " + base::to_hex(decoded_.id.view()) +
                               " was executing for too long " +
                               std::to_string(std::max(cpu_used_us(), limit_us)) + "us reached " +
                               std::string(reason) + " " + std::to_string(limit_us) + "us"));
}

bool TransactionContext::check_going() {
    if (meter_.exhausted()) return fail_cpu_exceeded();
    return !is_stopped() || fail_stopped();
}

bool TransactionContext::fail_stopped() {
    if (!failure_) facts_.is_over_limit = true;
    // The clock and the units measure one limit of the node's: whichever comes first, it has one
    // text.
    const std::uint32_t own = environment_.options.max_cpu_us;
    if (own > 0) return fail_too_long(kOwnLimit, own);
    return fail(make_error(Exception::deadline_exception,
                           "deadline exceeded " + std::to_string(cpu_used_us()) + "us"));
}

bool TransactionContext::use_code(const base::Hash256& hash, std::uint32_t bytes) {
    const bool is_new = !used_code_.contains(hash);
    const CodeSet* before = environment_.block_code;
    const bool is_loaded = !is_new || (before != nullptr && before->contains(hash));
    if (!pay(prices()[Cost::load].of(is_loaded ? 0 : bytes))) return false;
    if (!is_new) return true;
    if (used_code_bytes_ + bytes > kTransactionCodeBytesMax) {
        return fail(make_error(
            Exception::wasm_execution_error,
            "the transaction uses contracts of " + std::to_string(used_code_bytes_ + bytes) +
                " bytes, at most " + std::to_string(kTransactionCodeBytesMax) +
                " are allowed: call fewer different contracts in one transaction"));
    }
    used_code_bytes_ += bytes;
    used_code_.insert(hash);
    return true;
}

bool TransactionContext::pay_for_run(const Action& action) {
    return pay(run_price(prices(), action));
}

std::uint32_t TransactionContext::schedule_action(const Action& action,
                                                  Name receiver,
                                                  bool context_free,
                                                  std::uint32_t creator,
                                                  std::uint32_t ancestor) {
    ActionTrace& trace = traces_.emplace_back();
    trace.action_ordinal = static_cast<std::uint32_t>(traces_.size());
    trace.creator_action_ordinal = creator;
    trace.closest_unnotified_ancestor_action_ordinal = ancestor;
    trace.receiver = receiver;
    trace.act = action;
    trace.context_free = context_free;
    return trace.action_ordinal;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as max_inline_action_depth.
bool TransactionContext::execute_action(std::uint32_t ordinal, std::uint32_t depth) {
    ApplyContext context(*this, ordinal, depth);
    return context.execute();
}

bool TransactionContext::fail(const base::Error& error, std::optional<std::uint64_t> error_code) {
    if (failure_) return false;
    failure_ = TraceException::from_error(error);
    error_code_ = error_code;
    if (!error_code_ && static_cast<std::uint32_t>(failure_->code) >= kFirstChainException &&
        failure_->code != Exception::exception) {
        error_code_ = kGenericSystemError;
    }
    return false;
}

}  // namespace chain
