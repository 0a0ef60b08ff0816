// As get_table_test, with a fifth index by name.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Number {
    uint64_t key = 0;
    uint64_t sec64 = 0;
    uint128_t sec128 = 0;
    double secdouble = 0;
    long double secldouble = 0;
    Name nm;
    [[nodiscard]] uint64_t primary_key() const { return key; }
    [[nodiscard]] uint64_t by_64() const { return sec64; }
    [[nodiscard]] uint128_t by_128() const { return sec128; }
    [[nodiscard]] double by_double() const { return secdouble; }
    [[nodiscard]] long double by_long_double() const { return secldouble; }
    [[nodiscard]] uint64_t by_name() const { return nm.value; }
    BOR_FIELDS(key, sec64, sec128, secdouble, secldouble, nm)
};

using Numbers = MultiIndex<"numobjs"_n,
                           Number,
                           Index<"bysec1"_n, &Number::by_64>,
                           Index<"bysec2"_n, &Number::by_128>,
                           Index<"bysec3"_n, &Number::by_double>,
                           Index<"bysec4"_n, &Number::by_long_double>,
                           Index<"byname"_n, &Number::by_name>>;

class SecondaryKeyTest : public Contract {
  public:
    using Contract::Contract;

    void addnumobj(uint64_t input, const std::string& name) {
        Numbers numbers(self(), self().value);
        const uint64_t key = numbers.available_primary_key();
        numbers.emplace(self(), [&](Number& row) {
            row = Number{key,
                         input,
                         input,
                         static_cast<double>(input),
                         static_cast<long double>(input),
                         Name(name)};
        });
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<SecondaryKeyTest>(receiver, code, action)
        .on<&SecondaryKeyTest::addnumobj>("addnumobj"_n);
}
