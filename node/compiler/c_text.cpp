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

// The definition of one imported function: packs its arguments into slots and calls the host.
std::string host_call(const std::string& host, const std::string& types) {
    const auto name_of = [](char type) {
        return type == 'v'   ? "void"
               : type == 'i' ? "u32"
               : type == 'l' ? "u64"
               : type == 'f' ? "f32"
                             : "f64";
    };
    const auto to_slot = [](char type) {
        return type == 'f' ? "i32_reinterpret_f32" : type == 'd' ? "i64_reinterpret_f64" : "";
    };
    std::string out =
        fmt::format("{} Z_hZ_f{}(struct Z_h_instance_t* none", name_of(types[0]), host);
    for (std::size_t i = 1; i < types.size(); ++i) {
        out += fmt::format(", {} a{}", name_of(types[i]), i);
    }
    out += fmt::format(") {{\n  u64 args[{}];\n  u64 result = 0;\n", types.size());
    for (std::size_t i = 1; i < types.size(); ++i) {
        out += fmt::format("  args[{}] = {}(a{});\n", i - 1, to_slot(types[i]), i);
    }
    out += fmt::format("  bor_call({}, args, &result);\n", host);
    if (types[0] == 'f') out += "  return f32_reinterpret_i32((u32)result);\n";
    if (types[0] == 'd') out += "  return f64_reinterpret_i64(result);\n";
    if (types[0] == 'i' || types[0] == 'l') {
        out += fmt::format("  return ({})result;\n", name_of(types[0]));
    }
    return out + "}\n";
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
