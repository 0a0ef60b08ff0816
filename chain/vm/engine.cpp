#include "base/check.hpp"
#include "chain/vm/machine.hpp"
#include "chain/vm/programs.hpp"
#include "chain/vm/sandbox.hpp"
#include "chain/vm/vm.hpp"

#include <map>
#include <memory>

namespace chain::vm {

namespace {

constexpr std::uint32_t kSerializationError = 3070003;

Outcome outcome_of(Trap trap, const Context& context) {
    switch (trap) {
        case Trap::none:
            return {};
        case Trap::host_stop:
            if (context.stop == Stop::exit) return {Outcome::Kind::exited, Trap::none, {}};
            return {Outcome::Kind::trapped, trap, context.stop_text};
        case Trap::memory_out_of_bounds:
        case Trap::divide_by_zero:
        case Trap::integer_overflow:
            return {Outcome::Kind::trapped, trap, "access violation"};
        case Trap::call_depth:
        case Trap::stack_bytes:
            return {Outcome::Kind::trapped, trap, "stack overflow"};
        case Trap::out_of_fuel:
            return {Outcome::Kind::trapped, trap, "transaction was executing for too long"};
        case Trap::stopped:
            return {Outcome::Kind::trapped, trap, "the run was stopped"};
        default:
            return {Outcome::Kind::trapped, trap, "eos-vm system failure"};
    }
}

}  // namespace

class Engine::State {
  public:
    State(const HostTable& hosts, const Options& options, Machine& machine, Programs* shared)
        : hosts_(hosts),
          options_(options),
          machine_(machine),
          own_(options.cache_bytes),
          programs_(shared != nullptr ? *shared : own_),
          rules_(programs_.rules(options.limits, options.prices)),
          sandbox_(hosts, options_.limits, options_.prices, machine) {}

    Outcome run(const base::Hash256& code_hash,
                base::ByteView wasm,
                const ApplyArgs& args,
                Context& context,
                Meter& meter);
    base::Result<void> open();
    const Prepared& load(const base::Hash256& code_hash, base::ByteView wasm);
    void begin_block() { used_.clear(); }
    void configure(const Limits& limits, const Prices& prices);
    [[nodiscard]] const Programs& programs() const { return programs_; }

  private:
    [[nodiscard]] std::shared_ptr<const Prepared> prepare(base::ByteView wasm) const;

    const HostTable& hosts_;
    Options options_;
    Machine& machine_;
    ProgramCache own_;
    Programs& programs_;
    std::uint32_t rules_;
    Sandbox sandbox_;
    bool is_open_ = false;  // The sandbox, for the limits of now.
    // What the present block uses stays, whatever else is compiled meanwhile.
    std::map<base::Hash256, std::shared_ptr<const Prepared>> used_;
    // Used last; the sandbox knows it.
    base::Hash256 last_hash_;
    std::shared_ptr<const Prepared> last_;
};

const Prepared& Engine::State::load(const base::Hash256& code_hash, base::ByteView wasm) {
    if (last_ && last_hash_ == code_hash) return *last_;
    std::shared_ptr<const Prepared>& used = used_[code_hash];
    if (!used) {
        const Programs::Key key{code_hash, rules_};
        used = programs_.find(key);
        if (!used) {
            used = prepare(wasm);
            programs_.keep(key, used);
        }
    }
    sandbox_.forget();
    last_hash_ = code_hash;
    last_ = used;
    return *last_;
}

std::shared_ptr<const Prepared> Engine::State::prepare(base::ByteView wasm) const {
    auto fresh = std::make_shared<Prepared>();
    const base::Result<Module> module = scan(wasm, options_.limits, hosts_);
    if (!module) {
        fresh->refusal = module.error().detail;
        return fresh;
    }
    auto program = make_program(*module, options_.limits, options_.prices, machine_);
    if (!program) {
        // Only what is wrong with the contract may decide about a transaction.
        if (program.error().code == base::Errc::unavailable) {
            base::check_failed(program.error().detail, __FILE__, __LINE__);
        }
        fresh->refusal = program.error().detail;
        return fresh;
    }
    fresh->program = std::move(*program);
    const std::uint64_t data = (fresh->program.image.size() + 1023) / 1024;
    fresh->start_price = options_.prices.run +
                         std::uint64_t{fresh->program.initial_pages} * options_.prices.page +
                         data * options_.prices.data;
    return fresh;
}

base::Result<void> Engine::State::open() {
    if (is_open_) return {};
    auto opened = sandbox_.open();
    is_open_ = opened.has_value();
    return opened;
}

Outcome Engine::State::run(const base::Hash256& code_hash,
                           base::ByteView wasm,
                           const ApplyArgs& args,
                           Context& context,
                           Meter& meter) {
    if (const auto opened = open(); !opened) {
        base::check_failed(opened.error().detail, __FILE__, __LINE__);
    }
    const Prepared& loaded = load(code_hash, wasm);
    if (!loaded.refusal.empty()) {
        return {Outcome::Kind::trapped, Trap::invalid_module, loaded.refusal};
    }
    if (!meter.charge(loaded.start_price)) return outcome_of(Trap::out_of_fuel, context);
    return outcome_of(sandbox_.run(loaded.program, args, context, meter), context);
}

void Engine::State::configure(const Limits& limits, const Prices& prices) {
    sandbox_.forget();
    used_.clear();
    last_ = nullptr;
    options_.limits = limits;
    options_.prices = prices;
    rules_ = programs_.rules(limits, prices);
    is_open_ = false;
}

Engine::Engine(const HostTable& hosts, const Options& options, Machine& machine, Programs* shared)
    : state_(std::make_unique<State>(hosts, options, machine, shared)) {}

Engine::~Engine() = default;

base::Result<void> Engine::open() {
    return state_->open();
}

Outcome Engine::run(const base::Hash256& code_hash,
                    base::ByteView wasm,
                    const ApplyArgs& args,
                    Context& context,
                    Meter& meter) {
    return state_->run(code_hash, wasm, args, context, meter);
}

void Engine::begin_block() {
    state_->begin_block();
}

void Engine::configure(const Limits& limits, const Prices& prices) {
    state_->configure(limits, prices);
}

base::Result<void> Engine::prepare(const base::Hash256& code_hash, base::ByteView wasm) {
    const std::string& refusal = state_->load(code_hash, wasm).refusal;
    if (refusal.empty()) return {};
    return base::fail(base::Error{base::Errc::invalid, refusal, kSerializationError});
}

const Programs& Engine::programs() const {
    return state_->programs();
}

}  // namespace chain::vm
