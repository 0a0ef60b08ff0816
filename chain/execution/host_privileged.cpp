#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"
#include "chain/execution/host_parameters.hpp"

#include <algorithm>

namespace chain::host {

namespace {

Result<const AccountRow*> account_of(const Call& call, Name account) {
    const AccountRow* row = call.context.transaction().find_account(account);
    if (row != nullptr) return row;
    return fail(Exception::std_exception,
                "rethrow unknown key (eosio::chain::name): " + account.to_string() + ": ");
}

Result<void> check_limit(int64_t value, std::string_view what) {
    if (value >= -1) return {};
    return fail(Exception::wasm_execution_error,
                "invalid value for " + std::string(what) + " expected [-1,INT64_MAX]");
}

Result<void> set_resource_limits(
    const Call& call, uint64_t account, int64_t ram, int64_t net, int64_t cpu) {
    if (auto allowed = must_write(call, "set_resource_limits"); !allowed) return allowed;
    if (auto valid = check_limit(ram, "ram resource limit"); !valid) return valid;
    if (auto valid = check_limit(net, "net resource weight"); !valid) return valid;
    if (auto valid = check_limit(cpu, "cpu resource weight"); !valid) return valid;
    if (auto known = account_of(call, Name{account}); !known) return base::fail(known.error());
    call.context.transaction().set_account_limits(Name{account}, ram, net, cpu);
    return {};
}

Result<void> get_resource_limits(
    const Call& call, uint64_t account, Out<int64_t> ram, Out<int64_t> net, Out<int64_t> cpu) {
    const auto row = account_of(call, Name{account});
    if (!row) return base::fail(row.error());
    ram.set((*row)->ram_quota);
    net.set((*row)->net_weight);
    cpu.set((*row)->cpu_weight);
    return {};
}

Result<bool> is_privileged(const Call& call, uint64_t account) {
    const auto row = account_of(call, Name{account});
    if (!row) return base::fail(row.error());
    return (*row)->privileged;
}

Result<void> set_privileged(const Call& call, uint64_t account, bool privileged) {
    if (auto allowed = must_write(call, "set_privileged"); !allowed) return allowed;
    if (auto known = account_of(call, Name{account}); !known) return base::fail(known.error());
    call.context.transaction().change_account(Name{account}).privileged = privileged;
    return {};
}

// Copies all or nothing, and answers the size, or 0 where nothing was copied for want of room.
uint32_t give_all(base::ByteView packed, std::span<std::byte> out, uint32_t when_too_small) {
    const auto size = static_cast<uint32_t>(packed.size());
    if (out.empty()) return size;
    if (out.size() < packed.size()) return when_too_small;
    std::ranges::copy(packed, out.begin());
    return size;
}

Result<uint32_t> get_blockchain_parameters_packed(const Call& call, Output out) {
    const Result<ChainConfig> config = load_config(call.context.state());
    if (!config) return base::fail(config.error());
    base::Writer packed;
    encode_v0(packed, *config);
    return give_all(packed.view(), out.bytes, 0);
}

Result<void> set_blockchain_parameters_packed(const Call& call, Input packed) {
    if (auto allowed = must_write(call, "set_blockchain_parameters_packed"); !allowed) {
        return allowed;
    }
    Result<ChainConfig> config = load_config(call.context.state());
    if (!config) return base::fail(config.error());
    base::Reader in(packed.bytes);
    decode_v0(in, *config, "parameters");
    if (auto status = in.status(); !status) return status;
    if (auto valid = config->validate(); !valid) return valid;
    call.context.transaction().set_config(*config);
    return {};
}

Result<uint32_t> get_parameters_packed(const Call& call, ExclusiveInput ids, ExclusiveOutput out) {
    const Result<ChainConfig> config = load_config(call.context.state());
    if (!config) return base::fail(config.error());
    const Result<base::Bytes> packed = pack_parameters(*config, ids.bytes);
    if (!packed) return base::fail(packed.error());
    if (!out.bytes.empty() && out.bytes.size() < packed->size()) {
        return fail(
            Exception::config_parse_error,
            "get_parameters_packed: buffer size is smaller than " + std::to_string(packed->size()));
    }
    return give_all(*packed, out.bytes, 0);
}

Result<void> set_parameters_packed(const Call& call, ExclusiveInput packed) {
    if (auto allowed = must_write(call, "set_parameters_packed"); !allowed) return allowed;
    Result<ChainConfig> config = load_config(call.context.state());
    if (!config) return base::fail(config.error());
    if (auto changed = change_parameters(*config, packed.bytes); !changed) return changed;
    if (auto valid = config->validate(); !valid) return valid;
    call.context.transaction().set_config(*config);
    return {};
}

Result<uint32_t> get_wasm_parameters_packed(const Call& call,
                                            ExclusiveOutput out,
                                            uint32_t /*max_version: only 0 exists*/) {
    const Result<WasmConfig> config = load_wasm_config(call.context.state());
    if (!config) return base::fail(config.error());
    base::Writer packed;
    packed.u32(0);  // Version.
    encode(packed, *config);
    return give_all(packed.view(), out.bytes, static_cast<uint32_t>(packed.view().size()));
}

Result<void> set_wasm_parameters_packed(const Call& call, ExclusiveInput packed) {
    if (auto allowed = must_write(call, "set_wasm_parameters_packed"); !allowed) return allowed;
    base::Reader in(packed.bytes);
    const uint32_t version = in.u32("version");
    if (in.ok() && version != 0) {
        return fail(Exception::wasm_config_unknown_version,
                    "set_wasm_parameters_packed: Unknown version: " + std::to_string(version));
    }
    WasmConfig config;
    decode(in, config, "parameters");
    if (auto status = in.status(); !status) return status;
    if (auto valid = check_wasm_config(config); !valid) return valid;
    call.context.transaction().set_wasm_config(config);
    return {};
}

}  // namespace

void add_privileged(Functions& out) {
    constexpr Access kAccess = Access::privileged;
    add<&set_resource_limits, kAccess, Cost::privileged>(out, "set_resource_limits");
    add<&get_resource_limits, kAccess, Cost::state>(out, "get_resource_limits");
    add<&is_privileged, kAccess, Cost::state>(out, "is_privileged");
    add<&set_privileged, kAccess, Cost::privileged>(out, "set_privileged");
    add<&get_blockchain_parameters_packed, kAccess, Cost::privileged>(
        out, "get_blockchain_parameters_packed");
    add<&set_blockchain_parameters_packed, kAccess, Cost::privileged>(
        out, "set_blockchain_parameters_packed");
    add<&get_parameters_packed, kAccess, Cost::privileged>(out, "get_parameters_packed");
    add<&set_parameters_packed, kAccess, Cost::privileged>(out, "set_parameters_packed");
    add<&get_wasm_parameters_packed, kAccess, Cost::privileged>(out, "get_wasm_parameters_packed");
    add<&set_wasm_parameters_packed, kAccess, Cost::privileged>(out, "set_wasm_parameters_packed");
}

}  // namespace chain::host
