#pragma once

#include "chain/types/codec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace chain {

// What metered work costs, in units of deterministic work: a unit is a nanosecond of what the
// compiler of chain/vm makes of a contract, on the reference machine. A table that is a chain
// parameter (spec 03, "Resources"), since a block that one node can pay for every node must.

// One row of the table. Enumerators have the order of the table in prices.cpp.
enum class Cost : std::uint8_t {
    // Instructions and memory of contracts; see vm::Prices.
    plain,
    memory,
    memory_mid,
    memory_far,
    divide,
    floating,
    root,
    call,
    local,
    page,
    data,
    run,
    load,  // A contract used: its bytes count at the first use in a block, and at setcode.
    // Transactions: each, with its bytes, and each of its signatures.
    transaction,
    signature,
    action,         // Each run of one, with its data: trace, receipt and digests.
    authorization,  // Each level that such an action declares.
    native,         // An action of eosio's own, with its data; its rows are paid besides.
    // Host functions, by what they do.
    trivial,        // Read what is at hand: a name, a number, a flag.
    copy,           // Copy between the contract's memory and the host, or within the memory.
    builtin,        // 128-bit integers.
    float_builtin,  // 128-bit floating point.
    text,           // Search for the end of a text.
    print,          // Every printed byte is kept until the block is: hence the price.
    print_number,
    print_number128,
    print_float,
    print_float128,  // Far from 1 it has thousands of digits to divide by.
    print_hex,
    authority,  // Search the action's authorizations.
    notify,     // The run of the notified contract is an action besides.
    feature,
    sha1,
    sha256,
    sha512,
    ripemd160,
    sha3,
    blake2,
    blake2_round,  // And each round.
    mod_exp,
    mod_exp_step,  // And each of mod_exp_units().
    recover,       // K1;
    recover_r1,    // R1 and WebAuthn pay this besides.
    refused,       // Fail whenever they are called.
    state,         // Look up one row, which may be on disk, and its bytes.
    iterate,       // Search in order, and the bytes of what is found.
    row_read,      // Copy a row that an iterator holds.
    row_write,     // The bytes of the row before and after: both are in the digest.
    index_write,
    send,  // Decode an action; its run is an action besides.
    check_authority,
    transaction_read,  // Copy the transaction or a part of it.
    schedule,
    privileged,
};

struct Price {
    std::uint32_t base = 0;      // For each, before it begins.
    std::uint32_t kibibyte = 0;  // For each 1,024 bytes that it works on, rounded up.

    // What one costs that works on so many bytes; fewer than 2^31.
    [[nodiscard]] std::uint64_t of(std::uint64_t bytes) const {
        return base + (bytes * kibibyte + 1'023) / 1'024;
    }
    friend bool operator==(const Price&, const Price&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.base, self.kibibyte); }
};

inline constexpr std::size_t kCosts = static_cast<std::size_t>(Cost::privileged) + 1;

// The prices in force; as made, the normal ones.
struct PriceTable {
    PriceTable();

    [[nodiscard]] const Price& operator[](Cost cost) const {
        return prices[static_cast<std::size_t>(cost)];
    }
    [[nodiscard]] Price& operator[](Cost cost) { return prices[static_cast<std::size_t>(cost)]; }
    friend bool operator==(const PriceTable&, const PriceTable&) = default;

    std::array<Price, kCosts> prices;
};
void encode(base::Writer& out, const PriceTable& table);
void decode(base::Reader& in, PriceTable& table, std::string_view field);

// The name of each row, and the price that it has unless the chain sets another.
struct PriceInfo {
    Cost cost;
    std::string_view name;
    Price normal;
    // Whether its work has a size, so that it has a price for each 1,024 bytes, too.
    bool is_sized = false;
};
[[nodiscard]] const std::array<PriceInfo, kCosts>& price_infos();

}  // namespace chain
