#include "chain/vm/sandbox.hpp"

#include "base/check.hpp"
#include "chain/vm/rewrite.hpp"

#include <algorithm>
#include <cstring>

namespace chain::vm {

namespace {

constexpr std::uint64_t kFuelMax = std::uint64_t{1} << 62U;

// WABT's texts, by how they begin.
Trap trap_of(const std::string& reason) {
    constexpr std::pair<std::string_view, Trap> kTexts[] = {
        {"unreachable executed", Trap::unreachable},
        {"out of bounds memory access", Trap::memory_out_of_bounds},
        {"integer divide by zero", Trap::divide_by_zero},
        {"integer overflow", Trap::integer_overflow},
        {"invalid conversion to integer", Trap::invalid_conversion},
        {"undefined table index", Trap::indirect_call},
        {"uninitialized table element", Trap::indirect_call},
        {"indirect call signature mismatch", Trap::indirect_call},
        {"host", Trap::host_stop},
    };
    for (const auto& [text, trap] : kTexts) {
        if (reason.starts_with(text)) return trap;
    }
    // Any other end of a contract would be this program's bug.
    base::check_failed(reason, __FILE__, __LINE__);
}

}  // namespace

void Sandbox::attach(Context& context, Meter& meter, std::uint64_t stack) {
    context_ = &context;
    meter_ = &meter;
    stack_ = stack;
    stopped_by_host_ = false;
}

Trap Sandbox::run(WabtInstance& instance, const Image& image, const ApplyArgs& args) {
    using Counter = WabtInstance::Counter;
    instance.reset();
    std::uint8_t* bytes = instance.memory();
    if (image.memory_bytes > 0) std::memset(bytes, 0, image.memory_bytes);
    if (!image.bytes.empty()) std::memcpy(bytes, image.bytes.data(), image.bytes.size());
    granted_ = std::min(meter_->remaining(), kFuelMax);
    interpreter_ = &instance;
    instance.set_counter(Counter::fuel, granted_);
    instance.set_counter(Counter::stack, stack_);
    instance.set_counter(Counter::trap, 0);
    const std::uint64_t slots[] = {args.receiver, args.code, args.action};
    std::string reason;
    const bool done = instance.apply(slots, &reason) == WabtInstance::End::ok;
    return settle(done ? Trap::none : trap_of(reason),
                  instance.counter(Counter::fuel),
                  static_cast<std::uint32_t>(instance.counter(Counter::trap)),
                  instance.counter(Counter::stack));
}

// Takes what the contract used from the meter and names the end of the run.
Trap Sandbox::settle(Trap trap, std::uint64_t fuel, std::uint32_t code, std::uint64_t stack) {
    if (!meter_->exhausted()) {
        // Below zero fuel wraps round to more than was granted.
        const std::uint64_t used = fuel > granted_ ? meter_->remaining() + 1 : granted_ - fuel;
        if (!meter_->charge(used)) trap = Trap::out_of_fuel;
    }
    if (meter_->exhausted()) return Trap::out_of_fuel;
    if (stopped_by_host_) return Trap::host_stop;
    if (trap != Trap::unreachable || code != kTrapStack) return trap;
    return (stack >> 63U) != 0 ? Trap::call_depth : Trap::stack_bytes;
}

// Host functions charge the same meter as the contract: settle before, grant anew after.
bool Sandbox::call(std::uint32_t host,
                   std::uint64_t& fuel,
                   const std::uint64_t* args,
                   std::uint64_t* result) {
    const HostFunction& function = hosts_.at(host);
    const std::uint64_t used = fuel > granted_ ? meter_->remaining() + 1 : granted_ - fuel;
    bool ok = meter_->charge(used) && meter_->charge(function.base_price);
    if (ok) ok = function.call(*context_, memory_, *meter_, args, result);
    stopped_by_host_ = !ok;
    granted_ = std::min(meter_->remaining(), kFuelMax);
    fuel = granted_;
    return ok && !meter_->exhausted();
}

bool Sandbox::call_interpreted(void* self,
                               std::uint32_t host,
                               const std::uint64_t* args,
                               std::uint64_t* result) {
    using Counter = WabtInstance::Counter;
    auto& sandbox = *static_cast<Sandbox*>(self);
    WabtInstance& instance = *sandbox.interpreter_;
    sandbox.memory_.data_ = reinterpret_cast<std::byte*>(instance.memory());
    sandbox.memory_.size_ = instance.memory_size();
    std::uint64_t fuel = instance.counter(Counter::fuel);
    const bool ok = sandbox.call(host, fuel, args, result);
    instance.set_counter(Counter::fuel, fuel);
    return ok;
}

}  // namespace chain::vm
