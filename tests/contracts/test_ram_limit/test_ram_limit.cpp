// Rows of any size, to reach limits of RAM.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Entry {
    uint64_t key = 0;
    Bytes data;
    [[nodiscard]] uint64_t primary_key() const { return key; }
    BOR_FIELDS(key, data)
};

using Entries = MultiIndex<"test.table"_n, Entry>;

class RamLimit : public Contract {
  public:
    using Contract::Contract;

    // Every byte of a row is the low byte of its size.
    void setentry(Name payer, uint64_t from, uint64_t to, uint64_t size) {
        print("test_ram_limit::setentry ", self(), "\n");
        Entries table = entries();
        const Bytes data(static_cast<std::size_t>(size), static_cast<char>(size));
        for (uint64_t key = from; key <= to; ++key) {
            const auto at = table.find(key);
            if (table.found(at)) {
                table.modify(at, payer, [&](Entry& row) { row.data = data; });
            } else {
                table.emplace(payer, [&](Entry& row) { row = Entry{key, data}; });
            }
        }
    }
    void rmentry(uint64_t from, uint64_t to) {
        print("test_ram_limit::rmentry ", self(), "\n");
        Entries table = entries();
        for (uint64_t key = from; key <= to; ++key)
            table.erase(table.get(key, kMissing));
    }
    void printentry(uint64_t from, uint64_t to) {
        print("test_ram_limit::printout ", self(), ":");
        for (uint64_t key = from; key <= to; ++key) {
            print("\nkey=", key);
            print(" size=", entries().get(key, kMissing)->data.size());
        }
    }

  private:
    static constexpr const char* kMissing = "could not find test_table entry";
    [[nodiscard]] Entries entries() const { return Entries(self(), self().value); }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<RamLimit>(receiver, code, action)
        .on<&RamLimit::setentry>("setentry"_n)
        .on<&RamLimit::rmentry>("rmentry"_n)
        .on<&RamLimit::printentry>("printentry"_n);
}
