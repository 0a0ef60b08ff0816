// Passes every token it is sent on to its owner, by a deferred transaction.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr Name kToken = "eosio.token"_n;

struct Config {
    Name owner;
    uint32_t delay = 0;
    uint32_t next_id = 0;
    BOR_FIELDS(owner, delay, next_id)
};

class Proxy : public Contract {
  public:
    using Contract::Contract;

    void setowner(Name owner, uint32_t delay) {
        require_auth(self());
        Config config = table().get_or(Config{});
        config.owner = owner;
        config.delay = delay;
        print("Setting owner to ", owner, " with delay ", delay, "\n");
        table().set(config, self());
    }

    void on_transfer(Name from, Name to, const Asset& quantity, const std::string& memo) {
        print("on_transfer called on ", self(), " contract with from = ", from);
        print(" and to = ", to, "\n");
        check(table().exists(), "Attempting to use unconfigured proxy");
        Config config = table().get();
        if (from == self()) {
            check(to == config.owner, "proxy may only pay its owner");
            return;
        }
        check(to == self(), "proxy is not involved in this transfer");
        const uint32_t id = config.next_id++;
        table().set(config, self());

        Transaction transaction;
        transaction.header.delay_sec = config.delay;
        transaction.actions.push_back(make_action(
            kToken, "transfer"_n, {self(), "active"_n}, self(), config.owner, quantity, memo));
        transaction.send_deferred(id, self());
    }

    // A deferred transaction failed: send it once more.
    void on_error(uint128_t sender_id, const Bytes& packed) {
        print("on_error called on ", self(), " contract with sender_id = ", sender_id, "\n");
        check(table().exists(), "Attempting use of unconfigured proxy");
        Config config = table().get();
        const uint32_t id = config.next_id++;
        table().set(config, kSamePayer);
        print("Resending Transaction: ", sender_id, " as ", id, "\n");

        auto transaction = unpack<Transaction>(packed);
        transaction.extensions.clear();
        transaction.header.delay_sec = config.delay;
        transaction.send_deferred(id, self());
    }

  private:
    [[nodiscard]] Singleton<"config"_n, Config> table() const { return {self(), self().value}; }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Proxy>(receiver, code, action)
        .on<&Proxy::setowner>("setowner"_n)
        .on_notify<&Proxy::on_transfer>(kToken, "transfer"_n)
        .on_notify<&Proxy::on_error>("eosio"_n, "onerror"_n);
}
