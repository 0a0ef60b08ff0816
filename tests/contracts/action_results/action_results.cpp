// Return values at, below and above the limit of 256 bytes.
#include <bor/bor.hpp>

namespace {

using namespace bor;  // NOLINT(google-build-using-namespace): the contract's own language.

constexpr uint32_t kLimit = 256;
constexpr uint32_t kLengthBytes = 2;  // Of a packed size from 128 on.
constexpr uint32_t kArrayBytesMax = 20 * 1024 * 1024;
constexpr uint32_t kReturnValueParameter = 17;

// Sets the chain's limit of return values; for privileged accounts.
void set_limit(uint32_t bytes) {
    const Bytes packed = pack(std::tuple(VarUint32(1), VarUint32(kReturnValueParameter), bytes));
    host::set_parameters_packed(packed.data(), packed.size());
}

class ActionResults : public Contract {
  public:
    using Contract::Contract;

    int32_t actionresret() { return 10; }
    Bytes retoverlim() { return Bytes(2 * kLimit, '0'); }
    Bytes retlim() { return Bytes(kLimit - kLengthBytes, '0'); }
    Bytes ret1overlim() { return Bytes(kLimit + 1 - kLengthBytes, '0'); }
    void retmaxlim() {
        set_limit(kArrayBytesMax);
        set_return_value(Bytes(kArrayBytesMax, '1'));
    }
    void setliminv() { set_limit(kArrayBytesMax + 1); }
};

}  // namespace

extern "C" void apply(uint64_t receiver, uint64_t code, uint64_t action) {
    Dispatcher<ActionResults>(receiver, code, action)
        .on<&ActionResults::actionresret>("actionresret"_n)
        .on<&ActionResults::retoverlim>("retoverlim"_n)
        .on<&ActionResults::retlim>("retlim"_n)
        .on<&ActionResults::ret1overlim>("ret1overlim"_n)
        .on<&ActionResults::retmaxlim>("retmaxlim"_n)
        .on<&ActionResults::setliminv>("setliminv"_n);
}
