// A table that anyone may change, for read-only transactions.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Person {
    Name key;
    uint64_t id = 0;
    uint64_t age = 0;
    [[nodiscard]] uint64_t primary_key() const { return key.value; }
    [[nodiscard]] uint64_t by_id() const { return id; }
    BOR_FIELDS(key, id, age)
};

using People = MultiIndex<"people"_n, Person, Index<"byid"_n, &Person::by_id>>;

class NoAuthTable : public Contract {
  public:
    using Contract::Contract;

    uint64_t getage(Name user) { return people().get(user.value, kMissing)->age; }
    uint64_t age(Name user, uint64_t) { return getage(user); }
    void insert(Name user, uint64_t id, uint64_t age) {
        People table = people();
        check(!table.contains(user.value), "Record already exists");
        table.emplace(user, [&](Person& row) { row = Person{user, id, age}; });
    }
    void modify(Name user, uint64_t age) {
        People table = people();
        const auto at = table.get(user.value, kMissing);
        table.modify(at, user, [&](Person& row) { row.age = age; });
    }
    void modifybyid(uint64_t id, uint64_t age) {
        People table = people();
        auto by_id = table.index<"byid"_n>();
        const auto at = by_id.find(id);
        check(at != by_id.end(), kMissing);
        by_id.modify(at, self(), [&](Person& row) { row.age = age; });
    }
    void erase(Name user) {
        People table = people();
        table.erase(table.get(user.value, kMissing));
    }
    void erasebyid(uint64_t id) {
        People table = people();
        auto by_id = table.index<"byid"_n>();
        const auto at = by_id.find(id);
        check(at != by_id.end(), kMissing);
        by_id.erase(at);
    }

  private:
    static constexpr const char* kMissing = "Record does not exist";
    [[nodiscard]] People people() const { return People(self(), first_receiver().value); }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<NoAuthTable>(receiver, code, action)
        .on<&NoAuthTable::getage>("getage"_n)
        .on<&NoAuthTable::age>("age"_n)
        .on<&NoAuthTable::insert>("insert"_n)
        .on<&NoAuthTable::modify>("modify"_n)
        .on<&NoAuthTable::modifybyid>("modifybyid"_n)
        .on<&NoAuthTable::erase>("erase"_n)
        .on<&NoAuthTable::erasebyid>("erasebyid"_n);
}
