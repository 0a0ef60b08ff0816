#include "chain/execution/native_types.hpp"

namespace chain {

namespace {

constexpr std::size_t kBytesMax = kTransactionBytesMax;  // What the transaction may hold at all.

constexpr std::size_t kUrlMax = 1024;
constexpr std::size_t kValuesMax = 64;
constexpr std::size_t kValueNameMax = 64;
constexpr std::size_t kKeysMax = 1024;

// Antelope's producer_authority: {name, variant block_signing_authority_v0{threshold, keys}}.
void decode_producer_authority(base::Reader& in, SetProds& data) {
    ScheduleEntry entry;
    decode(in, entry.producer, "producer_name");
    if (in.varuint32("authority") != 0) in.set_error("authority", "unknown kind");
    const std::uint32_t threshold = in.u32("threshold");
    std::vector<KeyWeight> keys;
    decode_list(in, keys, {.count = kKeysMax, .item_bytes_min = 36}, "keys");
    if (keys.size() == 1 && threshold > 0 && keys[0].weight >= threshold) {
        entry.signing_key = keys[0].key;
        entry.vote_key = keys[0].key;
    } else {
        data.single_keys = false;
    }
    data.entries.push_back(std::move(entry));
}

}  // namespace

void decode(base::Reader& in, SetPriv& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    data.privileged = in.u8("is_priv") != 0;
}

void decode(base::Reader& in, SetAccountLimits& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    data.ram = in.i64("ram_bytes");
    data.net = in.i64("net_weight");
    data.cpu = in.i64("cpu_weight");
}

void decode(base::Reader& in, SetProds& data, std::string_view /*field*/) {
    const std::size_t count = in.count("schedule", kProducersMax, 14);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        decode_producer_authority(in, data);
    }
}

void decode(base::Reader& in, SetParams& data, std::string_view /*field*/) {
    decode_v0(in, data.config, "params");
}

void decode(base::Reader& in, RegProducer& data, std::string_view /*field*/) {
    decode(in, data.producer, "producer");
    decode(in, data.key, "producer_key");
    data.url = in.string("url", kUrlMax);
    data.location = in.u16("location");
}

void decode(base::Reader& in, VoteProducer& data, std::string_view /*field*/) {
    decode(in, data.voter, "voter");
    decode(in, data.proxy, "proxy");
    decode_list(in, data.producers, {.count = kProducersMax, .item_bytes_min = 8}, "producers");
}

void decode(base::Reader& in, RegProxy& data, std::string_view /*field*/) {
    decode(in, data.proxy, "proxy");
    data.is_proxy = in.boolean("isproxy");
}

void decode(base::Reader& in, OneName& data, std::string_view field) {
    decode(in, data.name, field);
}

void decode(base::Reader& in, SetVoteKey& data, std::string_view /*field*/) {
    decode(in, data.producer, "producer");
    decode(in, data.key, "key");
}

void decode(base::Reader& in, SetWeight& data, std::string_view /*field*/) {
    decode(in, data.member, "member");
    data.weight = in.u64("weight");
}

void decode(base::Reader& in, Allow& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    data.accounts = in.boolean("accounts");
    data.contracts = in.boolean("contracts");
}

void decode(base::Reader& in, RegNode& data, std::string_view /*field*/) {
    decode(in, data.organisation, "organisation");
    decode(in, data.node, "node");
    decode(in, data.key, "key");
    data.roles = in.u32("roles");
}

void decode(base::Reader& in, RotateKey& data, std::string_view /*field*/) {
    decode(in, data.node, "node");
    decode(in, data.key, "key");
    decode(in, data.until, "until");
}

void decode(base::Reader& in, SetRules& data, std::string_view /*field*/) {
    data.version = in.u32("version");
    data.height = in.u32("height");
}

void decode(base::Reader& in, SetChain& data, std::string_view /*field*/) {
    const std::size_t count = in.count("values", kValuesMax, 9);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        ChainValue& value = data.values.emplace_back();
        value.name = in.string("name", kValueNameMax);
        value.value = in.u64("value");
    }
}

void decode(base::Reader& in, NewAccount& data, std::string_view /*field*/) {
    decode(in, data.creator, "creator");
    decode(in, data.name, "name");
    decode(in, data.owner, "owner");
    decode(in, data.active, "active");
}

void decode(base::Reader& in, SetCode& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    data.vm_type = in.u8("vmtype");
    data.vm_version = in.u8("vmversion");
    data.code = in.bytes("code", kBytesMax);
}

void decode(base::Reader& in, SetAbi& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    data.abi = in.bytes("abi", kBytesMax);
}

void decode(base::Reader& in, UpdateAuth& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    decode(in, data.permission, "permission");
    decode(in, data.parent, "parent");
    decode(in, data.authority, "auth");
}

void decode(base::Reader& in, DeleteAuth& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    decode(in, data.permission, "permission");
}

void decode(base::Reader& in, LinkAuth& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    decode(in, data.code, "code");
    decode(in, data.type, "type");
    decode(in, data.requirement, "requirement");
}

void decode(base::Reader& in, UnlinkAuth& data, std::string_view /*field*/) {
    decode(in, data.account, "account");
    decode(in, data.code, "code");
    decode(in, data.type, "type");
}

}  // namespace chain
