#include "chain/execution/rows.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace chain {

namespace {

using base::Bytes;
using base::ByteView;
using base::Result;

constexpr std::uint64_t kPrecision = 1'000'000;

std::uint64_t divide_ceil(std::uint64_t value, std::uint64_t divisor) {
    return value / divisor + (value % divisor != 0 ? 1 : 0);
}

static_assert(std::endian::native == std::endian::little);  // What follows copies integers.

std::uint64_t little_endian(ByteView bytes, std::size_t size) {
    CHECK(bytes.size() >= size);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), size);
    return value;
}

// A little-endian number and what follows it.
template <class Number>
Bytes prefixed(Number number, ByteView rest) {
    Bytes row(sizeof(number) + rest.size());
    std::memcpy(row.data(), &number, sizeof(number));
    std::ranges::copy(rest, row.begin() + sizeof(number));
    return row;
}

// The rows that change most have one size: their fields are copied without a Writer or Reader.

template <class T>
std::size_t fixed_bytes(const T& value) {
    if constexpr (Listed<T>) {
        std::size_t bytes = 0;
        T::each_field(value,
                      [&bytes](const auto&... fields) { bytes = (fixed_bytes(fields) + ...); });
        return bytes;
    } else {
        return sizeof(T);
    }
}

// Returns the place after the value.
template <class T>
std::byte* put(std::byte* at, const T& value) {
    if constexpr (Listed<T>) {
        T::each_field(value, [&at](const auto&... fields) { ((at = put(at, fields)), ...); });
        return at;
    } else {
        static_assert(std::has_unique_object_representations_v<T>);
        std::memcpy(at, &value, sizeof(T));
        return at + sizeof(T);
    }
}

struct FixedReader {
    const std::byte* at = nullptr;
    bool ok = true;

    template <class T>
    void take(T& value) {
        if constexpr (Listed<T>) {
            T::each_field(value, [this](auto&... fields) { (this->take(fields), ...); });
        } else if constexpr (std::same_as<T, bool>) {
            ok = ok && *at <= std::byte{1};
            value = *at++ == std::byte{1};
        } else {
            std::memcpy(&value, at, sizeof(T));
            at += sizeof(T);
        }
    }
};

template <class T>
Bytes encode_fixed(const T& row) {
    Bytes bytes(fixed_bytes(row));
    put(bytes.data(), row);
    return bytes;
}

template <class T>
Result<T> decode_fixed(ByteView bytes, std::string_view table) {
    T row;
    FixedReader in{bytes.data()};
    if (bytes.size() == fixed_bytes(row)) {
        in.take(row);
        if (in.ok) return row;
    }
    return corrupt_row("a row of table " + std::string(table));
}

template <class T>
Result<T> load(const StateView& state, std::string_view name) {
    const Value value = state.find(Table::global, global_key(name));
    if (!value) return T{};
    auto row = unpack<T>(*value, name);
    if (!row) return corrupt_row("a row of table global");
    return row;
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

tl::unexpected<base::Error> corrupt_row(std::string_view row) {
    return base::fail(base::Errc::corrupt,
                      std::string(row) +
                          " does not decode: the state is damaged; restore it from a snapshot or "
                          "replay the chain");
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
    return encode_fixed(row);
}

Result<AccountRow> decode_account(ByteView bytes) {
    return decode_fixed<AccountRow>(bytes, "account");
}

Bytes encode_code(std::uint32_t users, ByteView code) {
    return prefixed(users, code);
}

std::uint32_t code_users(ByteView row) {
    return static_cast<std::uint32_t>(little_endian(row, 4));
}

ByteView code_bytes(ByteView row) {
    CHECK(row.size() >= 4);
    return row.subspan(4);
}

Bytes encode_table(const TableRow& row) {
    return encode_fixed(row);
}

Result<TableRow> decode_table(ByteView bytes) {
    return decode_fixed<TableRow>(bytes, "contract_table");
}

Bytes encode_row(Name payer, ByteView value) {
    return prefixed(payer.value, value);
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

Bytes encode_u64(std::uint64_t value) {
    return prefixed(value, {});
}

std::uint64_t decode_u64(ByteView bytes) {
    return little_endian(bytes, 8);
}

Bytes encode_counters(const CountersRow& row) {
    return encode_fixed(row);
}

Result<CountersRow> decode_counters(ByteView bytes) {
    return decode_fixed<CountersRow>(bytes, "global");
}

Result<ChainConfig> load_config(const StateView& state) {
    return load<ChainConfig>(state, kGlobalConfig);
}

Result<WasmConfig> load_wasm_config(const StateView& state) {
    return load<WasmConfig>(state, kGlobalWasm);
}

Result<BorParameters> load_parameters(const StateView& state) {
    return load<BorParameters>(state, kGlobalParameters);
}

Result<CountersRow> load_counters(const StateView& state) {
    const Value value = state.find(Table::global, global_key(kGlobalCounters));
    if (!value) return CountersRow{};
    return decode_counters(*value);
}

Result<RulesRow> load_rules(const StateView& state) {
    return load<RulesRow>(state, kGlobalRules);
}

Result<Schedule> load_schedule(const StateView& state) {
    return load<Schedule>(state, kGlobalSchedule);
}

Result<SlotTimes> load_times(const StateView& state) {
    return load<SlotTimes>(state, kGlobalTimes);
}

Result<RetimesRow> load_retimes(const StateView& state) {
    if (!state.find(Table::global, global_key(kGlobalRetimes))) return RetimesRow{};
    return load<RetimesRow>(state, kGlobalRetimes);
}

void put_retimes(StateDelta& state, const SlotTimes& times, Slot slot, Height parent) {
    RetimesRow row{.retimes = times.retimes, .refers_from = parent};
    std::erase_if(row.retimes, [&](const Retime& each) { return each.first > slot; });
    state.put(Table::global, global_key(kGlobalRetimes), pack(row));
}

}  // namespace chain
