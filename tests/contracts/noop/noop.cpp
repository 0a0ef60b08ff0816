// Does nothing, for whoever authorizes it.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

class Noop : public Contract {
  public:
    using Contract::Contract;
    void anyaction(Name from, Ignore<std::string>, Ignore<std::string>) { require_auth(from); }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Noop>(receiver, code, action).on<&Noop::anyaction>("anyaction"_n);
}
