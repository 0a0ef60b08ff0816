// Compiled apart: with options of its own (tests/CMakeLists.txt).
#include "tests/wabt/interpreter.hpp"

#include "tests/wabt/features.hpp"

#include <wabt/binary-reader.h>
#include <wabt/interp/binary-reader-interp.h>
#include <wabt/interp/interp.h>

#include <cstring>

namespace wabt_interpreter {

namespace {

namespace interp = wabt::interp;

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

class Run {
  public:
    explicit Run(Host& host) : store_(wabt_features::mvp()), host_(host) {}

    // The reason if it fails.
    std::string load(const std::vector<std::uint8_t>& wasm) {
        wabt::Errors errors;
        interp::ModuleDesc description;
        const wabt::ReadBinaryOptions options{wabt_features::mvp(), nullptr, false, true, false};
        if (wabt::Failed(interp::ReadBinaryInterp(
                "module", wasm.data(), wasm.size(), options, &errors, &description))) {
            return errors.empty() ? "refused" : errors.front().message;
        }
        module_ = interp::Module::New(store_, description);
        for (const interp::ImportDesc& import : module_->desc().imports)
            add_import(import.type);
        return {};
    }

    // The trap's text, or nothing.
    std::string apply(const std::vector<std::uint64_t>& args) {
        interp::RefVec refs;
        for (const interp::HostFunc::Ptr& import : imports_)
            refs.push_back(import.ref());
        interp::Trap::Ptr trap;
        instance_ = interp::Instance::Instantiate(store_, module_.ref(), refs, &trap);
        if (!instance_) return trap ? trap->message() : "no instance";
        interp::Func::Ptr function;
        const auto& exports = module_->desc().exports;
        for (std::size_t i = 0; i < exports.size(); ++i) {
            if (exports[i].type.name != "apply") continue;
            function = store_.UnsafeGet<interp::Func>(instance_->exports()[i]);
        }
        if (!function) return "no apply";
        interp::Values params;
        for (const std::uint64_t arg : args)
            params.push_back(interp::Value::Make(arg));
        interp::Values results;
        if (wabt::Succeeded(function->Call(store_, params, results, &trap))) return {};
        return trap ? trap->message() : "stopped";
    }

    void observe(Seen* seen) {
        if (!instance_) return;
        if (!instance_->memories().empty()) {
            const auto memory = store_.UnsafeGet<interp::Memory>(instance_->memories()[0]);
            seen->memory.assign(memory->UnsafeData(), memory->UnsafeData() + memory->ByteSize());
        }
        for (const interp::Ref ref : instance_->globals()) {
            const auto global = store_.UnsafeGet<interp::Global>(ref);
            seen->globals.push_back(slot_of(global->type().type, global->Get()));
        }
    }

  private:
    void add_import(const interp::ImportType& import) {
        const auto& type = *wabt::cast<interp::FuncType>(import.type.get());
        const auto call = [this, name = import.name, type](interp::Thread& thread,
                                                           const interp::Values& params,
                                                           interp::Values& results,
                                                           interp::Trap::Ptr* trap) {
            std::vector<std::uint64_t> args;
            for (std::size_t i = 0; i < params.size(); ++i)
                args.push_back(slot_of(type.params[i], params[i]));
            std::uint64_t result = 0;
            if (!call_host(thread, name, args, &result)) {
                *trap = interp::Trap::New(store_, "host");
                return wabt::Result::Error;
            }
            if (!type.results.empty()) results[0] = value_of(type.results[0], result);
            return wabt::Result::Ok;
        };
        imports_.push_back(interp::HostFunc::New(store_, type, call));
    }

    bool call_host(interp::Thread& thread,
                   const std::string& name,
                   const std::vector<std::uint64_t>& args,
                   std::uint64_t* result) {
        // During a start function instance_ is not known yet; its caller is.
        interp::Instance* const caller = instance_ ? instance_.get() : thread.GetCallerInstance();
        if (caller == nullptr || caller->memories().empty()) {
            return host_.call(name, nullptr, 0, args.data(), result);
        }
        const auto memory = store_.UnsafeGet<interp::Memory>(caller->memories()[0]);
        return host_.call(name, memory->UnsafeData(), memory->ByteSize(), args.data(), result);
    }

    interp::Store store_;
    Host& host_;
    interp::Module::Ptr module_;
    std::vector<interp::HostFunc::Ptr> imports_;
    interp::Instance::Ptr instance_;
};

}  // namespace

Seen run(const std::vector<std::uint8_t>& wasm,
         const std::vector<std::uint64_t>& args,
         Host& host) {
    Seen seen;
    Run run(host);
    seen.trap = run.load(wasm);
    if (!seen.trap.empty()) return seen;
    seen.loaded = true;
    seen.trap = run.apply(args);
    run.observe(&seen);
    return seen;
}

}  // namespace wabt_interpreter
