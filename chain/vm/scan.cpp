#include "chain/vm/instruction.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/validator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chain::vm {

namespace {

constexpr std::uint32_t kWasmException = 3070000;
constexpr std::uint32_t kSerializationError = 3070003;
constexpr std::uint32_t kPagesOfAddressSpace = 65536;
constexpr std::uint64_t kSlotBytes = 8;

enum Section : std::uint8_t {
    custom,
    type,
    import,
    function,
    table,
    memory,
    global,
    exports,
    start,
    element,
    code,
    data,
};

base::Error refused(std::string detail, std::uint32_t exception = kSerializationError) {
    return {base::Errc::invalid, std::move(detail), exception};
}

std::uint32_t size_of(ValueType value) {
    return value == ValueType::i32 || value == ValueType::f32 ? 4 : 8;
}

class Scanner {
  public:
    Scanner(const Limits& limits, const HostTable& hosts, const ScanOptions& options)
        : limits_(limits), hosts_(hosts), options_(options) {}

    base::Result<Module> run(base::ByteView wasm);

  private:
    void next_section(WasmReader& in);
    void read_section(std::uint8_t id, WasmReader& in);
    void read_types(WasmReader& in);
    void read_imports(WasmReader& in);
    void read_functions(WasmReader& in);
    void read_table(WasmReader& in);
    void read_memory(WasmReader& in);
    void read_globals(WasmReader& in);
    void read_exports(WasmReader& in);
    void read_elements(WasmReader& in);
    void read_code(WasmReader& in);
    void read_data(WasmReader& in);

    std::uint32_t count(WasmReader& in, std::string_view what);
    ValueType read_value_type(WasmReader& in);
    std::vector<ValueType> read_value_types(WasmReader& in,
                                            std::uint32_t limit,
                                            std::string_view what);
    std::string_view read_name(WasmReader& in);
    std::uint32_t read_type_index(WasmReader& in);
    std::uint32_t read_function_index(WasmReader& in);
    std::uint32_t read_offset(WasmReader& in);
    void read_constant(WasmReader& in, Module::Global& out);
    void check_export(WasmReader& in, std::uint8_t kind, std::uint32_t index);
    void link(WasmReader& in, std::string_view from, Module::Import import);
    void read_body(WasmReader& in, const FunctionType& signature);
    void check_apply();
    void check_whole();
    void refuse(base::Error error) {
        if (!error_) error_ = std::move(error);
    }

    const Limits& limits_;
    const HostTable& hosts_;
    const ScanOptions& options_;
    Module module_;
    std::uint8_t last_ = custom;  // Section; they ascend.
    std::optional<std::uint32_t> apply_;
    std::optional<base::Error> error_;
};

base::Result<Module> Scanner::run(base::ByteView wasm) {
    if (wasm.size() > limits_.max_module_bytes) {
        return base::fail(refused(
            fmt::format("module of {} bytes, limit {}", wasm.size(), limits_.max_module_bytes)));
    }
    WasmReader in(wasm);
    const std::uint32_t magic = in.fixed32();
    const std::uint32_t version = in.fixed32();
    if (!in.ok() || magic != 0x6D736100U || version != 1) {
        return base::fail(refused("no WebAssembly module of version 1"));
    }
    while (in.ok() && !in.done() && !error_)
        next_section(in);
    if (!in.ok()) refuse(refused(in.error()));
    if (!error_) check_whole();
    if (error_) return base::fail(*error_);
    return std::move(module_);
}

void Scanner::next_section(WasmReader& in) {
    const std::uint8_t id = in.u8();
    const std::uint32_t size = in.u32();
    const std::size_t body_start = in.module_offset();
    WasmReader section(in.raw(size), body_start);
    if (!in.ok()) return;
    if (id == custom) {
        section.name(size);
        if (!section.ok()) refuse(refused("custom section: " + section.error()));
        return;
    }
    if (id > data || id <= last_) {
        return in.set_error(fmt::format("section {} after section {}", id, last_));
    }
    last_ = id;
    read_section(id, section);
    if (section.ok() && !section.done()) section.set_error("bytes after the section's end");
    if (!section.ok()) refuse(refused(fmt::format("section {}: {}", id, section.error())));
}

void Scanner::read_section(std::uint8_t id, WasmReader& in) {
    switch (id) {
        case type:
            return read_types(in);
        case import:
            return read_imports(in);
        case function:
            return read_functions(in);
        case table:
            return read_table(in);
        case memory:
            return read_memory(in);
        case global:
            return read_globals(in);
        case exports:
            return read_exports(in);
        case start:
            module_.start = read_function_index(in);
            return;
        case element:
            return read_elements(in);
        case code:
            return read_code(in);
        default:
            return read_data(in);
    }
}

std::uint32_t Scanner::count(WasmReader& in, std::string_view what) {
    return in.count(limits_.max_section_elements, what);
}

ValueType Scanner::read_value_type(WasmReader& in) {
    const std::uint8_t byte = in.u8();
    if (byte < kF64Byte || byte > kI32Byte) in.set_error("unknown value type");
    return in.ok() ? static_cast<ValueType>(kI32Byte - byte) : ValueType::i32;
}

std::vector<ValueType> Scanner::read_value_types(WasmReader& in,
                                                 std::uint32_t limit,
                                                 std::string_view what) {
    const std::uint32_t found = in.count(limit, what);
    std::vector<ValueType> out;
    out.reserve(found);
    for (std::uint32_t i = 0; i < found && in.ok(); ++i)
        out.push_back(read_value_type(in));
    return out;
}

std::string_view Scanner::read_name(WasmReader& in) {
    return in.name(limits_.max_symbol_bytes);
}

std::uint32_t Scanner::read_type_index(WasmReader& in) {
    const std::uint32_t index = in.u32();
    if (in.ok() && index < module_.types.size()) return index;
    in.set_error(fmt::format("type {} of {}", index, module_.types.size()));
    return 0;
}

std::uint32_t Scanner::read_function_index(WasmReader& in) {
    const std::uint32_t index = in.u32();
    if (in.ok() && index < module_.function_count()) return index;
    in.set_error(fmt::format("function {} of {}", index, module_.function_count()));
    return 0;
}

// The offset of a segment: only constants are possible, since no global can be imported.
std::uint32_t Scanner::read_offset(WasmReader& in) {
    const bool constant = in.u8() == op::i32_const;
    const std::int32_t value = constant ? in.s32() : 0;
    if (in.ok() && (!constant || in.u8() != op::end)) in.set_error("offset is not an i32.const");
    return static_cast<std::uint32_t>(value);
}

void Scanner::read_types(WasmReader& in) {
    const std::uint32_t types = count(in, "types");
    std::uint64_t params = 0;
    for (std::uint32_t i = 0; i < types && in.ok(); ++i) {
        if (in.u8() != 0x60) return in.set_error("type is not a function type");
        FunctionType out;
        out.params = read_value_types(in, limits_.max_params, "parameters");
        const std::vector<ValueType> results = read_value_types(in, 1, "results");
        if (!results.empty()) out.result = results.front();
        params += out.params.size();
        module_.types.push_back(std::move(out));
    }
    if (params > limits_.max_module_params) {
        in.set_error(fmt::format(
            "{} parameters of all functions, limit {}", params, limits_.max_module_params));
    }
}

void Scanner::read_imports(WasmReader& in) {
    const std::uint32_t imports = in.count(limits_.max_imports, "imports");
    for (std::uint32_t i = 0; i < imports && in.ok() && !error_; ++i) {
        const std::string_view from = read_name(in);
        Module::Import out;
        out.name = read_name(in);
        const std::uint8_t kind = in.u8();
        if (!in.ok()) return;
        if (kind != 0) {
            return refuse(refused(fmt::format("import {}.{} is not a function", from, out.name),
                                  kWasmException));
        }
        out.type = read_type_index(in);
        if (in.ok()) link(in, from, std::move(out));
    }
}

void Scanner::link(WasmReader& in, std::string_view from, Module::Import import) {
    const std::optional<std::uint32_t> host =
        from == "env" || !options_.contract ? hosts_.find(import.name) : std::nullopt;
    if (!in.ok()) return;
    if (!host) {
        return refuse(
            refused(fmt::format("no mapping for imported function {}.{}", from, import.name)));
    }
    const HostFunction& wanted = hosts_.at(*host);
    const FunctionType& found = module_.types[import.type];
    if (found.params != wanted.params || found.result != wanted.result) {
        return refuse(
            refused(fmt::format("imported function {}.{} has the wrong type", from, import.name)));
    }
    import.host = *host;
    module_.imports.push_back(std::move(import));
}

void Scanner::read_functions(WasmReader& in) {
    const std::uint32_t functions = count(in, "functions");
    for (std::uint32_t i = 0; i < functions && in.ok(); ++i) {
        module_.functions.push_back(read_type_index(in));
    }
}

void Scanner::read_table(WasmReader& in) {
    const std::uint32_t tables = in.count(1, "tables");
    if (!in.ok() || tables == 0) return;
    const std::uint8_t kind = in.u8();
    const std::uint8_t flags = in.u8();
    const std::uint32_t size = in.u32();
    const std::uint32_t maximum = flags == 1 ? in.u32() : size;
    if (in.ok() && (kind != 0x70 || flags > 1)) in.set_error("unknown kind of table");
    if (in.ok() && size > maximum) in.set_error("table larger than its maximum");
    if (in.ok() && size > limits_.max_table_elements) {
        in.set_error(
            fmt::format("{} elements in the table, limit {}", size, limits_.max_table_elements));
    }
    module_.table = size;
}

void Scanner::read_memory(WasmReader& in) {
    const std::uint32_t memories = in.count(1, "memories");
    if (!in.ok() || memories == 0) return;
    const std::uint8_t flags = in.u8();
    Module::Pages pages;
    pages.initial = in.u32();
    pages.maximum = flags == 1 ? in.u32() : limits_.max_pages;
    if (in.ok() && flags > 1) in.set_error("unknown kind of memory");
    if (in.ok() && flags == 1 && pages.initial > pages.maximum) {
        in.set_error("memory larger than its maximum");
    }
    if (in.ok() && pages.maximum > kPagesOfAddressSpace) {
        in.set_error(fmt::format(
            "{} pages of memory at most, limit {}", pages.maximum, kPagesOfAddressSpace));
    }
    if (in.ok() && pages.initial > limits_.max_pages) {
        in.set_error(fmt::format("{} pages of memory, limit {}", pages.initial, limits_.max_pages));
    }
    pages.maximum = std::min(pages.maximum, limits_.max_pages);
    module_.memory = pages;
}

void Scanner::read_globals(WasmReader& in) {
    const std::uint32_t globals = count(in, "globals");
    std::uint32_t mutable_bytes = 0;
    for (std::uint32_t i = 0; i < globals && in.ok(); ++i) {
        Module::Global out;
        out.type = read_value_type(in);
        const std::uint8_t flag = in.u8();
        out.is_mutable = flag == 1;
        if (flag > 1) in.set_error("unknown kind of global");
        read_constant(in, out);
        if (out.is_mutable) mutable_bytes += size_of(out.type);
        module_.globals.push_back(out);
    }
    if (mutable_bytes > limits_.max_mutable_global_bytes) {
        in.set_error(fmt::format("{} bytes of mutable globals, limit {}",
                                 mutable_bytes,
                                 limits_.max_mutable_global_bytes));
    }
}

// The initial value: only constants are possible, since no global can be imported.
void Scanner::read_constant(WasmReader& in, Module::Global& out) {
    const std::uint8_t opcode = in.u8();
    if (opcode < op::i32_const || opcode > op::f64_const) {
        return in.set_error("initial value is not a constant");
    }
    if (static_cast<ValueType>(opcode - op::i32_const) != out.type) {
        return in.set_error("initial value of another type than the global");
    }
    switch (out.type) {
        case ValueType::i32:
            out.bits = static_cast<std::uint32_t>(in.s32());
            break;
        case ValueType::i64:
            out.bits = static_cast<std::uint64_t>(in.s64());
            break;
        case ValueType::f32:
            out.bits = in.fixed32();
            break;
        case ValueType::f64:
            out.bits = in.fixed64();
            break;
    }
    if (in.u8() != op::end) in.set_error("initial value has no end");
}

void Scanner::read_exports(WasmReader& in) {
    const std::uint32_t found = count(in, "exports");
    std::vector<std::string_view> names;
    names.reserve(found);
    for (std::uint32_t i = 0; i < found && in.ok(); ++i) {
        names.push_back(read_name(in));
        const std::uint8_t kind = in.u8();
        const std::uint32_t index = in.u32();
        check_export(in, kind, index);
        if (names.back() == "apply" && kind == 0) apply_ = index;
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) in.set_error(fmt::format("two exports named {}", *twice));
}

void Scanner::check_export(WasmReader& in, std::uint8_t kind, std::uint32_t index) {
    const std::array<std::size_t, 4> counts{module_.function_count(),
                                            module_.table ? std::size_t{1} : 0,
                                            module_.memory ? std::size_t{1} : 0,
                                            module_.globals.size()};
    if (kind >= counts.size()) return in.set_error("unknown kind of export");
    if (index >= counts[kind]) {
        constexpr std::array<std::string_view, 4> kKinds{"function", "table", "memory", "global"};
        in.set_error(fmt::format("export of {} {} of {}", kKinds[kind], index, counts[kind]));
    }
}

void Scanner::read_elements(WasmReader& in) {
    const std::uint32_t segments = count(in, "element segments");
    if (segments > 0 && !module_.table) return in.set_error("element segment without a table");
    for (std::uint32_t i = 0; i < segments && in.ok(); ++i) {
        if (in.u32() != 0) return in.set_error("element segment of an unknown kind");
        Module::Elements out;
        out.offset = read_offset(in);
        const std::uint32_t entries = in.count(limits_.max_table_elements, "elements");
        for (std::uint32_t j = 0; j < entries && in.ok(); ++j) {
            out.functions.push_back(read_function_index(in));
        }
        if (in.ok() && std::uint64_t{out.offset} + entries > module_.table.value_or(0)) {
            in.set_error("element segment outside the table");
        }
        module_.elements.push_back(std::move(out));
    }
}

void Scanner::read_code(WasmReader& in) {
    const std::uint32_t bodies = count(in, "function bodies");
    if (in.ok() && bodies != module_.functions.size()) {
        in.set_error(fmt::format("{} bodies of {} functions", bodies, module_.functions.size()));
    }
    for (std::uint32_t i = 0; i < bodies && in.ok(); ++i) {
        const std::uint32_t size = in.count(limits_.max_code_bytes, "bytes of code");
        const std::size_t offset = in.module_offset();
        WasmReader body(in.raw(size), offset);
        if (!in.ok()) return;
        read_body(body, module_.types[module_.functions[i]]);
        if (!body.ok()) refuse(refused(fmt::format("function {}: {}", i, body.error())));
        if (error_) return;
    }
}

// Takes the locals apart. The code is left to the validator, its end included.
void Scanner::read_body(WasmReader& in, const FunctionType& signature) {
    std::uint64_t bytes = 0;
    for (const ValueType param : signature.params)
        bytes += size_of(param);
    std::uint64_t slots = kSlotBytes * signature.params.size();
    Module::Body out;
    const std::uint32_t runs = in.count(limits_.max_func_local_bytes, "runs of locals");
    for (std::uint32_t i = 0; i < runs && in.ok(); ++i) {
        const std::uint32_t many = in.u32();
        const ValueType value = read_value_type(in);
        bytes += std::uint64_t{many} * size_of(value);
        slots += std::uint64_t{many} * kSlotBytes;
        if (bytes > limits_.max_func_local_bytes || slots > limits_.max_frame_bytes) break;
        out.locals.emplace_back(many, value);
    }
    if (bytes > limits_.max_func_local_bytes) {
        in.set_error(
            fmt::format("{} bytes of locals, limit {}", bytes, limits_.max_func_local_bytes));
    }
    if (slots > limits_.max_frame_bytes) {
        in.set_error(fmt::format(
            "{} bytes of locals and operands, limit {}", slots, limits_.max_frame_bytes));
    }
    out.offset = in.module_offset();
    out.code = in.rest();
    module_.bodies.push_back(std::move(out));
}

void Scanner::read_data(WasmReader& in) {
    const std::uint32_t segments = count(in, "data segments");
    if (segments > 0 && !module_.memory) return in.set_error("data segment without a memory");
    const std::uint32_t pages = module_.initial_pages();
    for (std::uint32_t i = 0; i < segments && in.ok(); ++i) {
        if (in.u32() != 0) return in.set_error("data segment of an unknown kind");
        Module::Data out;
        out.offset = read_offset(in);
        out.bytes = in.raw(in.u32());
        const std::uint64_t end = std::uint64_t{out.offset} + out.bytes.size();
        if (in.ok() && end > limits_.max_linear_memory_init) {
            in.set_error(
                fmt::format("data up to byte {}, limit {}", end, limits_.max_linear_memory_init));
        }
        if (in.ok() && end > std::uint64_t{pages} * 65536) {
            in.set_error("data segment outside the memory");
        }
        module_.data.push_back(out);
    }
}

void Scanner::check_apply() {
    if (!apply_ || *apply_ >= module_.function_count()) {
        return refuse(refused("apply not exported"));
    }
    const FunctionType wanted{{ValueType::i64, ValueType::i64, ValueType::i64}, std::nullopt};
    if (module_.type_of(*apply_) != wanted || *apply_ < module_.imports.size()) {
        return refuse(refused("apply has wrong type"));
    }
    module_.apply = *apply_;
}

void Scanner::check_whole() {
    if (module_.bodies.size() != module_.functions.size()) {
        return refuse(refused("functions without a code section"));
    }
    if (module_.start && module_.type_of(*module_.start) != FunctionType{}) {
        return refuse(refused("start function has wrong type"));
    }
    if (options_.contract) check_apply();
}

}  // namespace

void Locals::assign(const FunctionType& type, const Module::Body& body) {
    runs_.clear();
    for (const ValueType param : type.params)
        add(1, param);
    for (const auto& [many, value] : body.locals)
        add(many, value);
}

void Locals::add(std::uint32_t many, ValueType type) {
    if (many == 0) return;
    const std::uint32_t begin = count();
    const std::uint32_t end = begin + many;
    for (std::size_t i = begin; i < end && i < first_.size(); ++i)
        first_[i] = type;
    if (!runs_.empty() && runs_.back().type == type) {
        runs_.back().end = end;
    } else {
        runs_.push_back({end, type});
    }
}

ValueType Locals::type_by_run(std::uint32_t index) const {
    const auto run =
        std::upper_bound(runs_.begin(), runs_.end(), index, [](std::uint32_t at, const Run& one) {
            return at < one.end;
        });
    return run->type;
}

std::uint32_t Module::data_end() const {
    std::uint64_t end = 0;
    for (const Data& segment : data) {
        end = std::max(end, std::uint64_t{segment.offset} + segment.bytes.size());
    }
    return static_cast<std::uint32_t>(end);
}

base::Result<Module> scan(base::ByteView wasm,
                          const Limits& limits,
                          const HostTable& hosts,
                          const ScanOptions& options) {
    return Scanner(limits, hosts, options).run(wasm);
}

base::Result<Module> scan_and_validate(base::ByteView wasm,
                                       const Limits& limits,
                                       const HostTable& hosts,
                                       const ScanOptions& options) {
    base::Result<Module> module = scan(wasm, limits, hosts, options);
    if (!module) return module;
    const Prices prices;  // What is valid does not depend on them.
    BodyValidator validator(*module, limits, prices);
    Plan plan;
    for (std::size_t i = 0; i < module->bodies.size(); ++i) {
        if (auto checked = validator.run(i, plan); !checked) return base::fail(checked.error());
    }
    return module;
}

base::Result<ModuleInfo> validate(base::ByteView wasm,
                                  const Limits& limits,
                                  const HostTable& hosts) {
    const base::Result<Module> module = scan_and_validate(wasm, limits, hosts);
    if (!module) return base::fail(module.error());
    ModuleInfo out;
    for (const Module::Import& import : module->imports)
        out.imports.push_back(import.name);
    out.functions = static_cast<std::uint32_t>(module->functions.size());
    out.initial_pages = module->initial_pages();
    out.data_bytes = module->data_end();
    return out;
}

}  // namespace chain::vm
