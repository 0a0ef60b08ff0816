#include "chain/types/parameters.hpp"

#include "chain/types/config_fields.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace chain {

namespace {

constexpr std::uint32_t kPercent100 = 10'000;
constexpr std::uint32_t kPercentMin = 10;          // 0.1 %
constexpr std::uint32_t kNetDeltaMin = 10 * 1024;  // Between base and maximum of a transaction.
constexpr std::uint32_t kReturnValueBytesMax = 20 * 1024 * 1024;

std::vector<ParameterInfo> limits() {
    using P = BorParameters;
    return {
        {"max_block_bytes", 64 * 1024, kBlockBytesCeiling, false, &P::max_block_bytes},
        {"open_accounts", 0, 1, false, &P::open_accounts},
        {"open_contracts", 0, 1, false, &P::open_contracts},
        {"schedule_period", 2, 1'000'000, true, &P::schedule_period},
        {"max_producers", 1, kProducersMax, false, &P::max_producers},
        {"min_producers", 1, kProducersMax, false, &P::min_producers},
        {"repetitions", 1, 1'000, true, &P::repetitions},
        {"max_missed", 1, 1'000'000'000, false, &P::max_missed},
        {"cpu_units_per_us", 1, 1'000'000'000, false, &P::cpu_units_per_us},
        // Below the block ids that the state keeps, of which finality_root is made.
        {"max_reversible", 100, 60'000, false, &P::max_reversible},
        {"snapshot_period", 0, 10'000'000, false, &P::snapshot_period},
    };
}

// Nothing is free that was not, and no price keeps out the transaction that would lower it.
ParameterInfo price_parameter(const PriceInfo& info, std::uint32_t Price::*column) {
    constexpr std::uint64_t kTimesNormalMax = 100;
    constexpr std::uint64_t kMaxOfFree = 1'000;
    const std::uint64_t normal = info.normal.*column;
    return {.name = fmt::format("price_{}{}", info.name, column == &Price::kibibyte ? "_kib" : ""),
            .minimum = normal == 0 ? 0U : 1U,
            .maximum = normal == 0 ? kMaxOfFree : kTimesNormalMax * normal,
            .cost = info.cost,
            .column = column};
}

std::vector<ParameterInfo> make_infos() {
    std::vector<ParameterInfo> infos = limits();
    for (const PriceInfo& info : price_infos()) {
        infos.push_back(price_parameter(info, &Price::base));
        if (info.is_sized) infos.push_back(price_parameter(info, &Price::kibibyte));
    }
    return infos;
}

struct Rule {
    bool holds;
    std::string_view otherwise;  // nodeos' text.
};

}  // namespace

base::Result<void> ChainConfig::validate() const {
    const std::array rules = {
        Rule{target_block_net_usage_pct <= kPercent100,
             "target block net usage percentage cannot exceed 100%"},
        Rule{target_block_net_usage_pct >= kPercentMin,
             "target block net usage percentage must be at least 0.1%"},
        Rule{target_block_cpu_usage_pct <= kPercent100,
             "target block cpu usage percentage cannot exceed 100%"},
        Rule{target_block_cpu_usage_pct >= kPercentMin,
             "target block cpu usage percentage must be at least 0.1%"},
        Rule{max_transaction_net_usage < max_block_net_usage,
             "max transaction net usage must be less than max block net usage"},
        Rule{max_transaction_cpu_usage < max_block_cpu_usage,
             "max transaction cpu usage must be less than max block cpu usage"},
        Rule{base_per_transaction_net_usage < max_transaction_net_usage,
             "base net usage per transaction must be less than the max transaction net usage"},
        Rule{max_transaction_net_usage >=
                 std::uint64_t{base_per_transaction_net_usage} + kNetDeltaMin,
             "max transaction net usage must be at least 10240 bytes larger than base net usage "
             "per transaction"},
        Rule{context_free_discount_net_usage_den > 0,
             "net usage discount ratio for context free data cannot have a 0 denominator"},
        Rule{context_free_discount_net_usage_num <= context_free_discount_net_usage_den,
             "net usage discount ratio for context free data cannot exceed 1"},
        Rule{min_transaction_cpu_usage <= max_transaction_cpu_usage,
             "min transaction cpu usage cannot exceed max transaction cpu usage"},
        Rule{std::uint64_t{max_transaction_cpu_usage} + min_transaction_cpu_usage <
                 max_block_cpu_usage,
             "max transaction cpu usage must be at less than the difference between the max "
             "block cpu usage and the min transaction cpu usage"},
        Rule{max_authority_depth >= 1, "max authority depth should be at least 1"},
        Rule{max_action_return_value_size <= kReturnValueBytesMax,
             "max action return value size should be less than MAX_SIZE_OF_BYTE_ARRAYS"},
    };
    for (const Rule& rule : rules) {
        if (!rule.holds) {
            return fail(Exception::action_validate_exception, std::string(rule.otherwise));
        }
    }
    return {};
}

void encode_v0(base::Writer& out, const ChainConfig& config) {
    each_v0_field(config, [&out](const char* /*name*/, auto value) { out.integer(value); });
}

void decode_v0(base::Reader& in, ChainConfig& config, std::string_view field) {
    each_v0_field(config,
                  [&]<class T>(const char* /*name*/, T& value) { value = in.integer<T>(field); });
}

void encode(base::Writer& out, const ChainConfig& config) {
    encode_v0(out, config);
    out.u32(config.max_action_return_value_size);
}

void decode(base::Reader& in, ChainConfig& config, std::string_view field) {
    decode_v0(in, config, field);
    config.max_action_return_value_size = in.u32(field);
}

void encode(base::Writer& out, const WasmConfig& config) {
    each_wasm_field(config, [&out](const char* /*name*/, auto value) { out.u32(value); });
}

void decode(base::Reader& in, WasmConfig& config, std::string_view field) {
    each_wasm_field(config, [&](const char* /*name*/, auto& value) { value = in.u32(field); });
}

std::uint64_t ParameterInfo::value_in(const BorParameters& parameters) const {
    return member != nullptr ? parameters.*member : parameters.prices[cost].*column;
}

void ParameterInfo::put(BorParameters& parameters, std::uint64_t value) const {
    if (member != nullptr) {
        parameters.*member = value;
    } else {
        parameters.prices[cost].*column = static_cast<std::uint32_t>(value);
    }
}

std::span<const ParameterInfo> bor_parameter_infos() {
    static const std::vector<ParameterInfo> kInfos = make_infos();
    return kInfos;
}

base::Result<void> BorParameters::set(std::string_view name, std::uint64_t value) {
    const auto infos = bor_parameter_infos();
    const auto info = std::ranges::find(infos, name, &ParameterInfo::name);
    if (info == infos.end()) {
        return base::fail(base::Errc::not_found, fmt::format("no parameter is named {}", name));
    }
    if (value < info->minimum || value > info->maximum) {
        return base::fail(base::Errc::invalid,
                          fmt::format("parameter {} is {}, it must be from {} to {}",
                                      name,
                                      value,
                                      info->minimum,
                                      info->maximum));
    }
    info->put(*this, value);
    return {};
}

base::Result<void> BorParameters::change(std::string_view name, std::uint64_t value) {
    const auto infos = bor_parameter_infos();
    const auto info = std::ranges::find(infos, name, &ParameterInfo::name);
    if (info != infos.end() && info->fixed) {
        return base::fail(base::Errc::invalid,
                          fmt::format("parameter {} is set by the genesis file alone: headers are "
                                      "checked by it before their state is known",
                                      name));
    }
    return set(name, value);
}

base::Result<void> BorParameters::validate() const {
    if (min_producers <= max_producers) return {};
    return base::fail(
        base::Errc::invalid,
        fmt::format(
            "min_producers ({}) is above max_producers ({})", min_producers, max_producers));
}

void encode(base::Writer& out, const BorParameters& parameters) {
    for (const ParameterInfo& info : bor_parameter_infos()) {
        if (info.member != nullptr) out.u64(parameters.*info.member);
    }
    encode(out, parameters.prices);
}

void decode(base::Reader& in, BorParameters& parameters, std::string_view field) {
    for (const ParameterInfo& info : bor_parameter_infos()) {
        if (info.member != nullptr) parameters.*info.member = in.u64(field);
    }
    decode(in, parameters.prices, field);
}

}  // namespace chain
