#include "node/compiler/c_text.hpp"

#include "chain/vm/compiler.hpp"
#include "chain/vm/wabt_adapter.hpp"
#include "node/compiler/runtime_text.hpp"

#include <fmt/format.h>

#include <sstream>

namespace node {

namespace {

// Where WABT's own runtime ends and the module begins, in WABT 1.0.32.
constexpr std::string_view kModuleBegins = "static bool s_module_initialized = false;";
constexpr std::uint32_t kTableSizeMax = 65536;

std::string_view name_of(char type) {
    switch (type) {
        case 'i':
            return "u32";
        case 'l':
            return "u64";
        case 'f':
            return "f32";
        case 'd':
            return "f64";
        default:
            return "void";
    }
}

std::string_view to_slot(char type) {
    if (type == 'f') return "i32_reinterpret_f32";
    return type == 'd' ? "i64_reinterpret_f64" : "";
}

std::string_view from_slot(char type) {
    switch (type) {
        case 'i':
            return "  return (u32)result;\n";
        case 'l':
            return "  return result;\n";
        case 'f':
            return "  return f32_reinterpret_i32((u32)result);\n";
        case 'd':
            return "  return f64_reinterpret_i64(result);\n";
        default:
            return "";
    }
}

// The definition of one imported function: packs its arguments into slots and calls the host.
std::string host_call(const std::string& host, const std::string& types) {
    std::string out =
        fmt::format("{} Z_hZ_f{}(struct Z_h_instance_t* none", name_of(types[0]), host);
    for (std::size_t i = 1; i < types.size(); ++i) {
        out += fmt::format(", {} a{}", name_of(types[i]), i);
    }
    out += fmt::format(") {{\n  u64 args[{}];\n  u64 result = 0;\n", types.size());
    for (std::size_t i = 1; i < types.size(); ++i) {
        out += fmt::format("  args[{}] = {}(a{});\n", i - 1, to_slot(types[i]), i);
    }
    out += fmt::format("  bor_call({}, args, &result);\n{}}}\n", host, from_slot(types[0]));
    return out;
}

std::string host_calls(const std::string& signatures) {
    std::istringstream in(signatures);
    std::string out;
    for (std::string host, types; in >> host >> types;)
        out += host_call(host, types);
    return out;
}

std::string without_includes(const std::string& text) {
    std::istringstream in(text);
    std::string out;
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with("#include")) out += line + '\n';
    }
    return out;
}

}  // namespace

base::Result<std::string> c_text_of(base::ByteView module) {
    const chain::vm::WabtC written = chain::vm::wabt_write_c(
        reinterpret_cast<const std::uint8_t*>(module.data()), module.size());
    if (!written.ok) return base::fail(base::Errc::malformed, written.error);
    const std::size_t begin = written.source.find(kModuleBegins);
    if (begin == std::string::npos) {
        return base::fail(base::Errc::malformed, "WABT wrote C of another version than 1.0.32");
    }
    std::string out = fmt::format("#define BOR_VERSION {}\n#define BOR_TABLE_SIZE {}\n",
                                  chain::vm::kNativeVersion,
                                  kTableSizeMax);
    if (!written.signatures.empty()) out += "#define BOR_HAS_IMPORTS\n";
    out += kRuntimeBegin;
    out += without_includes(written.header);
    out += host_calls(written.signatures);
    out += written.source.substr(begin);
    out += kRuntimeEnd;
    return out;
}

}  // namespace node
