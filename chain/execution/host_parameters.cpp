#include "chain/execution/host_parameters.hpp"

#include "chain/types/exception.hpp"

#include <array>
#include <string>
#include <variant>

namespace chain::host {

namespace {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;

using Field =
    std::variant<uint64_t ChainConfig::*, uint32_t ChainConfig::*, uint16_t ChainConfig::*>;

const std::array kFields = {
    Field(&ChainConfig::max_block_net_usage),
    Field(&ChainConfig::target_block_net_usage_pct),
    Field(&ChainConfig::max_transaction_net_usage),
    Field(&ChainConfig::base_per_transaction_net_usage),
    Field(&ChainConfig::net_usage_leeway),
    Field(&ChainConfig::context_free_discount_net_usage_num),
    Field(&ChainConfig::context_free_discount_net_usage_den),
    Field(&ChainConfig::max_block_cpu_usage),
    Field(&ChainConfig::target_block_cpu_usage_pct),
    Field(&ChainConfig::max_transaction_cpu_usage),
    Field(&ChainConfig::min_transaction_cpu_usage),
    Field(&ChainConfig::max_transaction_lifetime),
    Field(&ChainConfig::deferred_trx_expiration_window),
    Field(&ChainConfig::max_transaction_delay),
    Field(&ChainConfig::max_inline_action_size),
    Field(&ChainConfig::max_inline_action_depth),
    Field(&ChainConfig::max_authority_depth),
    Field(&ChainConfig::max_action_return_value_size),
};

// Reads ids that exist, each at most once.
class IdReader {
  public:
    explicit IdReader(std::string_view direction) : direction_(direction) {}

    base::Result<uint32_t> next(base::Reader& in) {
        const uint32_t id = in.varuint32("id");
        if (auto status = in.status(); !status) return base::fail(std::move(status).error());
        if (id >= kFields.size()) {
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
    std::array<bool, kFields.size()> seen_{};
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
    const auto count = static_cast<uint32_t>(in.count("ids", kFields.size()));
    IdReader reader("<<");
    base::Writer out;
    out.varuint32(count);
    for (uint32_t i = 0; i < count; ++i) {
        const base::Result<uint32_t> id = reader.next(in);
        if (!id) return base::fail(id.error());
        out.varuint32(*id);
        std::visit([&](auto member) { out.integer(config.*member); }, kFields[*id]);
    }
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    return out.take();
}

base::Result<void> change_parameters(ChainConfig& config, base::ByteView pairs) {
    base::Reader in(pairs);
    const std::size_t count = in.count("parameters", kFields.size());
    IdReader reader(">>");
    for (std::size_t i = 0; i < count; ++i) {
        const base::Result<uint32_t> id = reader.next(in);
        if (!id) return base::fail(id.error());
        std::visit(
            [&](auto member) {
                using T = std::remove_reference_t<decltype(config.*member)>;
                config.*member = in.integer<T>("value");
            },
            kFields[*id]);
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
