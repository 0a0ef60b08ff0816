#pragma once

#include "node/bps/core/codec/error_code.hpp"

#include <tl/expected.hpp>

#include <string>
#include <utility>

namespace bps {

// Why a client does not get what it asked for: the code that it is answered with, and the reason
// for people.
struct Refusal {
    ErrorCode code;
    std::string reason;
};

template <class T>
class [[nodiscard]] Verdict : public tl::expected<T, Refusal> {
    using Base = tl::expected<T, Refusal>;

  public:
    using Base::Base;
};

[[nodiscard]] inline tl::unexpected<Refusal> refuse(ErrorCode code, std::string reason) {
    return tl::unexpected<Refusal>(Refusal{code, std::move(reason)});
}
[[nodiscard]] inline tl::unexpected<Refusal> refuse(Refusal refusal) {
    return tl::unexpected<Refusal>(std::move(refusal));
}

}  // namespace bps
