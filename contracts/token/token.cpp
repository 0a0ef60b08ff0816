// A token contract with the actions, tables, messages and notifications of eosio.token.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr std::size_t kMemoBytesMax = 256;

// One row per token that an owner holds, in the owner's scope.
struct Account {
    Asset balance;
    [[nodiscard]] uint64_t primary_key() const { return balance.symbol.code().raw(); }
    BOR_FIELDS(balance)
};

// One row per token, in the scope of its symbol code.
struct CurrencyStats {
    Asset supply;
    Asset max_supply;
    Name issuer;
    [[nodiscard]] uint64_t primary_key() const { return supply.symbol.code().raw(); }
    BOR_FIELDS(supply, max_supply, issuer)
};

using Accounts = MultiIndex<"accounts"_n, Account>;
using Stats = MultiIndex<"stat"_n, CurrencyStats>;

class Token : public Contract {
  public:
    using Contract::Contract;

    // Makes a token that only `issuer` will issue, `maximum_supply` at most.
    void create(Name issuer, const Asset& maximum_supply) {
        require_auth(self());
        const Symbol symbol = maximum_supply.symbol;
        check(symbol.is_valid(), "invalid symbol name");
        check(maximum_supply.is_valid(), "invalid supply");
        check(maximum_supply.amount > 0, "max-supply must be positive");

        Stats stats = stats_of(symbol);
        check(!stats.contains(symbol.code().raw()), "token with symbol already exists");
        stats.emplace(self(), [&](CurrencyStats& row) {
            row.supply = Asset{0, symbol};
            row.max_supply = maximum_supply;
            row.issuer = issuer;
        });
    }

    // Adds to the supply and to the issuer's balance.
    void issue(Name to, const Asset& quantity, const std::string& memo) {
        check_symbol_and_memo(quantity, memo);
        Stats stats = stats_of(quantity.symbol);
        const auto row = stats.get(quantity.symbol.code().raw(),
                                   "token with symbol does not exist, create token before issue");
        check(to == row->issuer, "tokens can only be issued to issuer account");
        require_auth(row->issuer);
        check(quantity.is_valid(), "invalid quantity");
        check(quantity.amount > 0, "must issue positive quantity");
        check(quantity.symbol == row->supply.symbol, "symbol precision mismatch");
        check(quantity.amount <= row->max_supply.amount - row->supply.amount,
              "quantity exceeds available supply");

        stats.modify(row, kSamePayer, [&](CurrencyStats& each) { each.supply += quantity; });
        add_balance(row->issuer, quantity, row->issuer);
    }

    // Takes from the supply and from the issuer's balance.
    void retire(const Asset& quantity, const std::string& memo) {
        check_symbol_and_memo(quantity, memo);
        Stats stats = stats_of(quantity.symbol);
        const auto row =
            stats.get(quantity.symbol.code().raw(), "token with symbol does not exist");
        require_auth(row->issuer);
        check(quantity.is_valid(), "invalid quantity");
        check(quantity.amount > 0, "must retire positive quantity");
        check(quantity.symbol == row->supply.symbol, "symbol precision mismatch");

        stats.modify(row, kSamePayer, [&](CurrencyStats& each) { each.supply -= quantity; });
        subtract_balance(row->issuer, quantity);
    }

    // Moves tokens; both parties' contracts are notified and may refuse.
    void transfer(Name from, Name to, const Asset& quantity, const std::string& memo) {
        check(from != to, "cannot transfer to self");
        require_auth(from);
        check(is_account(to), "to account does not exist");
        const auto row = stats_of(quantity.symbol).get(quantity.symbol.code().raw());
        require_recipient(from, to);
        check(quantity.is_valid(), "invalid quantity");
        check(quantity.amount > 0, "must transfer positive quantity");
        check(quantity.symbol == row->supply.symbol, "symbol precision mismatch");
        check(memo.size() <= kMemoBytesMax, "memo has more than 256 bytes");

        const Name payer = has_auth(to) ? to : from;
        subtract_balance(from, quantity);
        add_balance(to, quantity, payer);
    }

    // Makes an empty balance at the expense of `ram_payer`.
    void open(Name owner, Symbol symbol, Name ram_payer) {
        require_auth(ram_payer);
        check(is_account(owner), "owner account does not exist");
        const auto row = stats_of(symbol).get(symbol.code().raw(), "symbol does not exist");
        check(row->supply.symbol == symbol, "symbol precision mismatch");

        Accounts accounts(self(), owner.value);
        if (accounts.contains(symbol.code().raw())) return;
        accounts.emplace(ram_payer, [&](Account& each) { each.balance = Asset{0, symbol}; });
    }

    // Removes an empty balance and gives its RAM back.
    void close(Name owner, Symbol symbol) {
        require_auth(owner);
        Accounts accounts(self(), owner.value);
        const auto row = accounts.get(
            symbol.code().raw(),
            "Balance row already deleted or never existed. Action won't have any effect.");
        check(row->balance.amount == 0, "Cannot close because the balance is not zero.");
        accounts.erase(row);
    }

  private:
    [[nodiscard]] Stats stats_of(Symbol symbol) const { return Stats(self(), symbol.code().raw()); }
    static void check_symbol_and_memo(const Asset& quantity, const std::string& memo) {
        check(quantity.symbol.is_valid(), "invalid symbol name");
        check(memo.size() <= kMemoBytesMax, "memo has more than 256 bytes");
    }
    void subtract_balance(Name owner, const Asset& value) {
        Accounts accounts(self(), owner.value);
        const auto row = accounts.get(value.symbol.code().raw(), "no balance object found");
        check(row->balance.amount >= value.amount, "overdrawn balance");
        accounts.modify(row, owner, [&](Account& each) { each.balance -= value; });
    }
    void add_balance(Name owner, const Asset& value, Name ram_payer) {
        Accounts accounts(self(), owner.value);
        const auto row = accounts.find(value.symbol.code().raw());
        if (accounts.found(row)) {
            accounts.modify(row, kSamePayer, [&](Account& each) { each.balance += value; });
        } else {
            accounts.emplace(ram_payer, [&](Account& each) { each.balance = value; });
        }
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Token>(receiver, code, action)
        .on<&Token::transfer>("transfer"_n)
        .on<&Token::create>("create"_n)
        .on<&Token::issue>("issue"_n)
        .on<&Token::retire>("retire"_n)
        .on<&Token::open>("open"_n)
        .on<&Token::close>("close"_n);
}
