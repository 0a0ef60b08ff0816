// Actions without data: one that is quick and one that computes for a while.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr uint32_t kSieveEnd = 15'376;

bool is_prime(uint32_t number) {
    for (uint32_t divisor = 2; divisor * divisor <= number; ++divisor) {
        if (number % divisor == 0) return false;
    }
    return number >= 2;
}

// Squares as often as the Lucas-Lehmer test of this exponent does, modulo 2^64.
uint64_t lucas_lehmer_steps(uint32_t exponent) {
    uint64_t value = 4;
    for (uint32_t step = 3; step <= exponent; ++step)
        value = value * value - 2;
    return value;
}

class Payloadless : public Contract {
  public:
    using Contract::Contract;

    void doit() { print("Im a payloadless action"); }
    void doitslow() {
        print("Im a payloadless slow action");
        uint64_t sum = 0;
        for (uint32_t number = 2; number < kSieveEnd; ++number) {
            if (is_prime(number)) sum += lucas_lehmer_steps(number);
        }
        check(sum != 0, "the sum is used so that the loop is kept");
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Payloadless>(receiver, code, action)
        .on<&Payloadless::doit>("doit"_n)
        .on<&Payloadless::doitslow>("doitslow"_n);
}
