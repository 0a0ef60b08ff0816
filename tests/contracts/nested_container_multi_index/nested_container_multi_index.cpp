// Containers within containers as fields of a row and as arguments, for the ABI's nested types.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

struct Counted {
    uint64_t count = 0;
    std::string text;
    BOR_FIELDS(count, text)
};

using Set = std::set<uint16_t>;
using Vector = std::vector<uint16_t>;
using Optional = std::optional<uint16_t>;
using Map = std::map<uint16_t, uint16_t>;
using Pair = std::pair<uint16_t, uint16_t>;
using Tuple = std::tuple<uint16_t, uint16_t>;
template <class T>
using Keyed = std::map<uint16_t, T>;
template <class T>
using Numbered = std::pair<uint16_t, T>;

// A field for each pair of containers: the first letter is the outer one, the rest the inner.
struct Person {
    Name key;
    std::set<Set> stst;
    std::set<Vector> stv;
    std::set<Optional> sto;
    std::set<Map> stm;
    std::set<Pair> stp;
    std::set<Tuple> stt;
    std::vector<Set> vst;
    std::vector<Vector> vv;
    std::vector<Optional> vo;
    std::vector<Map> vm;
    std::vector<Pair> vp;
    std::vector<Tuple> vt;
    std::optional<Set> ost;
    std::optional<Vector> ov;
    std::optional<Optional> oo;
    std::optional<Map> om;
    std::optional<Pair> op;
    std::optional<Tuple> ot;
    Keyed<Set> mst;
    Keyed<Vector> mv;
    Keyed<Optional> mo;
    Keyed<Map> mm;
    Keyed<Pair> mp;
    Keyed<Tuple> mt;
    Numbered<Set> pst;
    Numbered<Vector> pv;
    Numbered<Optional> po;
    Numbered<Map> pm;
    Numbered<Pair> pp;
    Numbered<Tuple> pt;
    std::tuple<uint16_t, Vector, Vector> tv;
    std::tuple<uint16_t, Set, Set> tst;
    std::tuple<Optional, Optional, Optional, Optional, Optional> to;
    std::tuple<uint16_t, Map, Map> tm;
    std::tuple<uint16_t, Pair, Pair> tp;
    std::tuple<Tuple, Tuple, Tuple> tt;
    std::vector<std::optional<Counted>> vos;
    Numbered<std::vector<Optional>> pvo;
    [[nodiscard]] uint64_t primary_key() const { return key.value; }
    // clang-format off
    BOR_FIELDS(key, stst, stv, sto, stm, stp, stt, vst, vv, vo, vm, vp, vt,
               ost, ov, oo, om, op, ot, mst, mv, mo, mm, mp, mt, pst, pv, po, pm, pp, pt,
               tv, tst, to, tm, tp, tt, vos, pvo)
    // clang-format on
};

class Nested : public Contract {
  public:
    using Contract::Contract;

    // Sets one field of the user's row.
    template <auto Field>
    void set(Name user, const std::remove_cvref_t<decltype(std::declval<Person&>().*Field)>& to) {
        using Value = std::remove_cvref_t<decltype(to)>;
        change(user, &to, [](Person& row, const void* value) {
            row.*Field = *static_cast<const Value*>(value);
        });
    }

  private:
    // Not a template, so that a row is packed and unpacked in one place.
    void change(Name user, const void* value, void (*fill)(Person&, const void*)) {
        require_auth(user);
        MultiIndex<"people2"_n, Person> people(self(), first_receiver().value);
        const auto at = people.find(user.value);
        const auto update = [&](Person& row) {
            row.key = user;
            fill(row, value);
        };
        if (people.found(at)) {
            people.modify(at, user, update);
        } else {
            people.emplace(user, update);
        }
        print("stored successfully!");
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<Nested> dispatcher(receiver, code, action);
    dispatcher.on<&Nested::set<&Person::stst>>("setstst"_n)
        .on<&Nested::set<&Person::stv>>("setstv"_n)
        .on<&Nested::set<&Person::sto>>("setsto"_n)
        .on<&Nested::set<&Person::stm>>("setstm"_n)
        .on<&Nested::set<&Person::stp>>("setstp"_n)
        .on<&Nested::set<&Person::stt>>("setstt"_n);
    dispatcher.on<&Nested::set<&Person::vst>>("setvst"_n)
        .on<&Nested::set<&Person::vv>>("setvv"_n)
        .on<&Nested::set<&Person::vo>>("setvo"_n)
        .on<&Nested::set<&Person::vm>>("setvm"_n)
        .on<&Nested::set<&Person::vp>>("setvp"_n)
        .on<&Nested::set<&Person::vt>>("setvt"_n);
    dispatcher.on<&Nested::set<&Person::ost>>("setost"_n)
        .on<&Nested::set<&Person::ov>>("setov"_n)
        .on<&Nested::set<&Person::oo>>("setoo"_n)
        .on<&Nested::set<&Person::om>>("setom"_n)
        .on<&Nested::set<&Person::op>>("setop"_n)
        .on<&Nested::set<&Person::ot>>("setot"_n);
    dispatcher.on<&Nested::set<&Person::mst>>("setmst"_n)
        .on<&Nested::set<&Person::mv>>("setmv"_n)
        .on<&Nested::set<&Person::mo>>("setmo"_n)
        .on<&Nested::set<&Person::mm>>("setmm"_n)
        .on<&Nested::set<&Person::mp>>("setmp"_n)
        .on<&Nested::set<&Person::mt>>("setmt"_n);
    dispatcher.on<&Nested::set<&Person::pst>>("setpst"_n)
        .on<&Nested::set<&Person::pv>>("setpv"_n)
        .on<&Nested::set<&Person::po>>("setpo"_n)
        .on<&Nested::set<&Person::pm>>("setpm"_n)
        .on<&Nested::set<&Person::pp>>("setpp"_n)
        .on<&Nested::set<&Person::pt>>("setpt"_n);
    dispatcher.on<&Nested::set<&Person::tst>>("settst"_n)
        .on<&Nested::set<&Person::tv>>("settv"_n)
        .on<&Nested::set<&Person::to>>("setto"_n)
        .on<&Nested::set<&Person::tm>>("settm"_n)
        .on<&Nested::set<&Person::tp>>("settp"_n)
        .on<&Nested::set<&Person::tt>>("settt"_n)
        .on<&Nested::set<&Person::vos>>("setvos"_n)
        .on<&Nested::set<&Person::pvo>>("setpvo"_n);
}
