#include "chain/vm/sandbox.hpp"

#include "base/check.hpp"
#include "chain/vm/rewrite.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace chain::vm {

namespace {

constexpr std::uint64_t kPage = 65536;
constexpr std::uint64_t kBlock = 4096;  // What one byte of `dirty` stands for.
constexpr std::uint64_t kOverhang = 8;  // A store at a block's end reaches into the next.
constexpr std::uint64_t kFuelMax = std::uint64_t{1} << 62U;

template <class Number>
Number round_as(int how, Number value) {
    switch (how) {
        case 0:
            return std::ceil(value);
        case 1:
            return std::floor(value);
        case 2:
            return std::trunc(value);
        case 3:
            return std::nearbyint(value);
        default:
            return std::sqrt(value);
    }
}

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
    // Any other end of a contract would be this program's bug, and differ between tiers.
    base::check_failed(reason, __FILE__, __LINE__);
}

}  // namespace

Sandbox::Sandbox(const HostTable& hosts, std::uint32_t max_pages)
    : hosts_(hosts), reserved_(max_pages * kPage) {}

// An engine that only interprets needs no arena.
void Sandbox::reserve() {
    // calloc maps fresh zero pages for a block of this size and touches none of them.
    // NOLINTNEXTLINE(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
    arena_.reset(static_cast<std::byte*>(std::calloc(reserved_ + kBlock, 1)));
    CHECK(arena_ != nullptr);
    dirty_.assign(reserved_ / kBlock + 1, 0);
    host_ = {this,
             reinterpret_cast<std::uint8_t*>(arena_.get()),
             dirty_.data(),
             &Sandbox::call_native,
             &Sandbox::resized,
             &round_as<double>,
             &round_as<float>};
}

void Sandbox::Free::operator()(std::byte* memory) const {
    std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory)
}

void Sandbox::attach(Context& context, Meter& meter, std::uint64_t stack) {
    context_ = &context;
    meter_ = &meter;
    stack_ = stack;
    stopped_by_host_ = false;
}

// Makes the arena hold `image` and zeros: clears what the last run wrote, and changes the
// image if it was another module's.
void Sandbox::restore(const Image& image) {
    // No run writes beyond the end of its memory; host functions see the same end.
    const std::size_t blocks = used_bytes_ / kBlock;
    const auto clean = [&](std::uint64_t begin, std::uint64_t end) {
        const std::uint64_t known = loaded_ == &image ? image.bytes.size() : 0;
        const std::uint64_t middle = std::clamp<std::uint64_t>(known, begin, end);
        if (middle > begin) {
            std::memcpy(arena_.get() + begin, image.bytes.data() + begin, middle - begin);
        }
        std::memset(arena_.get() + middle, 0, end - middle);
    };
    if (loaded_ != &image) std::memset(arena_.get(), 0, loaded_bytes_);
    for (std::size_t i = 0; i < blocks;) {
        std::uint64_t eight = 1;
        if (i + 8 <= blocks) std::memcpy(&eight, dirty_.data() + i, 8);
        if (eight == 0) {
            i += 8;
            continue;
        }
        if (dirty_[i] != 0) {
            clean(i * kBlock, std::min(i * kBlock + kBlock + kOverhang, reserved_));
            dirty_[i] = 0;
        }
        ++i;
    }
    if (loaded_ != &image && !image.bytes.empty()) {
        std::memcpy(arena_.get(), image.bytes.data(), image.bytes.size());
    }
    loaded_ = &image;
    loaded_bytes_ = image.bytes.size();
    used_bytes_ = image.memory_bytes;
}

Trap Sandbox::run(NativeCode& code, const Image& image, const ApplyArgs& args) {
    if (arena_ == nullptr) reserve();
    restore(image);
    memory_.data_ = arena_.get();
    memory_.size_ = image.memory_bytes;
    memory_.dirty_ = dirty_.data();
    code.reset(host_, image.memory_bytes);
    granted_ = std::min(meter_->remaining(), kFuelMax);
    native_fuel_ = &code.fuel();
    code.fuel() = granted_;
    code.stack() = stack_;
    code.trap() = 0;
    const Trap trap = code.apply(args);
    return settle(trap, code.fuel(), code.trap(), code.stack());
}

Trap Sandbox::run(WabtInstance& instance, const Image& image, const ApplyArgs& args) {
    using Counter = WabtInstance::Counter;
    instance.reset();
    std::uint8_t* bytes = instance.memory();
    if (image.memory_bytes > 0) std::memset(bytes, 0, image.memory_bytes);
    if (!image.bytes.empty()) std::memcpy(bytes, image.bytes.data(), image.bytes.size());
    memory_.dirty_ = nullptr;
    granted_ = std::min(meter_->remaining(), kFuelMax);
    native_fuel_ = nullptr;
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

int Sandbox::call_native(void* self,
                         std::uint32_t host,
                         const std::uint64_t* args,
                         std::uint64_t* result) {
    auto& sandbox = *static_cast<Sandbox*>(self);
    return sandbox.call(host, *sandbox.native_fuel_, args, result) ? 1 : 0;
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

void Sandbox::resized(void* self, std::uint64_t bytes) {
    auto& sandbox = *static_cast<Sandbox*>(self);
    sandbox.memory_.size_ = bytes;
    sandbox.used_bytes_ = bytes;
}

}  // namespace chain::vm
