#include "chain/execution/executor.hpp"

#include "base/check.hpp"
#include "chain/execution/resource_limits.hpp"
#include "chain/execution/transaction_run.hpp"

namespace chain {

namespace {

base::Result<void> switch_rules(StateDelta& delta,
                                const BlockContext& block,
                                std::uint32_t rules_known) {
    auto rules = load_rules(delta);
    if (!rules) return base::fail(std::move(rules).error());
    if (rules->next_version != 0 && block.height >= rules->next_height) {
        rules->version = rules->next_version;
        rules->next_version = 0;
        rules->next_height = 0;
        delta.put(Table::global, global_key(kGlobalRules), pack(*rules));
    }
    if (rules->version <= rules_known) return {};
    return base::fail(base::Errc::unavailable,
                      "height " + std::to_string(block.height) + " needs rules version " +
                          std::to_string(rules->version) + ", this program knows " +
                          std::to_string(rules_known) +
                          ": install the release that has them and start it on the same data");
}

// A block removes more ids than it adds, so that they cannot pile up, and not many more, so that
// the first block after a long stop is no slower than others.
void remove_expired(StateDelta& delta, TimePoint now, std::size_t transactions) {
    for (std::size_t left = kExpiredIdsPerBlock + 2 * transactions; left > 0; --left) {
        const auto row = delta.at_or_after(Table::transaction_id, RowKey().view());
        if (!row) return;
        CHECK(row->key.size() == 36);
        const TimePointSec expiration{static_cast<std::uint32_t>(key_u64(row->key, 0) >> 32U)};
        if (expiration.to_time_point() >= now) return;
        delta.erase(Table::transaction_id, row->key);
    }
}

}  // namespace

Executor::Executor(vm::Engine& engine, const vm::HostTable& hosts, std::uint32_t rules_known)
    : engine_(engine),
      hosts_(hosts),
      rules_known_(rules_known),
      limits_(vm_limits(WasmConfig{})),
      prices_(vm_prices(PriceTable())) {
    engine_.configure(limits_, prices_);
}

Executor::~Executor() = default;

const Rules& Executor::rules(const StateView& state) {
    Value config = state.find(Table::global, global_key(kGlobalConfig));
    Value wasm = state.find(Table::global, global_key(kGlobalWasm));
    Value parameters = state.find(Table::global, global_key(kGlobalParameters));
    if (config == config_value_ && wasm == wasm_value_ && parameters == parameters_value_) {
        return rules_;
    }
    auto new_config = load_config(state);
    auto new_wasm = load_wasm_config(state);
    auto new_parameters = load_parameters(state);
    CHECK(new_config && new_wasm && new_parameters);
    rules_ = {.config = *new_config, .wasm = *new_wasm, .parameters = *new_parameters};
    config_value_ = std::move(config);
    wasm_value_ = std::move(wasm);
    parameters_value_ = std::move(parameters);
    return rules_;
}

void Executor::configure(const Rules& rules) {
    const vm::Limits limits = vm_limits(rules.wasm);
    const vm::Prices prices = vm_prices(rules.parameters.prices);
    if (limits != limits_ || prices != prices_) engine_.configure(limits, prices);
    limits_ = limits;
    prices_ = prices;
}

base::Result<BlockSchedule> Executor::begin_block(StateDelta& delta, const BlockContext& block) {
    engine_.begin_block();
    if (auto switched = switch_rules(delta, block, rules_known_); !switched) {
        return base::fail(std::move(switched).error());
    }
    if (block.height > 1) {
        const auto low = static_cast<std::uint16_t>((block.height - 1) & 0xFFFFU);
        delta.put(Table::block_id, block_id_key(low), base::to_bytes(block.previous.view()));
    }
    return begin_schedule(delta, block, rules(delta).parameters);
}

TransactionResult Executor::execute(const TransactionInput& input,
                                    StateDelta& delta,
                                    const BlockContext& block,
                                    const ExecutionOptions& options) {
    BlockRun alone{.rules = rules(delta), .code = {}};
    return execute(input, delta, block, options, alone);
}

TransactionResult Executor::execute(const TransactionInput& input,
                                    StateDelta& delta,
                                    const BlockContext& block,
                                    const ExecutionOptions& options,
                                    BlockRun& block_run) {
    configure(block_run.rules);
    StateDelta own(static_cast<const StateView&>(delta));
    TransactionContext context({.state = own,
                                .block = block,
                                .rules = block_run.rules,
                                .engine = engine_,
                                .hosts = hosts_,
                                .permissions = permissions_,
                                .options = options,
                                .block_code = &block_run.code},
                               input.transaction);
    TransactionRun run(context, input.keys);
    const bool done = run.run();
    CHECK(done != context.has_failed());
    if (done && !options.read_only && !options.dry_run) {
        context.flush();
        if (block_run.recent) block_run.recent->merge(own.changes());
        delta.merge(own);
        block_run.code.insert(context.used_code().begin(), context.used_code().end());
        if (context.rules_changed()) block_run.rules = context.rules();
    }
    return run.take_result();
}

void Executor::prepare(const StateView& state, const base::Hash256& code_hash) {
    configure(rules(state));
    const Value code = state.find(Table::code, code_key(code_hash));
    if (code) static_cast<void>(engine_.prepare(code_hash, code_bytes(*code)));
    engine_.begin_block();  // No block uses it: what is kept for all engines is enough.
}

base::Result<void> Executor::finish_block(StateDelta& delta,
                                          const BlockContext& block,
                                          std::size_t transactions) {
    remove_expired(delta, block.time, transactions);
    auto counters = load_counters(delta);
    if (!counters) return base::fail(std::move(counters).error());
    end_block_usage(*counters,
                    rules(delta).config,
                    block.height,
                    ResourceWindows::of_interval(block.interval_milliseconds));
    delta.put(Table::global, global_key(kGlobalCounters), encode_counters(*counters));
    return {};
}

}  // namespace chain
