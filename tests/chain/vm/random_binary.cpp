#include "random_binary.hpp"

#include "machine.hpp"
#include "wasm_writer.hpp"

namespace random_binary {

namespace {

constexpr const char* kHostNames[] = {
    "tell", "sum", "fill", "leave", "mix", "digest", "many", "low", "halves"};
static_assert(std::size(kHostNames) == host_count);

constexpr std::uint32_t kMaxPages = 528;

class ModuleMaker {
  public:
    ModuleMaker(std::uint64_t seed, const Options& options) : rng_(seed), options_(options) {}

    base::Bytes make();

  private:
    void plan();
    Signature any_signature();
    std::uint32_t add_type(const Signature& type);

    base::Bytes types();
    base::Bytes imports();
    base::Bytes functions();
    base::Bytes table();
    base::Bytes memory();
    base::Bytes globals();
    base::Bytes exports();
    base::Bytes elements();
    base::Bytes code();
    base::Bytes data();
    void section(std::uint8_t id, const base::Bytes& content) {
        out_.u8(id);
        out_.sized(content);
    }

    bool chance(unsigned percent) { return rng_.below(100) < percent; }
    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(rng_.below(bound));
    }

    base::Rng rng_;
    Options options_;
    Plan plan_;
    WasmWriter out_;
    std::optional<std::uint32_t> start_;
};

Signature ModuleMaker::any_signature() {
    Signature out;
    std::uint32_t params = below(5);
    if (chance(10)) params = below(20);
    if (chance(2)) params = 64;
    for (std::uint32_t i = 0; i < params; ++i)
        out.params.push_back(static_cast<Type>(below(4)));
    if (chance(75)) out.result = static_cast<Type>(below(4));
    return out;
}

std::uint32_t ModuleMaker::add_type(const Signature& type) {
    plan_.types.push_back(type);
    return static_cast<std::uint32_t>(plan_.types.size() - 1);
}

void ModuleMaker::plan() {
    for (const char* const name : kHostNames) {
        const chain::vm::HostFunction& host = machine::hosts().at(*machine::hosts().find(name));
        plan_.functions.push_back(add_type({host.params, host.result}));
    }
    const std::uint32_t first_type = static_cast<std::uint32_t>(plan_.types.size());
    const std::uint32_t types = 1 + below(5);
    for (std::uint32_t i = 0; i < types; ++i)
        add_type(any_signature());
    // The same type twice: both fit.
    if (chance(30)) add_type(plan_.types[first_type]);
    const std::uint32_t all = static_cast<std::uint32_t>(plan_.types.size()) - first_type;
    // Functions call later ones: apply comes first.
    plan_.apply = static_cast<std::uint32_t>(plan_.functions.size());
    plan_.functions.push_back(add_type({{Type::i64, Type::i64, Type::i64}, std::nullopt}));
    const std::uint32_t functions = below(7);
    for (std::uint32_t i = 0; i < functions; ++i)
        plan_.functions.push_back(first_type + below(all));
    if (chance(10)) {
        start_ = static_cast<std::uint32_t>(plan_.functions.size());
        plan_.functions.push_back(add_type({}));
    }
    plan_.globals.push_back({Type::i32, true});
    const std::uint32_t globals = below(9);
    for (std::uint32_t i = 0; i < globals; ++i)
        plan_.globals.push_back({static_cast<Type>(below(4)), chance(80)});
    plan_.pages = 1 + below(3);
    if (chance(4)) plan_.pages = chance(50) ? 16 + below(2) : 64 + below(2);
    if (chance(3)) plan_.pages = 0;
    const std::uint32_t elements = below(12);
    for (std::uint32_t i = 0; i < elements; ++i)
        plan_.table.push_back(below(static_cast<std::uint32_t>(plan_.functions.size())));
}

base::Bytes ModuleMaker::types() {
    WasmWriter out;
    out.u32(static_cast<std::uint32_t>(plan_.types.size()));
    for (const Signature& type : plan_.types) {
        out.u8(0x60);
        out.u32(static_cast<std::uint32_t>(type.params.size()));
        for (const Type param : type.params)
            out.value_type(param);
        out.u32(type.result ? 1 : 0);
        if (type.result) out.value_type(*type.result);
    }
    return out.take();
}

base::Bytes ModuleMaker::imports() {
    WasmWriter out;
    out.u32(host_count);
    for (std::uint32_t i = 0; i < host_count; ++i) {
        out.name("env");
        out.name(kHostNames[i]);
        out.u8(0);
        out.u32(plan_.functions[i]);
    }
    return out.take();
}

base::Bytes ModuleMaker::functions() {
    WasmWriter out;
    out.u32(static_cast<std::uint32_t>(plan_.functions.size() - host_count));
    for (std::size_t i = host_count; i < plan_.functions.size(); ++i)
        out.u32(plan_.functions[i]);
    return out.take();
}

base::Bytes ModuleMaker::table() {
    WasmWriter out;
    out.u32(1);
    out.u8(0x70);
    out.u8(0);
    out.u32(static_cast<std::uint32_t>(plan_.table.size()) + 1);
    return out.take();
}

// Always with a maximum: engines that know no limit of ours then agree on what grows.
base::Bytes ModuleMaker::memory() {
    WasmWriter out;
    out.u32(1);
    out.u8(1);
    out.u32(plan_.pages);
    out.u32(chance(50) ? kMaxPages : plan_.pages + below(60));
    return out.take();
}

base::Bytes ModuleMaker::globals() {
    WasmWriter out;
    out.u32(static_cast<std::uint32_t>(plan_.globals.size()));
    for (std::size_t i = 0; i < plan_.globals.size(); ++i) {
        const GlobalPlan& global = plan_.globals[i];
        out.value_type(global.type);
        out.u8(global.is_mutable ? 1 : 0);
        out.constant(global.type, i == 0 ? rng_.below(200) : any_bits(global.type, rng_));
        out.u8(op::end);
    }
    return out.take();
}

base::Bytes ModuleMaker::exports() {
    WasmWriter out;
    const bool memory = plan_.pages > 0 && chance(50);
    out.u32(memory ? 2 : 1);
    out.name("apply");
    out.u8(0);
    out.u32(plan_.apply);
    if (memory) {
        out.name("memory");
        out.u8(2);
        out.u32(0);
    }
    return out.take();
}

base::Bytes ModuleMaker::elements() {
    WasmWriter out;
    out.u32(1);
    out.u32(0);
    out.constant(Type::i32, 1);
    out.u8(op::end);
    out.u32(static_cast<std::uint32_t>(plan_.table.size()));
    for (const std::uint32_t function : plan_.table)
        out.u32(function);
    return out.take();
}

base::Bytes ModuleMaker::code() {
    WasmWriter out;
    out.u32(static_cast<std::uint32_t>(plan_.functions.size() - host_count));
    for (std::size_t i = host_count; i < plan_.functions.size(); ++i)
        out.sized(make_body(plan_, static_cast<std::uint32_t>(i), options_, rng_));
    return out.take();
}

base::Bytes ModuleMaker::data() {
    WasmWriter out;
    const std::uint32_t segments = 1 + below(3);
    out.u32(segments);
    for (std::uint32_t i = 0; i < segments; ++i) {
        const std::uint32_t bytes = 1 + below(chance(10) ? 3000 : 40);
        out.u32(0);
        // May end where the memory's first page, and the limit for data, ends.
        out.constant(Type::i32, chance(10) ? 65536 - bytes : below(60000));
        out.u8(op::end);
        base::Bytes content;
        for (std::uint32_t j = 0; j < bytes; ++j)
            content.push_back(static_cast<std::byte>(below(256)));
        out.sized(content);
    }
    return out.take();
}

base::Bytes ModuleMaker::make() {
    plan();
    out_.fixed(0x000000016D736100U, 8);
    section(1, types());
    section(2, imports());
    section(3, functions());
    section(4, table());
    if (plan_.pages > 0) section(5, memory());
    section(6, globals());
    section(7, exports());
    if (start_) {
        out_.u8(8);
        out_.u8(1);
        out_.u32(*start_);
    }
    section(9, elements());
    section(10, code());
    if (plan_.pages > 0 && chance(80)) section(11, data());
    return out_.take();
}

constexpr std::uint64_t kEdges32[] = {
    0, 1, 2, 31, 32, 33, 255, 65535, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFF80, 0x12345678};
constexpr std::uint64_t kEdges64[] = {0,
                                      1,
                                      63,
                                      64,
                                      0x7FFFFFFF,
                                      0x80000000,
                                      0xFFFFFFFF,
                                      0x100000000,
                                      0x7FFFFFFFFFFFFFFF,
                                      0x8000000000000000,
                                      0xFFFFFFFFFFFFFFFF,
                                      0x8000008000000001,
                                      0xFFFFFFFFFFFFF7FF,
                                      0xFFFFFFFF80000000};
// Zeros, ones, halves (for rounding), ends of the integers, infinities, NaNs quiet and signalling,
// numbers below the normal ones.
constexpr std::uint64_t kEdgesF32[] = {0,          0x80000000, 0x3F800000, 0xBFC00000, 0x3F000000,
                                       0x40200000, 0x4F000000, 0xCF000000, 0x4F800000, 0x5F000000,
                                       0xDF000000, 0x5F800000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                       0xFFC00000, 0x7F800001, 0xFFA00123, 1,          0x807FFFFF,
                                       0x00800000, 0x7F7FFFFF, 0x3DCCCCCD, 0x4B7FFFFF, 0xCB000001};
constexpr std::uint64_t kEdgesF64[] = {
    0,
    0x8000000000000000,
    0x3FF0000000000000,
    0xBFF8000000000000,
    0x3FE0000000000000,
    0x4004000000000000,
    0x41DFFFFFFFC00000,  // 2^31 - 1
    0x41E0000000000000,
    0xC1E0000000200000,  // -2^31 - 1
    0xC1E00000001FFFFF,
    0x41EFFFFFFFE00000,  // 2^32 - 1
    0x41F0000000000000,
    0x43E0000000000000,  // 2^63
    0xC3E0000000000000,
    0x43F0000000000000,
    0xBFEFFFFFFFFFFFFF,  // Just above -1.
    0x7FF0000000000000,
    0xFFF0000000000000,
    0x7FF8000000000000,
    0xFFF8000000000000,
    0x7FF0000000000001,
    0xFFF4000000000123,
    1,
    0x800FFFFFFFFFFFFF,
    0x7FEFFFFFFFFFFFFF,
    0x47EFFFFFF0000000,  // Between the greatest f32 and what rounds to infinity.
    0x3690000000000000,
    0x4340000000000001};

}  // namespace

std::uint64_t any_bits(Type type, base::Rng& rng) {
    const auto draw = [&](const auto& edges) { return edges[rng.below(std::size(edges))]; };
    const bool is_edge = rng.below(4) != 0;
    switch (type) {
        case Type::i32:
            return is_edge ? draw(kEdges32) : rng.below(std::uint64_t{1} << 32U);
        case Type::i64:
            return is_edge ? draw(kEdges64) : rng.below(~std::uint64_t{0});
        case Type::f32:
            return is_edge ? draw(kEdgesF32) : rng.below(std::uint64_t{1} << 32U);
        default:
            return is_edge ? draw(kEdgesF64) : rng.below(~std::uint64_t{0});
    }
}

base::Bytes make(std::uint64_t seed, const Options& options) {
    return ModuleMaker(seed, options).make();
}

}  // namespace random_binary
