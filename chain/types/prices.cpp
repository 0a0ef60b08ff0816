#include "chain/types/prices.hpp"

namespace chain {

namespace {

constexpr PriceInfo fixed(Cost cost, std::string_view name, std::uint32_t base) {
    return {cost, name, {base, 0}, false};
}

constexpr PriceInfo sized(Cost cost,
                          std::string_view name,
                          std::uint32_t base,
                          std::uint32_t kibibyte) {
    return {cost, name, {base, kibibyte}, true};
}

constexpr std::array<PriceInfo, kCosts> kInfos{
    fixed(Cost::plain, "plain", 1),
    fixed(Cost::memory, "memory", 3),
    fixed(Cost::memory_mid, "memory_mid", 16),
    fixed(Cost::memory_far, "memory_far", 100),
    fixed(Cost::divide, "divide", 10),
    fixed(Cost::floating, "floating", 20),
    fixed(Cost::root, "root", 30),
    fixed(Cost::call, "call", 10),
    fixed(Cost::local, "local", 1),
    fixed(Cost::page, "page", 2'500),
    fixed(Cost::data, "data", 64),
    fixed(Cost::run, "run", 500),
    sized(Cost::load, "load", 500, 30'720),
    sized(Cost::transaction, "transaction", 5'000, 5'120),
    fixed(Cost::signature, "signature", 35'000),
    sized(Cost::action, "action", 4'000, 12'288),
    fixed(Cost::authorization, "authorization", 1'000),
    sized(Cost::native, "native", 25'000, 4'096),
    sized(Cost::trivial, "trivial", 20, 0),
    sized(Cost::copy, "copy", 50, 100),
    sized(Cost::builtin, "builtin", 20, 0),
    sized(Cost::float_builtin, "float_builtin", 60, 0),
    sized(Cost::text, "text", 20, 600),
    sized(Cost::print, "print", 100, 10'240),
    sized(Cost::print_number, "print_number", 300, 0),
    sized(Cost::print_number128, "print_number128", 2'000, 0),
    sized(Cost::print_float, "print_float", 3'000, 0),
    sized(Cost::print_float128, "print_float128", 40'000, 0),
    sized(Cost::print_hex, "print_hex", 100, 20'480),
    sized(Cost::authority, "authority", 50, 0),
    sized(Cost::notify, "notify", 300, 0),
    sized(Cost::feature, "feature", 500, 0),
    sized(Cost::sha1, "sha1", 300, 2'500),
    sized(Cost::sha256, "sha256", 300, 4'000),
    sized(Cost::sha512, "sha512", 300, 3'000),
    sized(Cost::ripemd160, "ripemd160", 400, 5'500),
    sized(Cost::sha3, "sha3", 600, 6'000),
    sized(Cost::blake2, "blake2", 200, 200),
    fixed(Cost::blake2_round, "blake2_round", 18),
    sized(Cost::mod_exp, "mod_exp", 2'000, 1'000),
    fixed(Cost::mod_exp_step, "mod_exp_step", 1),
    sized(Cost::recover, "recover", 45'000, 4'000),
    fixed(Cost::recover_r1, "recover_r1", 400'000),
    sized(Cost::refused, "refused", 100, 100),
    sized(Cost::state, "state", 3'500, 1'000),
    sized(Cost::iterate, "iterate", 6'000, 1'000),
    sized(Cost::row_read, "row_read", 150, 100),
    sized(Cost::row_write, "row_write", 8'000, 4'000),
    sized(Cost::index_write, "index_write", 15'000, 0),
    sized(Cost::send, "send", 3'000, 3'000),
    sized(Cost::check_authority, "check_authority", 20'000, 4'000),
    sized(Cost::transaction_read, "transaction_read", 200, 400),
    sized(Cost::schedule, "schedule", 5'000, 100),
    sized(Cost::privileged, "privileged", 3'000, 1'000),
};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < kCosts; ++i) {
        if (kInfos[i].cost != static_cast<Cost>(i)) return false;
    }
    return true;
}
static_assert(is_in_order());

}  // namespace

const std::array<PriceInfo, kCosts>& price_infos() {
    return kInfos;
}

PriceTable::PriceTable() {
    for (std::size_t i = 0; i < kCosts; ++i)
        prices[i] = kInfos[i].normal;
}

void encode(base::Writer& out, const PriceTable& table) {
    for (const Price& price : table.prices) {
        encode(out, price);
    }
}

void decode(base::Reader& in, PriceTable& table, std::string_view field) {
    for (Price& price : table.prices) {
        decode(in, price, field);
    }
}

}  // namespace chain
