#include "base/check.hpp"
#include "chain/vm/machine.hpp"
#include "chain/vm/rewrite.hpp"
#include "chain/vm/sandbox.hpp"
#include "chain/vm/vm.hpp"

#include <list>
#include <map>

namespace chain::vm {

namespace {

// A loaded module.
struct Loaded {
    base::Hash256 code_hash;
    base::Bytes rewritten;
    Sandbox::Image image;
    std::uint64_t start_price = 0;
    std::string refusal;  // Not empty: the code is no valid module.
    std::unique_ptr<WabtInstance> interpreted;
};

// A memory that grew in the interpreter is given back when it is larger than this.
constexpr std::uint64_t kKeptInterpreterMemory = 1 << 20;
// WABT's interpreter has room for 1,365 frames.
constexpr std::uint32_t kMaxCallDepth = 1000;
constexpr std::uint32_t kSerializationError = 3070003;

Outcome outcome_of(Trap trap, const Context& context) {
    switch (trap) {
        case Trap::none:
            return {};
        case Trap::host_stop:
            if (context.stop == Stop::exit) return {Outcome::Kind::exited, Trap::none, {}};
            return {Outcome::Kind::trapped, trap, context.stop_text};
        case Trap::unreachable:
            return {Outcome::Kind::trapped, trap, "eos-vm system failure"};
        case Trap::memory_out_of_bounds:
        case Trap::divide_by_zero:
        case Trap::integer_overflow:
            return {Outcome::Kind::trapped, trap, "access violation"};
        case Trap::call_depth:
        case Trap::stack_bytes:
            return {Outcome::Kind::trapped, trap, "stack overflow"};
        case Trap::out_of_fuel:
            return {Outcome::Kind::trapped, trap, "transaction was executing for too long"};
        default:
            return {Outcome::Kind::trapped, trap, "eos-vm system failure"};
    }
}

}  // namespace

class Engine::State {
  public:
    State(const HostTable& hosts, const Options& options, Machine& machine)
        : hosts_(hosts), options_(options), machine_(machine), sandbox_(hosts) {
        CHECK(options.cached_modules > 0);
        CHECK(options.limits.max_call_depth <= kMaxCallDepth);
    }

    Outcome run(const base::Hash256& code_hash,
                base::ByteView wasm,
                const ApplyArgs& args,
                Context& context,
                Meter& meter);
    std::string warm_up(const base::Hash256& code_hash, base::ByteView wasm);
    void configure(const Limits& limits, const Prices& prices);

  private:
    Loaded& load(const base::Hash256& code_hash, base::ByteView wasm);
    void prepare(Loaded& loaded, base::ByteView wasm) const;
    void interpret(Loaded& loaded);

    const HostTable& hosts_;
    Options options_;
    // Of no use to the interpreter.
    [[maybe_unused]] Machine& machine_;
    Sandbox sandbox_;
    std::list<Loaded> loaded_;  // The most recently used first.
    std::map<base::Hash256, std::list<Loaded>::iterator> by_hash_;
};

Loaded& Engine::State::load(const base::Hash256& code_hash, base::ByteView wasm) {
    if (!loaded_.empty() && loaded_.front().code_hash == code_hash) return loaded_.front();
    const auto at = by_hash_.find(code_hash);
    if (at != by_hash_.end()) {
        loaded_.splice(loaded_.begin(), loaded_, at->second);
        return loaded_.front();
    }
    if (loaded_.size() >= options_.cached_modules) {
        by_hash_.erase(loaded_.back().code_hash);
        loaded_.pop_back();
    }
    loaded_.emplace_front();
    Loaded& fresh = loaded_.front();
    fresh.code_hash = code_hash;
    by_hash_.emplace(code_hash, loaded_.begin());
    prepare(fresh, wasm);
    return fresh;
}

void Engine::State::prepare(Loaded& loaded, base::ByteView wasm) const {
    const base::Result<Module> module = scan_and_validate(wasm, options_.limits, hosts_);
    if (!module) {
        loaded.refusal = module.error().detail;
        return;
    }
    loaded.rewritten = rewrite(*module, options_.limits, options_.prices);
    loaded.image.bytes.resize(module->data_end());
    for (const Module::Data& segment : module->data) {
        std::copy(segment.bytes.begin(),
                  segment.bytes.end(),
                  loaded.image.bytes.begin() + segment.offset);
    }
    const std::uint64_t pages = module->initial_pages();
    loaded.image.memory_bytes = pages * 65536;
    const std::uint64_t data = (loaded.image.bytes.size() + 1023) / 1024;
    loaded.start_price =
        options_.prices.run + pages * options_.prices.page + data * options_.prices.data;
}

void Engine::State::interpret(Loaded& loaded) {
    std::string error;
    loaded.interpreted =
        WabtInstance::make(reinterpret_cast<const std::uint8_t*>(loaded.rewritten.data()),
                           loaded.rewritten.size(),
                           &Sandbox::call_interpreted,
                           &sandbox_,
                           &error);
    // The module was validated before it was rewritten.
    if (!loaded.interpreted) base::check_failed(error, __FILE__, __LINE__);
}

Outcome Engine::State::run(const base::Hash256& code_hash,
                           base::ByteView wasm,
                           const ApplyArgs& args,
                           Context& context,
                           Meter& meter) {
    Loaded& loaded = load(code_hash, wasm);
    if (!loaded.refusal.empty()) {
        return {Outcome::Kind::trapped, Trap::invalid_module, loaded.refusal};
    }
    if (!meter.charge(loaded.start_price)) return outcome_of(Trap::out_of_fuel, context);
    sandbox_.attach(context, meter, initial_stack(options_.limits));
    if (!loaded.interpreted) interpret(loaded);
    const Trap trap = sandbox_.run(*loaded.interpreted, loaded.image, args);
    if (loaded.interpreted->memory_size() > kKeptInterpreterMemory) loaded.interpreted.reset();
    return outcome_of(trap, context);
}

std::string Engine::State::warm_up(const base::Hash256& code_hash, base::ByteView wasm) {
    return load(code_hash, wasm).refusal;
}

void Engine::State::configure(const Limits& limits, const Prices& prices) {
    by_hash_.clear();
    loaded_.clear();
    CHECK(limits.max_call_depth <= kMaxCallDepth);
    options_.limits = limits;
    options_.prices = prices;
}

Engine::Engine(const HostTable& hosts, const Options& options, Machine& machine)
    : state_(std::make_unique<State>(hosts, options, machine)) {}

Engine::~Engine() = default;

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
    const std::string refusal = state_->warm_up(code_hash, wasm);
    if (refusal.empty()) return {};
    return base::fail(base::Error{base::Errc::invalid, refusal, kSerializationError});
}

}  // namespace chain::vm
