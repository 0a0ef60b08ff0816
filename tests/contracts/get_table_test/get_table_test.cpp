// Rows with a secondary index of each kind, for get_table_rows.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Number {
    uint64_t key = 0;
    uint64_t sec64 = 0;
    uint128_t sec128 = 0;
    double secdouble = 0;
    long double secldouble = 0;
    [[nodiscard]] uint64_t primary_key() const { return key; }
    [[nodiscard]] uint64_t by_64() const { return sec64; }
    [[nodiscard]] uint128_t by_128() const { return sec128; }
    [[nodiscard]] double by_double() const { return secdouble; }
    [[nodiscard]] long double by_long_double() const { return secldouble; }
    BOR_FIELDS(key, sec64, sec128, secdouble, secldouble)
};

struct Hashed {
    uint64_t key = 0;
    std::string hash_input;
    Checksum256 sec256;
    Checksum160 sec160;
    [[nodiscard]] uint64_t primary_key() const { return key; }
    [[nodiscard]] Checksum256 by_256() const { return sec256; }
    // The shorter digest with zeros behind it.
    [[nodiscard]] Checksum256 by_160() const {
        Checksum256 padded;
        for (std::size_t i = 0; i < sec160.bytes.size(); ++i)
            padded.bytes[i] = sec160.bytes[i];
        return padded;
    }
    BOR_FIELDS(key, hash_input, sec256, sec160)
};

using Numbers = MultiIndex<"numobjs"_n,
                           Number,
                           Index<"bysec1"_n, &Number::by_64>,
                           Index<"bysec2"_n, &Number::by_128>,
                           Index<"bysec3"_n, &Number::by_double>,
                           Index<"bysec4"_n, &Number::by_long_double>>;
using Hashes = MultiIndex<"hashobjs"_n,
                          Hashed,
                          Index<"bysec1"_n, &Hashed::by_256>,
                          Index<"bysec2"_n, &Hashed::by_160>>;

class GetTableTest : public Contract {
  public:
    using Contract::Contract;

    void addnumobj(uint64_t input) {
        Numbers numbers(self(), self().value);
        const uint64_t key = numbers.available_primary_key();
        numbers.emplace(self(), [&](Number& row) {
            row = Number{
                key, input, input, static_cast<double>(input), static_cast<long double>(input)};
        });
    }
    void modifynumobj(uint64_t id) {
        Numbers numbers(self(), self().value);
        numbers.modify(numbers.get(id), self(), [](Number& row) { ++row.sec64; });
    }
    void erasenumobj(uint64_t id) {
        Numbers numbers(self(), self().value);
        numbers.erase(numbers.get(id, "Record does not exist."));
    }
    void addhashobj(const std::string& input) {
        Hashes hashes(self(), self().value);
        const uint64_t key = hashes.available_primary_key();
        hashes.emplace(self(), [&](Hashed& row) {
            row = Hashed{key, input, sha256(input), ripemd160(input)};
        });
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<GetTableTest>(receiver, code, action)
        .on<&GetTableTest::addnumobj>("addnumobj"_n)
        .on<&GetTableTest::modifynumobj>("modifynumobj"_n)
        .on<&GetTableTest::erasenumobj>("erasenumobj"_n)
        .on<&GetTableTest::addhashobj>("addhashobj"_n);
}
