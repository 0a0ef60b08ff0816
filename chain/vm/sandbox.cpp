#include "chain/vm/sandbox.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace chain::vm {

namespace {

constexpr std::uint64_t kPageBytes = 65536;
constexpr std::uint64_t kBlockBytes = std::uint64_t{1} << kDirtyShift;
constexpr std::uint64_t kOverhang = 8;  // A store may begin so far before the block it ends in.
// Precision exceptions and all others masked, rounding to nearest, denormals as they are.
constexpr std::uint32_t kFloatMode = 0x1F80;

constexpr std::uint64_t single(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return std::uint64_t{bits} << 32U | bits;
}
constexpr std::uint64_t twice(std::uint32_t bits) {
    return std::uint64_t{bits} << 32U | bits;
}
constexpr std::uint64_t pair(double value) {
    return std::bit_cast<std::uint64_t>(value);
}

// In the order of Constant.
constexpr std::array<std::uint64_t, kConstants> kConstantBits{
    twice(0x7FC00000),
    0x7FF8000000000000,
    twice(0x7FFFFFFF),
    0x7FFFFFFFFFFFFFFF,
    twice(0x80000000),
    0x8000000000000000,
    single(-1.0F),
    pair(-1.0),
    single(2147483648.0F),
    pair(2147483648.0),
    single(-2147483648.0F),
    pair(-2147483649.0),
    single(4294967296.0F),
    pair(4294967296.0),
    single(9223372036854775808.0F),
    pair(9223372036854775808.0),
    single(-9223372036854775808.0F),
    pair(-9223372036854775808.0),
    single(18446744073709551616.0F),
    pair(18446744073709551616.0),
};

}  // namespace

Sandbox::Sandbox(const HostTable& hosts,
                 const Limits& limits,
                 const Prices& prices,
                 Machine& machine)
    : hosts_(hosts), limits_(limits), prices_(prices), machine_(machine) {}

template <class T>
void Sandbox::set(std::int32_t place, const T& value) const {
    std::memcpy(base_ + place, &value, sizeof(T));
}

template <class T>
T Sandbox::get(std::int32_t place) const {
    T value{};
    std::memcpy(&value, base_ + place, sizeof(T));
    return value;
}

base::Result<void> Sandbox::open() {
    CHECK(std::uint64_t{limits_.max_pages} * kPageBytes <= kMaxDirtyBytes * kBlockBytes);
    CHECK(limits_.max_table_elements <= kMaxTableElements);
    CHECK(limits_.max_mutable_global_bytes <= 4 * kMaxMutableGlobals);
    CHECK(limits_.max_stack_bytes <= kMaxStackBytes && limits_.max_call_depth <= kMaxCalls);
    const Machine::Room* const room =
        machine_.room(kBelowMemory, limits_.max_stack_bytes + kStackSlack);
    if (room == nullptr || !machine_.grant(limits_.max_pages * kPageBytes)) {
        return base::fail(base::Errc::unavailable,
                          "contracts need 8 GiB of addresses, which are not used, and 33 MiB of "
                          "memory: raise the limit of virtual memory (ulimit -v)");
    }
    if (base_ != nullptr) return {};
    base_ = room->memory;
    fill_constants();
    set<void*>(field::self, this);
    set(field::call_host, &Sandbox::call_host);
    set(field::grow, &Sandbox::grow);
    set(field::contract_stack, room->stack_end);
    set(field::mxcsr, kFloatMode);
    return {};
}

void Sandbox::fill_constants() const {
    for (std::int32_t i = 0; i < kConstants; ++i) {
        const std::uint64_t bits = kConstantBits[static_cast<std::size_t>(i)];
        set(place_of(static_cast<Constant>(i)), bits);
        set(place_of(static_cast<Constant>(i)) + 8, bits);
    }
}

// Image and zeros into a part of the memory.
void Sandbox::clean(const Program& program, std::uint64_t begin, std::uint64_t end) const {
    const std::uint64_t known = loaded_ == &program ? program.image.size() : 0;
    const std::uint64_t middle = std::clamp<std::uint64_t>(known, begin, end);
    if (middle > begin) std::memcpy(base_ + begin, program.image.data() + begin, middle - begin);
    std::memset(base_ + middle, 0, end - middle);
}

// Clears what the last run wrote, which is in its memory as it was at the end, and changes image
// and table if they were another program's. False: the run was stopped meanwhile.
bool Sandbox::restore(const Program& program) {
    const auto used = get<std::uint64_t>(field::memory_bytes);
    auto* const dirty = reinterpret_cast<std::uint8_t*>(base_ + field::dirty);
    if (loaded_ != &program) std::memset(base_, 0, loaded_bytes_);
    for (std::uint64_t i = 0; i < used / kBlockBytes;) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, dirty + i, 8);
        if (eight == 0) {
            i += 8;
            continue;
        }
        if (dirty[i] != 0) {
            if (machine_.is_stopped()) {
                loaded_ = nullptr;  // A part may be the image, and the rest what it was.
                return false;
            }
            const std::uint64_t begin = i * kBlockBytes;
            clean(program, i == 0 ? 0 : begin - kOverhang, begin + kBlockBytes);
            dirty[i] = 0;
        }
        ++i;
    }
    if (loaded_ == &program) return true;
    if (!program.image.empty()) std::memcpy(base_, program.image.data(), program.image.size());
    if (!program.table.empty()) {
        std::memcpy(
            base_ + field::table, program.table.data(), program.table.size() * sizeof(TableEntry));
    }
    loaded_ = &program;
    loaded_bytes_ = program.image.size();
    return true;
}

void Sandbox::resize(std::uint32_t pages) {
    const std::uint64_t bytes = pages * kPageBytes;
    set(field::memory_bytes, bytes);
    set(field::pages, pages);
    std::uint64_t surcharge = 0;
    if (pages > kMidPages) {
        surcharge = prices_.memory_far;
    } else if (pages > kNearPages) {
        surcharge = prices_.memory_mid;
    }
    set(field::surcharge, surcharge - std::min<std::uint64_t>(surcharge, prices_.memory));
    memory_.data_ = base_;
    memory_.size_ = bytes;
    memory_.dirty_ = reinterpret_cast<std::uint8_t*>(base_ + field::dirty);
}

bool Sandbox::begin(const Program& program, Context& context, Meter& meter) {
    CHECK(base_ != nullptr);
    if (!restore(program)) return false;
    resize(program.initial_pages);
    running_ = &program;
    context_ = &context;
    meter_ = &meter;
    if (!program.globals.empty()) {
        std::memcpy(base_ + field::globals,
                    program.globals.data(),
                    program.globals.size() * sizeof(std::uint64_t));
    }
    return true;
}

Trap Sandbox::run(const Program& program, const ApplyArgs& args, Context& context, Meter& meter) {
    if (!begin(program, context, meter)) return Trap::stopped;
    std::uint64_t none = 0;
    if (program.start) {
        const Trap trap = invoke(*program.start, {}, false, none);
        if (trap != Trap::none) return trap;
    }
    const std::array<std::uint64_t, 3> arguments{args.receiver, args.code, args.action};
    return invoke(program.apply, arguments, false, none);
}

Trap Sandbox::invoke(std::uint32_t function,
                     std::span<const std::uint64_t> arguments,
                     bool returns_float,
                     std::uint64_t& result) {
    using Enter = int (*)(std::byte*, const std::byte*, const std::uint64_t*, std::uint64_t);
    set(field::budget, limits_.max_call_depth * kOneCall + limits_.max_stack_bytes / 8);
    grant_fuel();
    const std::byte* const code = running_->code->begin();
    const auto enter = std::bit_cast<Enter>(code + running_->enter);
    const auto trap = static_cast<Trap>(
        enter(base_, code + running_->functions[function], arguments.data(), arguments.size()));
    if (!take_fuel() || meter_->exhausted()) return Trap::out_of_fuel;
    result = get<std::uint64_t>(returns_float ? field::float_result : field::result);
    return trap;
}

std::uint64_t Sandbox::global(std::size_t place) const {
    return get<std::uint64_t>(field::globals + 8 * static_cast<std::int32_t>(place));
}

void Sandbox::grant_fuel() {
    granted_ = std::min(meter_->remaining(), kMostFuel);
    set(field::fuel, granted_);
}

// What the contract used goes to the meter. False: that was more than there was.
bool Sandbox::take_fuel() {
    const auto left = get<std::int64_t>(field::fuel);
    if (left < 0) return meter_->charge(meter_->remaining() + 1);
    return meter_->charge(granted_ - static_cast<std::uint64_t>(left));
}

bool Sandbox::call(std::uint32_t host, const std::uint64_t* args, std::uint64_t* result) {
    const HostFunction& function = hosts_.at(host);
    const bool paid = take_fuel() && meter_->charge(function.base_price);
    const bool goes_on = paid && function.call(*context_, memory_, *meter_, args, result);
    grant_fuel();
    return goes_on && !meter_->exhausted();
}

// Host functions charge the same meter as the contract: what it used is settled before, and the
// rest granted anew after.
int Sandbox::call_host(void* self,
                       std::uint32_t host,
                       const std::uint64_t* args,
                       std::uint64_t* result) {
    return static_cast<Sandbox*>(self)->call(host, args, result) ? 1 : 0;
}

std::uint32_t Sandbox::grow(void* self, std::uint32_t pages) {
    auto& sandbox = *static_cast<Sandbox*>(self);
    const auto before = sandbox.get<std::uint32_t>(field::pages);
    if (pages > sandbox.running_->maximum_pages - before) return UINT32_MAX;
    sandbox.resize(before + pages);
    return before;
}

}  // namespace chain::vm
