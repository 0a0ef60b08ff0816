#include "base/check.hpp"
#include "chain/vm/machine.hpp"
#include "chain/vm/program.hpp"
#include "chain/vm/sandbox.hpp"
#include "chain/vm/vm.hpp"

#include <list>
#include <map>

namespace chain::vm {

namespace {

constexpr std::uint32_t kSerializationError = 3070003;

// A module as it is kept.
struct Loaded {
    base::Hash256 code_hash;
    Program program;
    std::uint64_t start_price = 0;
    std::string refusal;  // Not empty: the code is no valid module.

    [[nodiscard]] std::size_t bytes() const {
        return sizeof(Loaded) + program.bytes + refusal.size();
    }
};

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
    State(const HostTable& hosts, const Options& options, Machine& machine)
        : hosts_(hosts),
          options_(options),
          machine_(machine),
          sandbox_(hosts, options_.limits, options_.prices, machine) {}

    Outcome run(const base::Hash256& code_hash,
                base::ByteView wasm,
                const ApplyArgs& args,
                Context& context,
                Meter& meter);
    base::Result<void> open();
    const Loaded& load(const base::Hash256& code_hash, base::ByteView wasm);
    void configure(const Limits& limits, const Prices& prices);
    [[nodiscard]] std::size_t cached_bytes() const { return bytes_; }

  private:
    void prepare(Loaded& loaded, base::ByteView wasm);
    void make_room();

    const HostTable& hosts_;
    Options options_;
    Machine& machine_;
    Sandbox sandbox_;
    bool is_open_ = false;      // The sandbox, for the limits of now.
    std::list<Loaded> loaded_;  // The most recently used first.
    std::map<base::Hash256, std::list<Loaded>::iterator> by_hash_;
    std::size_t bytes_ = 0;
};

const Loaded& Engine::State::load(const base::Hash256& code_hash, base::ByteView wasm) {
    if (!loaded_.empty() && loaded_.front().code_hash == code_hash) return loaded_.front();
    const auto at = by_hash_.find(code_hash);
    if (at != by_hash_.end()) {
        loaded_.splice(loaded_.begin(), loaded_, at->second);
        return loaded_.front();
    }
    Loaded& fresh = loaded_.emplace_front();
    fresh.code_hash = code_hash;
    by_hash_.emplace(code_hash, loaded_.begin());
    prepare(fresh, wasm);
    bytes_ += fresh.bytes();
    make_room();
    return fresh;
}

// The one that was asked for stays, however large it is.
void Engine::State::make_room() {
    while (bytes_ > options_.cache_bytes && loaded_.size() > 1) {
        sandbox_.forget();
        bytes_ -= loaded_.back().bytes();
        by_hash_.erase(loaded_.back().code_hash);
        loaded_.pop_back();
    }
}

void Engine::State::prepare(Loaded& loaded, base::ByteView wasm) {
    const base::Result<Module> module = scan(wasm, options_.limits, hosts_);
    if (!module) {
        loaded.refusal = module.error().detail;
        return;
    }
    auto program = make_program(*module, options_.limits, options_.prices, machine_);
    if (!program) {
        // Only what is wrong with the contract may decide about a transaction.
        if (program.error().code == base::Errc::unavailable) {
            base::check_failed(program.error().detail, __FILE__, __LINE__);
        }
        loaded.refusal = program.error().detail;
        return;
    }
    loaded.program = std::move(*program);
    const std::uint64_t data = (loaded.program.image.size() + 1023) / 1024;
    loaded.start_price = options_.prices.run +
                         std::uint64_t{loaded.program.initial_pages} * options_.prices.page +
                         data * options_.prices.data;
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
    const Loaded& loaded = load(code_hash, wasm);
    if (!loaded.refusal.empty()) {
        return {Outcome::Kind::trapped, Trap::invalid_module, loaded.refusal};
    }
    if (!meter.charge(loaded.start_price)) return outcome_of(Trap::out_of_fuel, context);
    return outcome_of(sandbox_.run(loaded.program, args, context, meter), context);
}

void Engine::State::configure(const Limits& limits, const Prices& prices) {
    sandbox_.forget();
    by_hash_.clear();
    loaded_.clear();
    bytes_ = 0;
    options_.limits = limits;
    options_.prices = prices;
    is_open_ = false;
}

Engine::Engine(const HostTable& hosts, const Options& options, Machine& machine)
    : state_(std::make_unique<State>(hosts, options, machine)) {}

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

void Engine::configure(const Limits& limits, const Prices& prices) {
    state_->configure(limits, prices);
}

base::Result<void> Engine::prepare(const base::Hash256& code_hash, base::ByteView wasm) {
    const std::string& refusal = state_->load(code_hash, wasm).refusal;
    if (refusal.empty()) return {};
    return base::fail(base::Error{base::Errc::invalid, refusal, kSerializationError});
}

std::size_t Engine::cached_bytes() const {
    return state_->cached_bytes();
}

}  // namespace chain::vm
