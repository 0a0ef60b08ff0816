#include "chain/execution/rows.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace chain {

namespace {

using base::Bytes;
using base::ByteView;
using base::Reader;
using base::Result;
using base::Writer;

constexpr std::uint64_t kPrecision = 1'000'000;
constexpr std::size_t kTextMax = 1024;

std::uint64_t divide_ceil(std::uint64_t value, std::uint64_t divisor) {
    return value / divisor + (value % divisor != 0 ? 1 : 0);
}

static_assert(std::endian::native == std::endian::little);  // What follows copies integers.

// Little-endian bytes put one after the other into a row of known size.
class FixedWriter {
  public:
    explicit FixedWriter(std::size_t size) : bytes_(size) {}
    void u64(std::uint64_t value) { put(value, 8); }
    void u32(std::uint32_t value) { put(value, 4); }
    void u8(std::uint8_t value) { put(value, 1); }
    void raw(ByteView view) {
        CHECK(view.size() <= bytes_.size() - offset_);
        std::copy(view.begin(), view.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset_));
        offset_ += view.size();
    }
    Bytes take() {
        CHECK(offset_ == bytes_.size());
        return std::move(bytes_);
    }

  private:
    void put(std::uint64_t value, std::size_t size) {
        CHECK(size <= bytes_.size() - offset_);
        std::memcpy(bytes_.data() + offset_, &value, size);
        offset_ += size;
    }
    Bytes bytes_;
    std::size_t offset_ = 0;
};

std::uint64_t little_endian(ByteView bytes, std::size_t size) {
    CHECK(bytes.size() >= size);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), size);
    return value;
}

// Reads a row of a size that the caller has checked.
class FixedReader {
  public:
    explicit FixedReader(ByteView bytes) : bytes_(bytes) {}
    std::uint64_t u64() { return take(8); }
    std::int64_t i64() { return static_cast<std::int64_t>(take(8)); }
    std::uint32_t u32() { return static_cast<std::uint32_t>(take(4)); }
    std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)); }
    base::Hash256 hash() {
        base::Hash256 value;
        std::copy_n(bytes_.begin(), value.bytes.size(), value.bytes.begin());
        bytes_ = bytes_.subspan(value.bytes.size());
        return value;
    }

  private:
    std::uint64_t take(std::size_t size) {
        const std::uint64_t value = little_endian(bytes_, size);
        bytes_ = bytes_.subspan(size);
        return value;
    }
    ByteView bytes_;
};

constexpr std::size_t kUsageBytes = 4 + 8 + 8;
constexpr std::size_t kAccountBytes = 8 + 1 + 4 * 8 + 32 + 4 + 8 + 4 * 8 + 2 * kUsageBytes + 8;
constexpr std::size_t kCountersBytes = 8 * 8 + 2 * kUsageBytes;

void put_usage(FixedWriter& out, const UsageAverage& usage) {
    out.u32(usage.last_ordinal);
    out.u64(usage.value_ex);
    out.u64(usage.consumed);
}

UsageAverage take_usage(FixedReader& in) {
    UsageAverage usage;
    usage.last_ordinal = in.u32();
    usage.value_ex = in.u64();
    usage.consumed = in.u64();
    return usage;
}

tl::unexpected<base::Error> corrupt(std::string_view table) {
    return base::fail(base::Errc::corrupt,
                      "a row of table " + std::string(table) +
                          " does not decode: the state is damaged; restore it from a snapshot or "
                          "replay the chain");
}

template <class T, class Decode>
Result<T> load(const StateView& state, std::string_view name, Decode decode_value) {
    const Value value = state.find(Table::global, global_key(name));
    if (!value) return T{};
    Reader in(*value);
    T result{};
    decode_value(in, result);
    if (!in.finish()) return corrupt("global");
    return result;
}

}  // namespace

RowKey& RowKey::u128(Uint128 value) {
    return u64(static_cast<std::uint64_t>(value >> 64U)).u64(static_cast<std::uint64_t>(value));
}

RowKey& RowKey::raw(ByteView bytes) {
    CHECK(bytes.size() <= bytes_.size() - size_);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += bytes.size();
    return *this;
}

std::uint64_t key_u64(ByteView key, std::size_t offset) {
    CHECK(key.size() >= offset + 8);
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        value = value << 8U | std::to_integer<std::uint64_t>(key[offset + i]);
    }
    return value;
}

std::uint64_t UsageAverage::average() const {
    return divide_ceil(value_ex, kPrecision);
}

void UsageAverage::add(std::uint64_t units, std::uint32_t ordinal, std::uint32_t window) {
    CHECK(window > 0 && ordinal >= last_ordinal);
    const std::uint64_t contribution = static_cast<std::uint64_t>(
        (static_cast<Uint128>(units) * kPrecision + window - 1) / window);
    if (last_ordinal != ordinal) {
        const std::uint32_t passed = ordinal - last_ordinal;
        value_ex = passed < window ? static_cast<std::uint64_t>(static_cast<Uint128>(value_ex) *
                                                                (window - passed) / window)
                                   : 0;
        last_ordinal = ordinal;
        consumed = average();
    }
    consumed += units;
    value_ex += contribution;
}

Bytes encode_account(const AccountRow& row) {
    FixedWriter out(kAccountBytes);
    out.u64(static_cast<std::uint64_t>(row.created.microseconds));
    out.u8(row.privileged ? 1 : 0);
    out.u64(row.recv_sequence);
    out.u64(row.auth_sequence);
    out.u64(row.code_sequence);
    out.u64(row.abi_sequence);
    out.raw(row.code_hash.view());
    out.u32(row.code_bytes);
    out.u64(static_cast<std::uint64_t>(row.last_code_update.microseconds));
    out.u64(row.ram_usage);
    out.u64(static_cast<std::uint64_t>(row.ram_quota));
    out.u64(static_cast<std::uint64_t>(row.net_weight));
    out.u64(static_cast<std::uint64_t>(row.cpu_weight));
    put_usage(out, row.net);
    put_usage(out, row.cpu);
    out.u64(static_cast<std::uint64_t>(row.active_last_used.microseconds));
    return out.take();
}

Result<AccountRow> decode_account(ByteView bytes) {
    if (bytes.size() != kAccountBytes) return corrupt("account");
    FixedReader in(bytes);
    AccountRow row;
    row.created.microseconds = in.i64();
    const std::uint8_t privileged = in.u8();
    if (privileged > 1) return corrupt("account");
    row.privileged = privileged == 1;
    row.recv_sequence = in.u64();
    row.auth_sequence = in.u64();
    row.code_sequence = in.u64();
    row.abi_sequence = in.u64();
    row.code_hash = in.hash();
    row.code_bytes = in.u32();
    row.last_code_update.microseconds = in.i64();
    row.ram_usage = in.u64();
    row.ram_quota = in.i64();
    row.net_weight = in.i64();
    row.cpu_weight = in.i64();
    row.net = take_usage(in);
    row.cpu = take_usage(in);
    row.active_last_used.microseconds = in.i64();
    return row;
}

Bytes encode_permission(const PermissionRow& row) {
    Writer out;
    encode(out, row.parent);
    encode(out, row.last_updated);
    encode(out, row.last_used);
    encode(out, row.authority);
    return out.take();
}

Result<PermissionRow> decode_permission(ByteView bytes) {
    Reader in(bytes);
    PermissionRow row;
    decode(in, row.parent, "parent");
    decode(in, row.last_updated, "last_updated");
    decode(in, row.last_used, "last_used");
    decode(in, row.authority, "authority");
    if (!in.finish()) return corrupt("permission");
    return row;
}

Bytes encode_code(std::uint32_t users, ByteView code) {
    FixedWriter out(4 + code.size());
    out.u32(users);
    out.raw(code);
    return out.take();
}

std::uint32_t code_users(ByteView row) {
    return static_cast<std::uint32_t>(little_endian(row, 4));
}

ByteView code_bytes(ByteView row) {
    CHECK(row.size() >= 4);
    return row.subspan(4);
}

Bytes encode_table(const TableRow& row) {
    FixedWriter out(12);
    out.u64(row.payer.value);
    out.u32(row.rows);
    return out.take();
}

Result<TableRow> decode_table(ByteView bytes) {
    if (bytes.size() != 12) return corrupt("contract_table");
    FixedReader in(bytes);
    TableRow row;
    row.payer.value = in.u64();
    row.rows = in.u32();
    return row;
}

Bytes encode_row(Name payer, ByteView value) {
    FixedWriter out(8 + value.size());
    out.u64(payer.value);
    out.raw(value);
    return out.take();
}

Name row_payer(ByteView row) {
    return Name{little_endian(row, 8)};
}

ByteView row_value(ByteView row) {
    CHECK(row.size() >= 8);
    return row.subspan(8);
}

std::uint64_t ordered_double(std::uint64_t bits) {
    constexpr std::uint64_t kSign = 1ULL << 63U;
    if (bits == kSign) bits = 0;
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

Uint128 ordered_long_double(Uint128 bits) {
    constexpr Uint128 kSign = static_cast<Uint128>(1) << 127U;
    if (bits == kSign) bits = 0;
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

RowKey producer_key(Name producer) {
    return RowKey().raw(base::as_bytes("p")).name(producer);
}

RowKey voter_key(Name voter) {
    return RowKey().raw(base::as_bytes("v")).name(voter);
}

Bytes encode_producer(const ProducerRow& row) {
    Writer out;
    encode(out, row.key);
    encode(out, row.vote_key);
    out.string(row.url);
    out.u16(row.location);
    out.boolean(row.active);
    return out.take();
}

Result<ProducerRow> decode_producer(ByteView bytes) {
    Reader in(bytes);
    ProducerRow row;
    decode(in, row.key, "key");
    decode(in, row.vote_key, "vote_key");
    row.url = in.string("url", kTextMax);
    row.location = in.u16("location");
    row.active = in.boolean("active");
    if (!in.finish()) return corrupt("producer");
    return row;
}

Bytes encode_voter(const VoterRow& row) {
    Writer out;
    encode(out, row.proxy);
    out.boolean(row.is_proxy);
    encode_list(out, row.producers);
    return out.take();
}

Result<VoterRow> decode_voter(ByteView bytes) {
    Reader in(bytes);
    VoterRow row;
    decode(in, row.proxy, "proxy");
    row.is_proxy = in.boolean("is_proxy");
    decode_list(in, row.producers, {.count = kProducersMax, .item_bytes_min = 8}, "producers");
    if (!in.finish()) return corrupt("producer");
    return row;
}

Bytes encode_u64(std::uint64_t value) {
    FixedWriter out(8);
    out.u64(value);
    return out.take();
}

std::uint64_t decode_u64(ByteView bytes) {
    return little_endian(bytes, 8);
}

Bytes encode_node(const NodeRow& row) {
    Writer out;
    encode(out, row.organisation);
    encode(out, row.key);
    out.u32(row.roles);
    encode(out, row.previous_key);
    encode(out, row.previous_until);
    return out.take();
}

Result<NodeRow> decode_node(ByteView bytes) {
    Reader in(bytes);
    NodeRow row;
    decode(in, row.organisation, "organisation");
    decode(in, row.key, "key");
    row.roles = in.u32("roles");
    decode(in, row.previous_key, "previous_key");
    decode(in, row.previous_until, "previous_until");
    if (!in.finish()) return corrupt("node");
    return row;
}

Bytes encode_counters(const CountersRow& row) {
    FixedWriter out(kCountersBytes);
    out.u64(row.global_action_sequence);
    out.u64(row.total_net_weight);
    out.u64(row.total_cpu_weight);
    out.u64(row.total_ram_bytes);
    out.u64(row.pending_net_usage);
    out.u64(row.pending_cpu_usage);
    out.u64(row.virtual_net_limit);
    out.u64(row.virtual_cpu_limit);
    put_usage(out, row.average_net);
    put_usage(out, row.average_cpu);
    return out.take();
}

Result<CountersRow> decode_counters(ByteView bytes) {
    if (bytes.size() != kCountersBytes) return corrupt("global");
    FixedReader in(bytes);
    CountersRow row;
    row.global_action_sequence = in.u64();
    row.total_net_weight = in.u64();
    row.total_cpu_weight = in.u64();
    row.total_ram_bytes = in.u64();
    row.pending_net_usage = in.u64();
    row.pending_cpu_usage = in.u64();
    row.virtual_net_limit = in.u64();
    row.virtual_cpu_limit = in.u64();
    row.average_net = take_usage(in);
    row.average_cpu = take_usage(in);
    return row;
}

Bytes encode_rules(const RulesRow& row) {
    Writer out;
    out.u32(row.version);
    out.u32(row.next_version);
    out.u32(row.next_height);
    return out.take();
}

Result<RulesRow> decode_rules(ByteView bytes) {
    Reader in(bytes);
    RulesRow row;
    row.version = in.u32("version");
    row.next_version = in.u32("next_version");
    row.next_height = in.u32("next_height");
    if (!in.finish()) return corrupt("global");
    return row;
}

Result<ChainConfig> load_config(const StateView& state) {
    return load<ChainConfig>(
        state, kGlobalConfig, [](Reader& in, ChainConfig& value) { decode(in, value, "config"); });
}

Result<WasmConfig> load_wasm_config(const StateView& state) {
    return load<WasmConfig>(
        state, kGlobalWasm, [](Reader& in, WasmConfig& value) { decode(in, value, "wasm"); });
}

Result<BorParameters> load_parameters(const StateView& state) {
    return load<BorParameters>(state, kGlobalParameters, [](Reader& in, BorParameters& value) {
        decode(in, value, "parameters");
    });
}

Result<CountersRow> load_counters(const StateView& state) {
    const Value value = state.find(Table::global, global_key(kGlobalCounters));
    if (!value) return CountersRow{};
    return decode_counters(*value);
}

Result<RulesRow> load_rules(const StateView& state) {
    const Value value = state.find(Table::global, global_key(kGlobalRules));
    if (!value) return RulesRow{};
    return decode_rules(*value);
}

Result<Schedule> load_schedule(const StateView& state) {
    return load<Schedule>(
        state, kGlobalSchedule, [](Reader& in, Schedule& value) { decode(in, value, "schedule"); });
}

Result<SlotTimes> load_times(const StateView& state) {
    return load<SlotTimes>(state, kGlobalTimes, [](Reader& in, SlotTimes& value) {
        decode(in, value.initial, "initial");
        value.interval_milliseconds = in.u32("interval");
    });
}

}  // namespace chain
