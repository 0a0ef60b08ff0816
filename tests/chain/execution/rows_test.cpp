// Rows and limits: codecs are strict, keys order as numbers do, averages decay as in nodeos.
#include "chain/execution/rows.hpp"

#include "chain/execution/resource_limits.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <bit>

using namespace chain;

TEST_CASE("An account's row survives its binary form, and no other size is read") {
    AccountRow row;
    row.created.microseconds = 1'800'000'000'000'000;
    row.privileged = true;
    row.recv_sequence = 1;
    row.auth_sequence = 2;
    row.code_sequence = 3;
    row.abi_sequence = 4;
    row.code_hash.bytes[31] = std::byte{9};
    row.code_bytes = 10;
    row.ram_usage = ~std::uint64_t{0};
    row.ram_quota = -1;
    row.net_weight = 5;
    row.cpu = {.last_ordinal = 6, .value_ex = 7, .consumed = 8};
    row.active_last_used.microseconds = -1;
    base::Bytes bytes = encode_account(row);
    REQUIRE(decode_account(bytes));
    CHECK(decode_account(bytes).value() == row);
    bytes.push_back(std::byte{0});
    CHECK(decode_account(bytes).error().code == base::Errc::corrupt);
    bytes.resize(bytes.size() - 2);
    CHECK_FALSE(decode_account(bytes));
    bytes = encode_account(row);
    bytes[8] = std::byte{2};  // privileged
    CHECK_FALSE(decode_account(bytes));
}

TEST_CASE("Keys order as their numbers do") {
    const TableId table{Name{1}, Name{2}, Name{3}};
    CHECK(base::BytesLess{}(row_key(table, 0xFF), row_key(table, 0x100)));
    CHECK(base::BytesLess{}(row_key(table, ~std::uint64_t{0}),
                            table_key({Name{1}, Name{2}, Name{4}})));
    const Uint128 low = static_cast<Uint128>(1) << 64U;
    CHECK(base::BytesLess{}(table_key(table).u128(low - 1), table_key(table).u128(low)));
}

TEST_CASE("Doubles order by value, and the zeros are one") {
    constexpr std::array<double, 7> kAscending = {-1e300, -2.0, -1e-310, 0.0, 1e-310, 2.0, 1e300};
    for (std::size_t i = 1; i < kAscending.size(); ++i) {
        CHECK(ordered_double(std::bit_cast<std::uint64_t>(kAscending[i - 1])) <
              ordered_double(std::bit_cast<std::uint64_t>(kAscending[i])));
    }
    CHECK(ordered_double(std::bit_cast<std::uint64_t>(-0.0)) ==
          ordered_double(std::bit_cast<std::uint64_t>(0.0)));
    const Uint128 sign = static_cast<Uint128>(1) << 127U;
    CHECK((ordered_long_double(sign) == ordered_long_double(0)));
    CHECK((ordered_long_double(sign | 1) < ordered_long_double(0)));
    CHECK((ordered_long_double(sign | 2) < ordered_long_double(sign | 1)));
}

TEST_CASE("Usage decays over its window") {
    UsageAverage usage;
    usage.add(1'000, 10, 100);
    CHECK(usage.average() == 10);
    CHECK(usage.consumed == 1'000);
    usage.add(0, 60, 100);
    CHECK(usage.average() == 5);
    CHECK(usage.consumed == 5);
    usage.add(0, 160, 100);
    CHECK(usage.average() == 0);
}

TEST_CASE("Weights share the capacity of a day") {
    AccountRow account;
    CountersRow counters;
    counters.virtual_cpu_limit = 200'000;
    const ResourceWindows windows = ResourceWindows::of_interval(500);
    CHECK(windows.account_slots == 172'800);
    CHECK(windows.block_slots == 120);
    const auto limit = [&] {
        return account_limit(account, counters, Resource::cpu, windows, std::nullopt);
    };
    account.cpu_weight = 1;
    CHECK(limit() == ResourceLimit{});  // Nobody has a weight: nobody is limited.
    counters.total_cpu_weight = 4;
    CHECK(limit().max == std::int64_t{200'000} * 172'800 / 4);
    account.cpu_weight = 0;
    CHECK(limit().available == 0);
    account.cpu_weight = 4;
    account.cpu.add(1'000'000, 1, windows.account_slots);
    CHECK(limit().used >= 1'000'000);
    CHECK(limit().available == limit().max - limit().used);
    account.cpu_weight = -1;
    CHECK(limit().max == -1);
}

TEST_CASE("Virtual limits grow while blocks are below their target, and shrink above it") {
    CountersRow counters;
    ChainConfig config;
    counters.virtual_cpu_limit = config.max_block_cpu_usage;
    counters.virtual_net_limit = config.max_block_net_usage;
    const ResourceWindows windows;
    end_block_usage(counters, config, 2, windows);
    CHECK(counters.virtual_cpu_limit == 200'200);
    counters.pending_cpu_usage = 100'000'000;
    end_block_usage(counters, config, 3, windows);
    CHECK(counters.virtual_cpu_limit == config.max_block_cpu_usage);
    CHECK(counters.pending_cpu_usage == 0);
}

TEST_CASE("Changing limits keeps the totals") {
    AccountRow account;
    CountersRow counters;
    change_limits(account, counters, -1, 10, 20);
    CHECK(counters.total_net_weight == 10);
    change_limits(account, counters, 5, -1, 7);
    CHECK(counters.total_net_weight == 0);
    CHECK(counters.total_cpu_weight == 7);
    CHECK(counters.total_ram_bytes == 5);
}
