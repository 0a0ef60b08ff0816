// The only file that includes WABT, compiled as C++17 because its headers need that.
#include "chain/vm/wabt_adapter.hpp"

#include <wabt/apply-names.h>
#include <wabt/binary-reader-ir.h>
#include <wabt/binary-reader.h>
#include <wabt/binary-writer.h>
#include <wabt/c-writer.h>
#include <wabt/generate-names.h>
#include <wabt/interp/binary-reader-interp.h>
#include <wabt/interp/interp.h>
#include <wabt/ir.h>
#include <wabt/stream.h>
#include <wabt/validator.h>
#include <wabt/wast-lexer.h>
#include <wabt/wast-parser.h>

#include <cstring>
#include <exception>
#include <utility>

namespace chain::vm {

namespace {

using wabt::Errors;
using wabt::Features;
namespace interp = wabt::interp;

constexpr const char* kModuleName = "m";

// Everything beyond the MVP off. Exporting a mutable global is how the rewriter hands out
// its counters, and does no harm in a contract.
Features mvp() {
    Features features;
    features.disable_sat_float_to_int();
    features.disable_sign_extension();
    features.disable_simd();
    features.disable_multi_value();
    features.disable_reference_types();
    features.disable_bulk_memory();
    return features;
}

wabt::ReadBinaryOptions read_options() {
    return {mvp(), nullptr, false, true, false};
}

std::string first_of(const Errors& errors) {
    return errors.empty() ? "module refused" : errors.front().message;
}

// Runs `work`, which returns a reason of failure or nothing, and turns exceptions into one.
template <class Work>
std::string guarded(Work work) {
    try {
        return work();
    } catch (const std::exception& error) {
        return std::string("WABT: ") + error.what();
    } catch (...) {
        return "WABT: unknown exception";
    }
}

std::string read_module(const std::uint8_t* wasm, std::size_t size, wabt::Module* module) {
    Errors errors;
    const wabt::ReadBinaryOptions options = read_options();
    if (wabt::Failed(wabt::ReadBinaryIr("module", wasm, size, options, &errors, module))) {
        return first_of(errors);
    }
    if (wabt::Failed(wabt::ValidateModule(module, &errors, wabt::ValidateOptions(mvp())))) {
        return first_of(errors);
    }
    return {};
}

char letter(wabt::Type type) {
    if (type == wabt::Type::I32) return 'i';
    if (type == wabt::Type::I64) return 'l';
    return type == wabt::Type::F32 ? 'f' : 'd';
}

std::string signatures_of(const wabt::Module& module) {
    std::string out;
    for (const wabt::Import* import : module.imports) {
        const auto* function = wabt::cast<wabt::FuncImport>(import);
        const wabt::FuncSignature& type = function->func.decl.sig;
        out += function->field_name.substr(1) + ' ';
        out += type.GetNumResults() == 0 ? 'v' : letter(type.GetResultType(0));
        for (wabt::Index i = 0; i < type.GetNumParams(); ++i)
            out += letter(type.GetParamType(i));
        out += '\n';
    }
    return out;
}

// Text without indentation: deeply nested blocks would be spaces for the greatest part,
// gigabytes of them.
class Unindented final : public wabt::Stream {
  public:
    std::string text;

  protected:
    wabt::Result WriteDataImpl(std::size_t, const void* data, std::size_t size) override {
        const char* from = static_cast<const char*>(data);
        for (const char* const end = from + size; from != end; ++from) {
            if (at_line_start_ && *from == ' ') continue;
            at_line_start_ = *from == '\n';
            text += *from;
        }
        return wabt::Result::Ok;
    }
    wabt::Result MoveDataImpl(std::size_t, std::size_t, std::size_t) override {
        return wabt::Result::Error;
    }
    wabt::Result TruncateImpl(std::size_t) override { return wabt::Result::Error; }

  private:
    bool at_line_start_ = true;
};

std::uint64_t slot_of(wabt::Type type, const interp::Value& value) {
    if (type == wabt::Type::I32) return value.Get<interp::u32>();
    if (type == wabt::Type::I64) return value.Get<interp::u64>();
    std::uint64_t slot = 0;
    if (type == wabt::Type::F32) {
        const interp::f32 number = value.Get<interp::f32>();
        std::memcpy(&slot, &number, sizeof(number));
    } else {
        const interp::f64 number = value.Get<interp::f64>();
        std::memcpy(&slot, &number, sizeof(number));
    }
    return slot;
}

interp::Value value_of(wabt::Type type, std::uint64_t slot) {
    if (type == wabt::Type::I32) return interp::Value::Make(static_cast<interp::u32>(slot));
    if (type == wabt::Type::I64) return interp::Value::Make(static_cast<interp::u64>(slot));
    if (type == wabt::Type::F32) {
        interp::f32 number = 0;
        std::memcpy(&number, &slot, sizeof(number));
        return interp::Value::Make(number);
    }
    interp::f64 number = 0;
    std::memcpy(&number, &slot, sizeof(number));
    return interp::Value::Make(number);
}

class Interpreter final : public WabtInstance {
  public:
    Interpreter(HostCall call, void* self) : store_(mvp()), call_(call), self_(self) {}

    std::string load(const std::uint8_t* wasm, std::size_t size) {
        Errors errors;
        interp::ModuleDesc description;
        const wabt::ReadBinaryOptions options = read_options();
        if (wabt::Failed(
                interp::ReadBinaryInterp("module", wasm, size, options, &errors, &description))) {
            return first_of(errors);
        }
        module_ = interp::Module::New(store_, description);
        for (const interp::ImportDesc& import : module_->desc().imports)
            add_import(import.type);
        return instantiate();
    }

    void reset() override {
        trap_.reset();
        store_.Collect();
        if (memory_ && memory_->ByteSize() != initial_size_) {
            // WABT's memory cannot shrink, so the whole instance is made anew.
            instantiate();
            return;
        }
        for (std::size_t i = 0; i < globals_.size(); ++i)
            globals_[i]->UnsafeSet(initial_[i]);
    }

    End apply(const std::uint64_t* args, std::string* reason) override {
        const std::string failure = guarded([&] { return call_apply(args); });
        if (failure.empty()) return End::ok;
        *reason = failure;
        return End::trapped;
    }

    [[nodiscard]] std::uint64_t counter(Counter which) const override {
        const interp::Value value = global(which)->Get();
        return which == Counter::trap ? value.Get<interp::u32>() : value.Get<interp::u64>();
    }

    void set_counter(Counter which, std::uint64_t value) override {
        global(which)->UnsafeSet(
            value_of(which == Counter::trap ? wabt::Type::I32 : wabt::Type::I64, value));
    }

    std::uint8_t* memory() override { return memory_ ? memory_->UnsafeData() : nullptr; }
    [[nodiscard]] std::uint64_t memory_size() const override {
        return memory_ ? memory_->ByteSize() : 0;
    }

  private:
    [[nodiscard]] interp::Global* global(Counter which) const {
        return globals_[globals_.size() - 3 + static_cast<std::size_t>(which)].get();
    }

    void add_import(const interp::ImportType& import) {
        const auto host = static_cast<std::uint32_t>(std::stoul(import.name.substr(1)));
        const auto& type = *wabt::cast<interp::FuncType>(import.type.get());
        const auto call = [this, host, type](interp::Thread&,
                                             const interp::Values& params,
                                             interp::Values& results,
                                             interp::Trap::Ptr* trap) {
            return call_host(host, type, params, results, trap);
        };
        imports_.push_back(interp::HostFunc::New(store_, type, call));
    }

    wabt::Result call_host(std::uint32_t host,
                           const interp::FuncType& type,
                           const interp::Values& params,
                           interp::Values& results,
                           interp::Trap::Ptr* trap) {
        args_.clear();
        for (std::size_t i = 0; i < params.size(); ++i) {
            args_.push_back(slot_of(type.params[i], params[i]));
        }
        std::uint64_t result = 0;
        if (!call_(self_, host, args_.data(), &result)) {
            *trap = interp::Trap::New(store_, "host");
            return wabt::Result::Error;
        }
        if (!type.results.empty()) results[0] = value_of(type.results[0], result);
        return wabt::Result::Ok;
    }

    std::string instantiate() {
        apply_.reset();
        memory_.reset();
        globals_.clear();
        initial_.clear();
        instance_.reset();
        store_.Collect();
        interp::RefVec refs;
        for (const interp::HostFunc::Ptr& import : imports_)
            refs.push_back(import.ref());
        interp::Trap::Ptr trap;
        instance_ = interp::Instance::Instantiate(store_, module_.ref(), refs, &trap);
        if (!instance_) return trap ? trap->message() : "no instance";
        for (const interp::Ref ref : instance_->globals()) {
            globals_.push_back(store_.UnsafeGet<interp::Global>(ref));
            initial_.push_back(globals_.back()->Get());
        }
        const auto& exports = module_->desc().exports;
        for (std::size_t i = 0; i < exports.size(); ++i) {
            const interp::Ref ref = instance_->exports()[i];
            if (exports[i].type.name == "apply") apply_ = store_.UnsafeGet<interp::Func>(ref);
            if (exports[i].type.name == "memory") memory_ = store_.UnsafeGet<interp::Memory>(ref);
        }
        initial_size_ = memory_size();
        return {};
    }

    std::string call_apply(const std::uint64_t* args) {
        interp::Values params;
        for (int i = 0; i < 3; ++i)
            params.push_back(interp::Value::Make(args[i]));
        interp::Values results;
        if (wabt::Succeeded(apply_->Call(store_, params, results, &trap_))) return {};
        return trap_ ? trap_->message() : "stopped";
    }

    interp::Store store_;
    HostCall call_;
    void* self_;
    interp::Module::Ptr module_;
    std::vector<interp::HostFunc::Ptr> imports_;
    interp::Instance::Ptr instance_;
    interp::Func::Ptr apply_;
    interp::Memory::Ptr memory_;
    interp::Trap::Ptr trap_;
    std::vector<interp::Global::Ptr> globals_;
    std::vector<interp::Value> initial_;  // Of globals_.
    std::uint64_t initial_size_ = 0;
    std::vector<std::uint64_t> args_;
};

}  // namespace

WabtC wabt_write_c(const std::uint8_t* wasm, std::size_t size) {
    WabtC out;
    out.error = guarded([&]() -> std::string {
        wabt::Module module;
        std::string reason = read_module(wasm, size, &module);
        if (!reason.empty()) return reason;
        if (wabt::Failed(wabt::GenerateNames(&module)) || wabt::Failed(wabt::ApplyNames(&module))) {
            return "names cannot be given";
        }
        Unindented source;
        Unindented header;
        wabt::WriteCOptions options;
        options.module_name = kModuleName;
        if (wabt::Failed(wabt::WriteC(&source, &header, "module.h", &module, options))) {
            return "the module cannot be written as C";
        }
        out.source = std::move(source.text);
        out.header = std::move(header.text);
        out.signatures = signatures_of(module);
        return {};
    });
    out.ok = out.error.empty();
    return out;
}

bool wabt_parse_text(const char* text,
                     std::size_t size,
                     std::vector<std::uint8_t>* out,
                     std::string* error) {
    *error = guarded([&]() -> std::string {
        Errors errors;
        const auto lexer = wabt::WastLexer::CreateBufferLexer("text", text, size, &errors);
        std::unique_ptr<wabt::Module> module;
        wabt::WastParseOptions options{Features()};
        if (wabt::Failed(wabt::ParseWatModule(lexer.get(), &module, &errors, &options))) {
            return first_of(errors);
        }
        wabt::MemoryStream stream;
        wabt::WriteBinaryOptions write;
        write.features = Features();
        if (wabt::Failed(wabt::WriteBinaryModule(&stream, module.get(), write))) {
            return "module cannot be written";
        }
        *out = stream.output_buffer().data;
        return {};
    });
    return error->empty();
}

std::unique_ptr<WabtInstance> WabtInstance::make(
    const std::uint8_t* wasm, std::size_t size, HostCall call, void* self, std::string* error) {
    auto out = std::make_unique<Interpreter>(call, self);
    *error = guarded([&] { return out->load(wasm, size); });
    if (!error->empty()) return nullptr;
    return out;
}

}  // namespace chain::vm
