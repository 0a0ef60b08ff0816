#include "chain/vm/rewrite.hpp"

#include "base/check.hpp"
#include "chain/vm/function_rewriter.hpp"

#include <fmt/format.h>

#include <map>

namespace chain::vm {

namespace {

class Rewriter {
  public:
    Rewriter(const Module& module, const Limits& limits, const Prices& prices)
        : module_(module), limits_(limits), prices_(prices) {
        const auto globals = static_cast<std::uint32_t>(module.globals.size());
        counters_ = {globals, globals + 1, globals + 2};
        for (const FunctionType& type : module.types)
            intern(type);
        for (const FunctionType& type : module.types)
            unique_.push_back(types_.at(type));
        apply_type_ = types_.at(module.type_of(module.apply));
    }

    base::Bytes run() {
        out_.raw(base::as_bytes(std::string_view("\0asm\1\0\0\0", 8)));
        types();
        imports();
        functions();
        if (module_.table) table(*module_.table);
        if (module_.memory) memory(*module_.memory);
        globals();
        exports();
        if (!module_.elements.empty()) elements();
        code();
        return out_.take();
    }

  private:
    void intern(const FunctionType& type) {
        if (types_.emplace(type, static_cast<std::uint32_t>(order_.size())).second) {
            order_.push_back(&type);
        }
    }
    void section(std::uint8_t id, const Emitter& body) {
        out_.u8(id);
        out_.bytes(body);
    }
    [[nodiscard]] std::uint32_t apply_index() const {
        return module_.start ? static_cast<std::uint32_t>(module_.function_count()) : module_.apply;
    }

    void types();
    void imports();
    void functions();
    void table(std::uint32_t size);
    void memory(const Module::Pages& pages);
    void globals();
    void exports();
    void elements();
    void code();

    const Module& module_;
    const Limits& limits_;
    const Prices& prices_;
    Counters counters_{};
    std::map<FunctionType, std::uint32_t> types_;
    std::vector<const FunctionType*> order_;
    std::vector<std::uint32_t> unique_;
    std::uint32_t apply_type_ = 0;
    Emitter out_;
};

void Rewriter::types() {
    Emitter body;
    body.u32(static_cast<std::uint32_t>(order_.size()));
    for (const FunctionType* type : order_) {
        body.u8(0x60);
        body.u32(static_cast<std::uint32_t>(type->params.size()));
        for (const ValueType param : type->params)
            body.value_type(param);
        body.u32(type->result ? 1 : 0);
        if (type->result) body.value_type(*type->result);
    }
    section(1, body);
}

void Rewriter::imports() {
    Emitter body;
    body.u32(static_cast<std::uint32_t>(module_.imports.size()));
    for (const Module::Import& import : module_.imports) {
        body.name("h");
        body.name(fmt::format("f{}", import.host));
        body.u8(0);
        body.u32(unique_[import.type]);
    }
    section(2, body);
}

void Rewriter::functions() {
    Emitter body;
    body.u32(static_cast<std::uint32_t>(module_.functions.size() + (module_.start ? 1 : 0)));
    for (const std::uint32_t type : module_.functions)
        body.u32(unique_[type]);
    if (module_.start) body.u32(apply_type_);
    section(3, body);
}

void Rewriter::table(std::uint32_t size) {
    Emitter body;
    body.u32(1);
    body.u8(0x70);
    body.u8(1);
    body.u32(size);
    body.u32(size);
    section(4, body);
}

void Rewriter::memory(const Module::Pages& pages) {
    Emitter body;
    body.u32(1);
    body.u8(1);
    body.u32(pages.initial);
    body.u32(pages.maximum);
    section(5, body);
}

void Rewriter::globals() {
    Emitter body;
    body.u32(counters_.trap + 1);
    for (const Module::Global& global : module_.globals) {
        body.value_type(global.type);
        body.u8(global.is_mutable ? 1 : 0);
        body.raw(global.initial);
        body.u8(op::end);
    }
    for (const ValueType type : {ValueType::i64, ValueType::i64, ValueType::i32}) {
        body.value_type(type);
        body.u8(1);
        body.u8(type == ValueType::i64 ? op::i64_const : op::i32_const);
        body.u8(0);
        body.u8(op::end);
    }
    section(6, body);
}

void Rewriter::exports() {
    Emitter body;
    const auto add = [&body](std::string_view name, std::uint8_t kind, std::uint32_t index) {
        body.name(name);
        body.u8(kind);
        body.u32(index);
    };
    body.u32(module_.memory ? 5 : 4);
    add("apply", 0, apply_index());
    add("fuel", 3, counters_.fuel);
    add("stack", 3, counters_.stack);
    add("trap", 3, counters_.trap);
    if (module_.memory) add("memory", 2, 0);
    section(7, body);
}

void Rewriter::elements() {
    Emitter body;
    body.u32(static_cast<std::uint32_t>(module_.elements.size()));
    for (const Module::Elements& segment : module_.elements) {
        body.u32(0);
        body.i32_const(static_cast<std::int32_t>(segment.offset));
        body.u8(op::end);
        body.u32(static_cast<std::uint32_t>(segment.functions.size()));
        for (const std::uint32_t function : segment.functions)
            body.u32(function);
    }
    section(9, body);
}

void Rewriter::code() {
    const RewriteContext context{module_, limits_, prices_, counters_, unique_};
    Emitter body;
    body.u32(static_cast<std::uint32_t>(module_.bodies.size() + (module_.start ? 1 : 0)));
    for (std::size_t i = 0; i < module_.bodies.size(); ++i) {
        FunctionRewriter function(context, module_.types[module_.functions[i]]);
        body.bytes(function.run(module_.bodies[i]));
    }
    if (module_.start) {
        Emitter both;
        both.u32(0);
        both.indexed(op::call, *module_.start);
        for (std::uint32_t i = 0; i < 3; ++i)
            both.indexed(op::local_get, i);
        both.indexed(op::call, module_.apply);
        both.u8(op::end);
        body.bytes(both);
    }
    section(10, body);
}

}  // namespace

base::Bytes rewrite(const Module& module, const Limits& limits, const Prices& prices) {
    return Rewriter(module, limits, prices).run();
}

std::uint64_t initial_stack(const Limits& limits) {
    return (std::uint64_t{limits.max_call_depth} << 32U) | limits.max_stack_bytes;
}

}  // namespace chain::vm
