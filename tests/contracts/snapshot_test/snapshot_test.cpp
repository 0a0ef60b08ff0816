// One row whose value is in an index of each kind.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Record {
    uint64_t id = 0;
    double index_f64 = 0;
    long double index_f128 = 0;
    uint64_t index_i64 = 0;
    uint128_t index_i128 = 0;
    Checksum256 index_i256;
    [[nodiscard]] uint64_t primary_key() const { return id; }
    [[nodiscard]] double by_f64() const { return index_f64; }
    [[nodiscard]] long double by_f128() const { return index_f128; }
    [[nodiscard]] uint64_t by_i64() const { return index_i64; }
    [[nodiscard]] uint128_t by_i128() const { return index_i128; }
    [[nodiscard]] Checksum256 by_i256() const { return index_i256; }
    BOR_FIELDS(id, index_f64, index_f128, index_i64, index_i128, index_i256)
};

using Records = MultiIndex<"data"_n,
                           Record,
                           Index<"byf"_n, &Record::by_f64>,
                           Index<"byff"_n, &Record::by_f128>,
                           Index<"byi"_n, &Record::by_i64>,
                           Index<"byii"_n, &Record::by_i128>,
                           Index<"byiiii"_n, &Record::by_i256>>;

// Adds to the first of the digest's two 128-bit words.
void add(Checksum256& digest, uint32_t value) {
    auto words = SecondaryKey<Checksum256>::to_words(digest);
    words[0] += value;
    SecondaryKey<Checksum256>::from_words(words, digest);
}

class SnapshotTest : public Contract {
  public:
    using Contract::Contract;

    void increment(uint32_t value) {
        require_auth(self());
        Records records(self(), self().value);
        const auto first = records.begin();
        const auto increase = [&](Record& row) {
            row.index_f64 += value;
            row.index_f128 += value;
            row.index_i64 += value;
            row.index_i128 += value;
            add(row.index_i256, value);
        };
        if (records.found(first)) {
            records.modify(first, kSamePayer, increase);
        } else {
            records.emplace(self(), [&](Record& row) {
                row.id = value;
                increase(row);
            });
        }
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<SnapshotTest>(receiver, code, action).on<&SnapshotTest::increment>("increment"_n);
}
