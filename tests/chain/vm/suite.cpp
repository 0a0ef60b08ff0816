#include "suite.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

namespace suite {

namespace {

using Json = nlohmann::json;
using chain::vm::Trap;
using chain::vm::ValueType;
namespace fs = std::filesystem;

bool ignore(chain::vm::Context&,
            chain::vm::Memory&,
            chain::vm::Meter&,
            const std::uint64_t*,
            std::uint64_t*) {
    return true;
}

// The suite's text for a trap begins so.
bool is_said(Trap trap, std::string_view text) {
    switch (trap) {
        case Trap::unreachable:
            return text.starts_with("unreachable");
        case Trap::memory_out_of_bounds:
            return text.starts_with("out of bounds memory access");
        case Trap::divide_by_zero:
            return text.starts_with("integer divide by zero");
        case Trap::integer_overflow:
            return text.starts_with("integer overflow");
        case Trap::invalid_conversion:
            return text.starts_with("invalid conversion to integer");
        case Trap::indirect_call:
            return text.starts_with("undefined element") || text.starts_with("uninitialized") ||
                   text.starts_with("indirect call") || text.starts_with("undefined");
        case Trap::call_depth:
        case Trap::stack_bytes:
            return text.starts_with("call stack exhausted");
        default:
            return false;
    }
}

std::string read_text(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Runs the commands of one file.
class Runner {
  public:
    Runner(std::string name, fs::path scratch, Engine& engine)
        : name_(std::move(name)), scratch_(std::move(scratch)), engine_(engine) {}

    Report run(const fs::path& json);

  private:
    void command(const Json& command);
    void share(const Json& command);
    void load(const Json& command);
    void expect_refusal(const Json& command, Engine::Refusal wanted);
    void expect_return(const Json& command);
    void expect_trap(const Json& command);

    // Nothing: it cannot be done, which is noted.
    std::optional<Engine::Instance::Answer> act(const Json& command);
    Engine::Loaded read(const Json& command);
    void pass() { ++report_.passed; }
    void skip(const std::string& reason) { ++report_.skipped[reason]; }
    void fail(const Json& command, const std::string& how) {
        report_.failures.push_back(name_ + ":" + std::to_string(command["line"].get<int>()) + ": " +
                                   command["type"].get<std::string>() + " " + how);
    }

    std::string name_;
    fs::path scratch_;
    Engine& engine_;
    Report report_;
    std::vector<std::unique_ptr<Engine::Loaded>> loaded_;
    Engine::Loaded* last_ = nullptr;
    std::map<std::string, Engine::Loaded*> by_name_;
    std::set<const Engine::Loaded*> registered_;
    std::set<const Engine::Loaded*> stale_;  // Of these, see load().
};

Report Runner::run(const fs::path& json) {
    const std::string text = read_text(json);
    if (text.empty()) {
        report_.failures.push_back(name_ + ": wast2json made nothing of it");
        return report_;
    }
    const Json whole = Json::parse(text);
    for (const Json& each : whole["commands"])
        command(each);
    return report_;
}

void Runner::command(const Json& command) {
    const std::string type = command["type"];
    if (type == "module") return load(command);
    if (type == "register") return share(command);
    if (type == "assert_return" || type == "action") return expect_return(command);
    if (type == "assert_trap" || type == "assert_exhaustion") return expect_trap(command);
    using Refusal = Engine::Refusal;
    if (type == "assert_unlinkable") return expect_refusal(command, Refusal::unlinkable);
    if (type == "assert_uninstantiable") return expect_refusal(command, Refusal::trapped);
    if (type != "assert_invalid" && type != "assert_malformed") {
        return fail(command, "is not known here");
    }
    if (command.value("module_type", "") == "text") return skip("about the text format");
    if (!engine_.validates()) return skip("about validation, which this engine does not do");
    expect_refusal(command, Refusal::invalid);
}

Engine::Loaded Runner::read(const Json& command) {
    const std::string bytes = read_text(scratch_ / command["filename"].get<std::string>());
    return engine_.load(base::as_bytes(bytes));
}

// Nothing can be imported from a module here.
void Runner::share(const Json& command) {
    registered_.insert(command.contains("name") ? by_name_[command["name"]] : last_);
    skip("register");
}

void Runner::load(const Json& command) {
    loaded_.push_back(std::make_unique<Engine::Loaded>(read(command)));
    last_ = loaded_.back().get();
    if (command.contains("name")) by_name_[command["name"]] = last_;
    if (last_->instance) {
        pass();
    } else if (last_->refusal == Engine::Refusal::unsupported) {
        skip("module " + last_->reason);
        // It would share memories, tables and functions with those, and change them.
        stale_ = registered_;
    } else {
        fail(command, "refused: " + last_->reason);
    }
}

void Runner::expect_refusal(const Json& command, Engine::Refusal wanted) {
    const Engine::Loaded loaded = read(command);
    if (loaded.refusal == Engine::Refusal::unsupported) {
        skip("module " + loaded.reason);
        stale_ = registered_;
    } else if (loaded.refusal == wanted) {
        pass();
    } else {
        fail(command,
             command["text"].get<std::string>() + ": " +
                 (loaded.instance ? "accepted" : "refused otherwise: " + loaded.reason));
    }
}

std::optional<Engine::Instance::Answer> Runner::act(const Json& command) {
    const Json& action = command["action"];
    const Engine::Loaded* const module =
        action.contains("module") ? by_name_[action["module"]] : last_;
    if (module == nullptr || !module->instance) {
        skip("command to a module that was not loaded");
        return std::nullopt;
    }
    if (stale_.contains(module)) {
        skip("command to a module that another one, which was not loaded, would have changed");
        return std::nullopt;
    }
    const std::string name = action["field"];
    std::optional<Engine::Instance::Answer> answer;
    if (action["type"] == "get") {
        const std::optional<std::uint64_t> bits = module->instance->global(name);
        if (bits) answer = {Trap::none, bits};
    } else {
        std::vector<std::uint64_t> args;
        for (const Json& value : action["args"])
            args.push_back(std::stoull(value["value"].get<std::string>()));
        answer = module->instance->invoke(name, args);
    }
    if (!answer) fail(command, "no export " + name);
    return answer;
}

// NaN: what arithmetic makes is the canonical one with sign 0 (spec 03), so that the suite's two
// classes of NaN are one value here.
std::uint64_t wanted_bits(const Json& expected) {
    const std::string value = expected["value"];
    if (!value.starts_with("nan:")) return std::stoull(value);
    return expected["type"] == "f32" ? 0x7FC00000U : 0x7FF8000000000000U;
}

void Runner::expect_return(const Json& command) {
    const auto answer = act(command);
    if (!answer) return;
    if (answer->trap != Trap::none) {
        return fail(command, "trap " + std::to_string(static_cast<int>(answer->trap)));
    }
    // An action's value is dropped.
    if (command["type"] == "action" || (command["expected"].empty() && !answer->result)) {
        return pass();
    }
    if (command["expected"].size() != 1 || !answer->result) return fail(command, "not one result");
    const std::uint64_t wanted = wanted_bits(command["expected"][0]);
    if (*answer->result == wanted) return pass();
    fail(command,
         "bits " + std::to_string(*answer->result) + " instead of " +
             command["expected"][0]["value"].get<std::string>());
}

void Runner::expect_trap(const Json& command) {
    const auto answer = act(command);
    if (!answer) return;
    if (is_said(answer->trap, command["text"].get<std::string>())) return pass();
    fail(command,
         "trap " + std::to_string(static_cast<int>(answer->trap)) +
             " instead of: " + command["text"].get<std::string>());
}

}  // namespace

const chain::vm::HostTable& spectest() {
    using T = ValueType;
    static const chain::vm::HostTable kTable({
        {"print", {}, std::nullopt, &ignore, 0},
        {"print_i32", {T::i32}, std::nullopt, &ignore, 0},
        {"print_i64", {T::i64}, std::nullopt, &ignore, 0},
        {"print_f32", {T::f32}, std::nullopt, &ignore, 0},
        {"print_f64", {T::f64}, std::nullopt, &ignore, 0},
        {"print_i32_f32", {T::i32, T::f32}, std::nullopt, &ignore, 0},
        {"print_f64_f64", {T::f64, T::f64}, std::nullopt, &ignore, 0},
    });
    return kTable;
}

void Report::add(const Report& other) {
    passed += other.passed;
    failures.insert(failures.end(), other.failures.begin(), other.failures.end());
    for (const auto& [reason, many] : other.skipped)
        skipped[reason] += many;
}

Report run_file(const fs::path& wast, const fs::path& scratch, Engine& engine) {
    const fs::path json = scratch / "commands.json";
    fs::remove(json);
    const std::string convert =
        "wast2json --disable-sign-extension --disable-saturating-float-to-int"
        " --disable-multi-value --disable-bulk-memory --disable-reference-types --disable-simd '" +
        wast.string() + "' -o '" + json.string() + "' >/dev/null 2>&1";
    // A file that it does not take makes nothing to read.
    [[maybe_unused]] const int status = std::system(convert.c_str());
    return Runner(wast.filename().string(), scratch, engine).run(json);
}

}  // namespace suite
