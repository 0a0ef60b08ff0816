#pragma once

#include "node/bps/core/codec/error_code.hpp"

#include <tl/expected.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace bps {

// Why a client does not get what it asked for: the code that it is answered with, and the reason
// for people. A reason quotes what the client sent, which may be long: it is cut, so that it fits
// into any answer and line of the log.
struct Refusal {
    static constexpr std::size_t kReasonBytesMax = 1'024;

    Refusal(ErrorCode why, std::string text) : code(why), reason(std::move(text)) {
        constexpr std::string_view kCut = "...";
        if (reason.size() <= kReasonBytesMax) return;
        reason.resize(kReasonBytesMax - kCut.size());
        reason += kCut;
    }

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
