#include "chain/execution/host_parameters.hpp"

#include "chain/types/config_fields.hpp"
#include "chain/types/exception.hpp"

#include <array>
#include <string>

namespace chain::host {

namespace {

using std::uint32_t;

// The id of a parameter is its place among the fields.
constexpr std::size_t kParameters = 18;

// Calls `work` with the parameter of this id.
template <class Config, class Work>
void with_parameter(Config& config, uint32_t id, Work work) {
    uint32_t at = 0;
    each_config_field(config, [&](const char* /*name*/, auto& value) {
        if (at++ == id) work(value);
    });
}

// Reads ids that exist, each at most once.
class IdReader {
  public:
    explicit IdReader(std::string_view direction) : direction_(direction) {}

    base::Result<uint32_t> next(base::Reader& in) {
        const uint32_t id = in.varuint32("id");
        if (auto status = in.status(); !status) return base::fail(std::move(status).error());
        if (id >= kParameters) {
            return fail(Exception::config_parse_error,
                        "DataStream& operator" + std::string(direction_) +
                            ": no such id: " + std::to_string(id));
        }
        if (seen_[id]) {
            return fail(Exception::config_parse_error,
                        "duplicate id provided: " + std::to_string(id));
        }
        seen_[id] = true;
        return id;
    }

  private:
    std::string_view direction_;
    std::array<bool, kParameters> seen_{};
};

struct LowerBound {
    uint32_t WasmConfig::*member;
    uint32_t minimum;
    std::string_view name;
};

constexpr std::array kLowerBounds = {
    LowerBound{&WasmConfig::max_section_elements, 4, "max_section_elements"},
    LowerBound{&WasmConfig::max_func_local_bytes, 8, "max_func_local_bytes"},
    LowerBound{&WasmConfig::max_nested_structures, 1, "max_nested_structures"},
    LowerBound{&WasmConfig::max_symbol_bytes, 32, "max_symbol_bytes"},
    LowerBound{&WasmConfig::max_module_bytes, 256, "max_module_bytes"},
    LowerBound{&WasmConfig::max_code_bytes, 32, "max_code_bytes"},
    LowerBound{&WasmConfig::max_pages, 1, "max_pages"},
    LowerBound{&WasmConfig::max_call_depth, 2, "max_call_depth"},
};

}  // namespace

base::Result<base::Bytes> pack_parameters(const ChainConfig& config, base::ByteView ids) {
    base::Reader in(ids);
    const auto count = static_cast<uint32_t>(in.count("ids", kParameters));
    IdReader reader("<<");
    base::Writer out;
    out.varuint32(count);
    for (uint32_t i = 0; i < count; ++i) {
        const base::Result<uint32_t> id = reader.next(in);
        if (!id) return base::fail(id.error());
        out.varuint32(*id);
        with_parameter(config, *id, [&](auto value) { out.integer(value); });
    }
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    return out.take();
}

base::Result<void> change_parameters(ChainConfig& config, base::ByteView pairs) {
    base::Reader in(pairs);
    const std::size_t count = in.count("parameters", kParameters);
    IdReader reader(">>");
    for (std::size_t i = 0; i < count; ++i) {
        const base::Result<uint32_t> id = reader.next(in);
        if (!id) return base::fail(id.error());
        with_parameter(config, *id, [&](auto& value) { decode(in, value, "value"); });
    }
    return in.status();
}

base::Result<void> check_wasm_config(const WasmConfig& config) {
    for (const LowerBound& bound : kLowerBounds) {
        if (config.*(bound.member) >= bound.minimum) continue;
        return fail(
            Exception::action_validate_exception,
            std::string(bound.name) + " cannot be less than " + std::to_string(bound.minimum));
    }
    constexpr uint32_t kPagesMax = 528;  // Spec 03, "Limits stated": 33 MiB.
    if (config.max_pages > kPagesMax) {
        return fail(Exception::action_validate_exception,
                    "max_pages cannot be more than " + std::to_string(kPagesMax));
    }
    return {};
}

}  // namespace chain::host
