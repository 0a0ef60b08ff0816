// Secondary indexes: each kind walks at random beside a model with its own idea of order, and
// the peculiarities of floating point keys and 256-bit keys are tried one by one.
#include "host_model.hpp"

#include <bit>
#include <cmath>
#include <cstring>

using chain::Exception;
using host_test::failed;
using host_test::Host;
using host_test::KeyLess;
using host_test::ModelRow;
using namespace chain::literals;

namespace {

using std::int32_t;
using std::uint32_t;
using std::uint64_t;

__extension__ using Wide = unsigned __int128;
__extension__ using Quad = __float128;

template <class T>
T from_bytes(const std::string& bytes) {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
}
template <class T>
std::string to_string(const T& value) {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

template <class T>
bool less(const std::string& a, const std::string& b) {
    return from_bytes<T>(a) < from_bytes<T>(b);
}

// A kind of index: how its functions are called, how keys are made, ordered and billed.
struct Kind {
    std::string prefix;
    std::string (*random_key)(base::Rng&);
    KeyLess less;
    uint64_t ram;
    bool counted = false;  // The key is passed with a count of two.
};

std::string key64(base::Rng& rng) {
    return to_string(rng.below(6) << (8 * rng.below(8)));
}
std::string key128(base::Rng& rng) {
    return to_string(static_cast<Wide>(rng.below(5)) << (13 * rng.below(9)));
}
std::string key256(base::Rng& rng) {
    return key128(rng) + key128(rng);
}
std::string key_double(base::Rng& rng) {
    const std::array values = {
        0.0, -0.0, 1.5, -1.5, 1e300, -1e300, 5e-324, -5e-324, 2.25, HUGE_VAL, -HUGE_VAL, -2.25};
    return to_string(values[rng.below(values.size())]);
}
std::string key_quad(base::Rng& rng) {
    const auto value = static_cast<Quad>(from_bytes<double>(key_double(rng)));
    return to_string(rng.below(3) == 0 ? value * value * value : value);
}

const std::vector<Kind> kKinds = {
    {"db_idx64_", &key64, &less<uint64_t>, 128},
    {"db_idx128_", &key128, &less<Wide>, 144},
    {"db_idx256_", &key256, &less<std::array<Wide, 2>>, 160, true},
    {"db_idx_double_", &key_double, &less<double>, 128},
    {"db_idx_long_double_", &key_quad, &less<Quad>, 144},
};

class IndexWalk : host_test::Walk {
  public:
    IndexWalk(uint64_t seed, const Kind& index) : Walk(seed, index.less), kind_(index) {}

    void step() {
        switch (rng.below(10)) {
            case 0:
            case 1:
            case 2:
                return store();
            case 3:
                return update();
            case 4:
                return remove();
            case 5:
                return step_along(kind_.prefix + "next", true);
            case 6:
                return step_along(kind_.prefix + "previous", false);
            case 7:
                return find_primary();
            case 8:
                return find_secondary();
            default:
                return bound(rng.below(2) == 0);
        }
    }
    void check_ram() { compare_ram(kind_.ram); }

  private:
    // Calls with the key at kKey in the place where the kind's functions take it.
    std::optional<uint64_t> call(const std::string& name,
                                 std::vector<uint64_t> before,
                                 std::vector<uint64_t> after = {}) {
        before.push_back(kKey);
        if (kind_.counted) before.push_back(2);
        before.insert(before.end(), after.begin(), after.end());
        const auto& table = chain::host_table();
        const auto& function = table.at(*table.find(kind_.prefix + name));
        REQUIRE(function.params.size() == before.size());
        uint64_t result = 0;
        if (!function.call(*host.context, host.memory, host.meter, before.data(), &result)) {
            CAPTURE(host.failure());
            REQUIRE(false);
        }
        return result;
    }
    int32_t answer(const std::string& name,
                   std::vector<uint64_t> before,
                   std::vector<uint64_t> after = {}) {
        return static_cast<int32_t>(
            static_cast<uint32_t>(*call(name, std::move(before), std::move(after))));
    }
    [[nodiscard]] std::string key_in_memory(std::size_t size) const {
        return std::string(base::as_text(base::ByteView(host.bytes).subspan(kKey, size)));
    }
    [[nodiscard]] bool same(const std::string& a, const std::string& b) const {
        return !kind_.less(a, b) && !kind_.less(b, a);
    }

    void store() {
        const Place place{scope(), primary()};
        if (model.find(place) != nullptr) return;
        const ModelRow row{payer(), kind_.random_key(rng), {}};
        host.write_text(kKey, row.key);
        const int32_t got = answer("store", {place.first, kTable, row.payer.value, place.second});
        REQUIRE(got == model.store(place, row));
    }

    void update() {
        const int32_t iterator = some_iterator();
        const auto place = model.place_of(iterator);
        if (!place) return;
        const bool keep = rng.below(2) == 0;
        const ModelRow row{keep ? model.find(*place)->payer : payer(), kind_.random_key(rng), {}};
        host.write_text(kKey, row.key);
        call("update", {slot(iterator), keep ? 0 : row.payer.value});
        model.update(*place, row);
    }

    void remove() {
        const int32_t iterator = some_iterator();
        const auto place = model.place_of(iterator);
        if (!place) return;
        REQUIRE(host.call(kind_.prefix + "remove", {slot(iterator)}).has_value());
        model.remove(*place);
    }

    void find_primary() {
        const Place place{scope(), primary()};
        const std::string mark = kind_.random_key(rng);
        host.write_text(kKey, mark);
        const int32_t got = answer("find_primary", {kCode, place.first, kTable}, {place.second});
        const ModelRow* row = model.find(place);
        REQUIRE(got == (row == nullptr ? model.end(place.first) : model.iterator(place)));
        // The very bits that were stored: -0 stays -0.
        REQUIRE(key_in_memory(mark.size()) == (row == nullptr ? mark : row->key));
    }

    void find_secondary() {
        const uint64_t where = scope();
        const std::string key = kind_.random_key(rng);
        host.write_text(kKey, key);
        host.write(kPrimary, kMark);
        const int32_t got = answer("find_secondary", {kCode, where, kTable}, {kPrimary});
        const int32_t end = model.end(where);
        if (model.exists(where)) {
            for (const uint64_t each : model.in_order(where)) {
                if (!same(model.find({where, each})->key, key)) continue;
                REQUIRE(got == model.iterator({where, each}));
                REQUIRE(host.read<uint64_t>(kPrimary) == each);
                return;
            }
        }
        REQUIRE(got == end);
        REQUIRE(host.read<uint64_t>(kPrimary) == kMark);
    }

    void bound(bool upper) {
        const uint64_t where = scope();
        const std::string key = kind_.random_key(rng);
        host.write_text(kKey, key);
        host.write(kPrimary, kMark);
        const int32_t got =
            answer(upper ? "upperbound" : "lowerbound", {kCode, where, kTable}, {kPrimary});
        const int32_t end = model.end(where);
        if (model.exists(where)) {
            for (const uint64_t each : model.in_order(where)) {
                const std::string& present = model.find({where, each})->key;
                if (kind_.less(present, key) || (upper && same(present, key))) continue;
                REQUIRE(got == model.iterator({where, each}));
                REQUIRE(host.read<uint64_t>(kPrimary) == each);
                REQUIRE(key_in_memory(key.size()) == present);
                return;
            }
        }
        REQUIRE(got == end);
        REQUIRE(host.read<uint64_t>(kPrimary) == kMark);
        REQUIRE(key_in_memory(key.size()) == key);
    }

    const Kind& kind_;
};

constexpr uint32_t kKey = 1000;
constexpr uint32_t kOut = 2000;
constexpr uint64_t kAlice = ("alice"_n).value;
constexpr uint64_t kContract = ("contract"_n).value;
constexpr uint64_t kTable = ("table"_n).value;

}  // namespace

TEST_CASE("every kind of index agrees with a model over random calls") {
    for (const Kind& kind : kKinds) {
        CAPTURE(kind.prefix);
        for (const uint64_t seed : {11U, 12U}) {
            IndexWalk walk(seed, kind);
            for (int i = 0; i < 3'000; ++i)
                walk.step();
            walk.check_ram();
        }
    }
}

TEST_CASE("what is no number cannot be a key") {
    const std::string expected =
        failed(Exception::transaction_exception, "NaN is not an allowed value for a secondary key");
    const std::array<uint64_t, 2> quad{0, 0x7FFF'8000'0000'0000U};
    for (const std::string prefix : {"db_idx_double_", "db_idx_long_double_"}) {
        const auto after = [&](std::string_view name, std::initializer_list<uint64_t> args) {
            Host host;
            if (prefix == "db_idx_double_") {
                host.write<uint64_t>(kKey, 0x7FF8'0000'0000'0000U);
            } else {
                host.write(kKey, quad);
            }
            CHECK_FALSE(host.call(prefix + std::string(name), args).has_value());
            return host.failure();
        };
        CHECK(after("store", {1, kTable, kAlice, 7, kKey}) == expected);
        CHECK(after("update", {0, 0, kKey}) == expected);
        CHECK(after("find_secondary", {kContract, 1, kTable, kKey, kOut}) == expected);
        CHECK(after("lowerbound", {kContract, 1, kTable, kKey, kOut}) == expected);
        CHECK(after("upperbound", {kContract, 1, kTable, kKey, kOut}) == expected);
        // There the key is only written.
        Host host;
        host.write(kKey, quad);
        CHECK(host.i32(prefix + "find_primary", {kContract, 1, kTable, kKey, 7}) == -1);
    }
}

TEST_CASE("both zeros are one key, and each keeps its sign") {
    Host host;
    host.write(kKey, -0.0);
    REQUIRE(host.i32("db_idx_double_store", {1, kTable, kAlice, 7, kKey}) == 0);
    host.write(kKey, 0.0);
    REQUIRE(host.i32("db_idx_double_store", {1, kTable, kAlice, 8, kKey}) == 1);
    CHECK(host.i32("db_idx_double_find_secondary", {kContract, 1, kTable, kKey, kOut}) == 0);
    host.write(kKey, 0.0);
    CHECK(host.i32("db_idx_double_lowerbound", {kContract, 1, kTable, kKey, kOut}) == 0);
    CHECK(std::signbit(host.read<double>(kKey)));
    CHECK(host.i32("db_idx_double_upperbound", {kContract, 1, kTable, kKey, kOut}) == -2);
    CHECK(host.i32("db_idx_double_next", {0, kOut}) == 1);
}

TEST_CASE("a 256-bit key is two numbers") {
    const std::string expected = failed(
        Exception::db_api_exception,
        "invalid size of secondary key array for idx256: given 3 bytes but expected 2 bytes");
    const auto after = [](std::string_view name, std::initializer_list<uint64_t> args) {
        Host host;
        CHECK_FALSE(host.call(name, args).has_value());
        return host.failure();
    };
    CHECK(after("db_idx256_store", {1, kTable, kAlice, 7, kKey, 3}) == expected);
    CHECK(after("db_idx256_update", {0, 0, kKey, 3}) == expected);
    CHECK(after("db_idx256_find_secondary", {kContract, 1, kTable, kKey, 3, kOut}) == expected);
    CHECK(after("db_idx256_find_primary", {kContract, 1, kTable, kKey, 3, 7}) == expected);
    CHECK(after("db_idx256_lowerbound", {kContract, 1, kTable, kKey, 3, kOut}) == expected);
    CHECK(after("db_idx256_upperbound", {kContract, 1, kTable, kKey, 3, kOut}) == expected);
    CHECK(after("db_idx256_store", {1, kTable, kAlice, 7, Host::kMemory - 16, 2}) ==
          failed(Exception::wasm_execution_error, "access violation"));
    // A count whose bytes do not fit in 32 bits.
    CHECK(after("db_idx256_store", {1, kTable, kAlice, 7, kKey, 0x1000'0000}) ==
          failed(Exception::wasm_execution_error, "eos-vm system failure"));
}

TEST_CASE("an index row needs a payer and a free primary key") {
    Host host;
    CHECK_FALSE(host.call("db_idx64_store", {1, kTable, 0, 7, kKey}).has_value());
    CHECK(host.failure() == failed(Exception::invalid_table_payer,
                                   "must specify a valid account to pay for new record"));
    Host other;
    REQUIRE(other.call("db_idx64_store", {1, kTable, kAlice, 7, kKey}).has_value());
    CHECK_FALSE(other.call("db_idx64_store", {1, kTable, kAlice, 7, kKey}).has_value());
    CHECK(other.failure().find("uniqueness constraint was violated") != std::string::npos);
}

TEST_CASE("an index is written by its contract only, and its iterators are its own") {
    Host host;
    const chain::TableId foreign{"other"_n, chain::Name{1}, "table"_n};
    const uint64_t key = 42;
    const base::Bytes value = chain::encode_row("other"_n, std::as_bytes(std::span(&key, 1)));
    host.state.put(chain::Table::contract_table,
                   chain::table_key(foreign),
                   chain::encode_table({"other"_n, 1}));
    host.state.put(chain::Table::index64, chain::table_key(foreign).u64(key).u64(5), value);
    host.state.put(chain::Table::index64_primary, chain::row_key(foreign, 5), value);
    host.write(kKey, key);
    REQUIRE(host.i32("db_idx64_find_secondary", {("other"_n).value, 1, kTable, kKey, kOut}) == 0);
    CHECK(host.read<uint64_t>(kOut) == 5);
    // Number 0 means nothing to another kind of index.
    SECTION("another kind") {
        CHECK_FALSE(host.call("db_idx128_remove", {0}).has_value());
        CHECK(host.failure() == failed(Exception::invalid_table_iterator, "iterator out of range"));
    }
    SECTION("update") {
        CHECK_FALSE(host.call("db_idx64_update", {0, 0, kKey}).has_value());
        CHECK(host.failure() == failed(Exception::table_access_violation, "db access violation"));
    }
    SECTION("remove") {
        CHECK_FALSE(host.call("db_idx64_remove", {0}).has_value());
        CHECK(host.failure() == failed(Exception::table_access_violation, "db access violation"));
    }
}
