// Fails with the message it is given, and shows that globals begin anew in each action.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr int kFirstValue = 45;
volatile int global_value = kFirstValue;  // NOLINT: the global is what is tested.

class Asserter : public Contract {
  public:
    using Contract::Contract;

    void procassert(int8_t condition, const std::string& message) {
        check(condition != 0, message);
    }
    void provereset() {
        check(global_value == kFirstValue, "Global Variable Initialized poorly");
        global_value = 100;
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Asserter>(receiver, code, action)
        .on<&Asserter::procassert>("procassert"_n)
        .on<&Asserter::provereset>("provereset"_n);
}
