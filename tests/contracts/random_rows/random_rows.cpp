// Rows that do not compress: a state of many bytes in few transactions.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr std::size_t kWords = 8190;

// As the ABI has it: key, length in three bytes, data.
struct Filled {
    uint64_t key;
    uint8_t length[3];  // A varint.
    uint8_t data[kWords * sizeof(uint64_t)];
};

class RandomRows : public Contract {
  public:
    using Contract::Contract;

    // Makes rows of 64 KiB with the keys from `first` on.
    void fill(uint64_t first, uint64_t count) {
        static Filled row;  // All zero, so that the module is small.
        static_assert(sizeof row.data == 0x7FU + (0x7FU << 7U) + (0x3U << 14U) - 15);
        row.length[0] = 0xF0;
        row.length[1] = 0xFF;
        row.length[2] = 0x03;
        uint64_t random = (first + 1) * 0x9E3779B97F4A7C15U;
        for (row.key = first; row.key < first + count; ++row.key) {
            for (std::size_t i = 0; i < kWords; ++i) {
                random ^= random << 13U;
                random ^= random >> 7U;
                random ^= random << 17U;
                __builtin_memcpy(&row.data[i * sizeof random], &random, sizeof random);
            }
            host::db_store_i64(self().value,
                               "rows"_n.value,
                               self().value,
                               row.key,
                               &row,
                               offsetof(Filled, data) + sizeof row.data);
        }
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<RandomRows>(receiver, code, action).on<&RandomRows::fill>("fill"_n);
}
