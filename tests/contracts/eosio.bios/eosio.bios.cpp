// The actions of eosio.bios: what a chain's first account does for the others.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct AbiHash {
    Name owner;
    Checksum256 hash;
    [[nodiscard]] uint64_t primary_key() const { return owner.value; }
    BOR_FIELDS(owner, hash)
};

class Bios : public Contract {
  public:
    using Contract::Contract;

    // Keeps the hash of each account's ABI, at the account's expense.
    void setabi(Name account, const Bytes& abi) {
        MultiIndex<"abihash"_n, AbiHash> table(self(), self().value);
        const Checksum256 hash = sha256({abi.data(), abi.size()});
        const auto at = table.find(account.value);
        if (table.found(at)) {
            table.modify(at, kSamePayer, [&](AbiHash& row) { row.hash = hash; });
        } else {
            table.emplace(account, [&](AbiHash& row) { row = AbiHash{account, hash}; });
        }
    }
    void setpriv(Name account, uint8_t is_priv) {
        require_auth(self());
        set_privileged(account, is_priv != 0);
    }
    void setalimits(Name account, const ResourceLimits& limits) {
        require_auth(self());
        set_resource_limits(account, limits);
    }
    void setprods(const std::vector<ProducerAuthority>& schedule) {
        require_auth(self());
        set_proposed_producers(schedule);
    }
    void setparams(const BlockchainParameters& parameters) {
        require_auth(self());
        set_blockchain_parameters(parameters);
    }
    void reqauth(Name from) { require_auth(from); }
    void activate(const Checksum256& feature) {
        require_auth(self());
        preactivate_feature(feature);
    }
    void reqactivated(const Checksum256& feature) {
        check(is_feature_activated(feature), "protocol feature is not activated");
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Bios>(receiver, code, action)
        .on<&Bios::setabi>("setabi"_n)
        .on<&Bios::setpriv>("setpriv"_n)
        .on<&Bios::setalimits>("setalimits"_n)
        .on<&Bios::setprods>("setprods"_n)
        .on<&Bios::setparams>("setparams"_n)
        .on<&Bios::reqauth>("reqauth"_n)
        .on<&Bios::activate>("activate"_n)
        .on<&Bios::reqactivated>("reqactivated"_n);
}
