// Reads and sets chain parameters by their numbers. The account must be privileged.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

// Parameters 0 to 17: the first is 64 bits wide, those of depths are 16, the rest 32.
constexpr uint32_t kMaxBlockNetUsage = 0;
constexpr uint32_t kTargetBlockNetUsagePct = 1;
constexpr uint32_t kMaxAuthorityDepth = 16;
constexpr uint32_t kMaxReturnValueSize = 17;
constexpr uint32_t kUnknown = 100;

template <class... Fields>
Bytes packed(const Fields&... fields) {
    return pack(std::tie(fields...));
}
Bytes ids(std::initializer_list<uint32_t> wanted) {
    return pack(std::vector<VarUint32>(wanted.begin(), wanted.end()));
}
uint32_t size_of(const Bytes& ids) {
    return host::get_parameters_packed(ids.data(), ids.size(), nullptr, 0);
}
Bytes get(const Bytes& ids) {
    Bytes out(size_of(ids));
    host::get_parameters_packed(ids.data(), ids.size(), out.data(), out.size());
    return out;
}
void set(const Bytes& parameters) {
    host::set_parameters_packed(parameters.data(), parameters.size());
}
// Sets one parameter and checks that it is read back.
template <class Value>
void set_and_get(uint32_t id, Value value) {
    const Bytes wanted = packed(VarUint32(1), VarUint32(id), value);
    set(wanted);
    check(get(ids({id})) == wanted, "parameter is not read back as it was set");
}

class ParamsTest : public Contract {
  public:
    using Contract::Contract;

    void maintest() {
        set(ids({}));
        check(get(ids({})) == ids({}), "no parameters are not none");
        check(size_of(ids({kMaxBlockNetUsage})) == 10, "size of a 64-bit parameter");
        check(size_of(ids({kTargetBlockNetUsagePct})) == 6, "size of a 32-bit parameter");
        check(size_of(ids({kMaxAuthorityDepth})) == 4, "size of a 16-bit parameter");

        set_and_get(kMaxBlockNetUsage, uint64_t{2 * 1024 * 1024});
        check(blockchain_parameters().max_block_net_usage == 2 * 1024 * 1024, "64-bit parameter");
        set_and_get(kTargetBlockNetUsagePct, uint32_t{2000});
        check(blockchain_parameters().target_block_net_usage_pct == 2000, "32-bit parameter");
        set_and_get(kMaxAuthorityDepth, uint16_t{8});
        check(blockchain_parameters().max_authority_depth == 8, "16-bit parameter");
        set_and_get(kMaxReturnValueSize, uint32_t{512});

        const Bytes three = packed(VarUint32(3),
                                   VarUint32(kMaxBlockNetUsage),
                                   uint64_t{3 * 1024 * 1024},
                                   VarUint32(kTargetBlockNetUsagePct),
                                   uint32_t{3000},
                                   VarUint32(kMaxAuthorityDepth),
                                   uint16_t{10});
        set(three);
        check(get(ids({kMaxBlockNetUsage, kTargetBlockNetUsagePct, kMaxAuthorityDepth})) == three,
              "three parameters are not read back as they were set");
    }
    void setthrow1() { set(ids({kUnknown})); }
    void setthrow2() { set(packed(VarUint32(2), VarUint32(kTargetBlockNetUsagePct))); }
    // More than 100 percent.
    void setthrow3() {
        set(packed(VarUint32(1), VarUint32(kTargetBlockNetUsagePct), uint32_t{20'000}));
    }
    void getthrow1() { get(ids({kUnknown})); }
    void getthrow2() { get(packed(VarUint32(2), VarUint32(kTargetBlockNetUsagePct))); }
    // A buffer that is too small.
    void getthrow3() {
        const Bytes two = ids({kMaxBlockNetUsage, kTargetBlockNetUsagePct});
        Bytes out(4);
        host::get_parameters_packed(two.data(), two.size(), out.data(), out.size());
    }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<ParamsTest>(receiver, code, action)
        .on<&ParamsTest::maintest>("maintest"_n)
        .on<&ParamsTest::setthrow1>("setthrow1"_n)
        .on<&ParamsTest::setthrow2>("setthrow2"_n)
        .on<&ParamsTest::setthrow3>("setthrow3"_n)
        .on<&ParamsTest::getthrow1>("getthrow1"_n)
        .on<&ParamsTest::getthrow2>("getthrow2"_n)
        .on<&ParamsTest::getthrow3>("getthrow3"_n);
}
