#include "base/codec.hpp"
#include "bench/ledger/chain.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace bench {

namespace {

constexpr std::int64_t kSymbol = 0x53595304;  // "4,SYS"
constexpr std::int64_t kSupply = 1'000'000'000'000'000'000;
constexpr std::int64_t kShare = 100'000'000'000;
constexpr std::uint64_t kActions = 100;       // In a transaction that makes users.
constexpr std::uint64_t kTransactions = 100;  // In a block of such.

chain::Name name(std::string_view text) {
    return must(chain::Name::from_string(text));
}

const chain::Name kToken = *chain::Name::from_string("token");
const chain::Name kSystem = *chain::Name::from_string("eosio");

chain::Action action(chain::Name account,
                     std::string_view what,
                     chain::Name actor,
                     base::Writer data) {
    return {.account = account,
            .name = name(what),
            .authorization = {{actor, name("active")}},
            .data = data.take()};
}

void put_amount(base::Writer& out, std::int64_t amount) {
    out.i64(amount);
    out.i64(kSymbol);
}

chain::Action transfer_of(chain::Name from,
                          chain::Name to,
                          std::int64_t amount,
                          const std::string& memo) {
    base::Writer data;
    encode(data, from);
    encode(data, to);
    put_amount(data, amount);
    data.string(memo);
    return action(kToken, "transfer", from, std::move(data));
}

chain::Action new_account(chain::Name account) {
    base::Writer data;
    encode(data, kSystem);
    encode(data, account);
    const auto authority = chain::Authority::of_key(bench_public_key());
    encode(data, authority);
    encode(data, authority);
    return action(kSystem, "newaccount", kSystem, std::move(data));
}

void make_token(Chain& chain) {
    chain.push({new_account(kToken)});
    base::Writer code;
    encode(code, kToken);
    code.u8(0);
    code.u8(0);
    code.bytes(must(node::read_file(BOR_CONTRACTS "/token/token.wasm", std::size_t{1} << 20U)));
    chain.push({action(kSystem, "setcode", kToken, std::move(code))});
    base::Writer create;
    encode(create, kSystem);
    put_amount(create, kSupply);
    chain.push({action(kToken, "create", kToken, std::move(create))});
    base::Writer issue;
    encode(issue, kSystem);
    put_amount(issue, kSupply);
    issue.string("");
    chain.push({action(kToken, "issue", kSystem, std::move(issue))});
    chain.close_block();
}

}  // namespace

// "user" and six letters of the index, the last ones changing fastest.
chain::Name account_name(std::uint64_t index) {
    std::string text = "useraaaaaa";
    for (std::size_t at = text.size(); index > 0; index /= 26)
        text[--at] = static_cast<char>('a' + index % 26);
    return name(text);
}

chain::Action transfer(std::uint64_t from, std::uint64_t to, const std::string& memo) {
    return transfer_of(account_name(from), account_name(to), 1, memo);
}

chain::Action random_transfer(base::Rng& rng, std::uint64_t users, const std::string& memo) {
    const auto from = rng.below(users);
    const auto to = (from + 1 + rng.below(users - 1)) % users;
    return transfer(from, to, memo);
}

void make_users(Chain& chain, const Users& users) {
    make_token(chain);
    std::uint64_t transactions = 0;
    for (std::uint64_t first = 0; first < users.count; first += kActions) {
        const std::uint64_t last = std::min(first + kActions, users.count);
        std::vector<chain::Action> accounts;
        std::vector<chain::Action> gifts;
        for (std::uint64_t i = first; i < last; ++i) {
            accounts.push_back(new_account(account_name(i)));
            gifts.push_back(transfer_of(kSystem, account_name(i), kShare, ""));
        }
        chain.push(std::move(accounts));
        chain.push(std::move(gifts));
        transactions += 2;
        if (transactions % kTransactions != 0) continue;
        chain.close_block();
        if (users.progress && last % 50'000 == 0) fmt::print(stderr, "{} accounts\n", last);
    }
    chain.close_block();
    chain.close_block();
}

}  // namespace bench
