#pragma once

#include "node/bps/core/codec/api.hpp"
#include "node/bps/core/codec/error_code.hpp"

#include <string_view>
#include <vector>

namespace bps {

// Finds the first error that a response tells, of the whole or of an item, by its table.
class FirstError {
  public:
    template <class T>
    void operator()(std::string_view /*name*/, const T& value, const Presence& /*where*/ = {}) {
        look_at(value);
    }
    [[nodiscard]] ErrorCode found() const { return found_; }

  private:
    void look_at(const ErrorCode& code) {
        if (found_ == ErrorCode::none) found_ = code;
    }
    template <class T>
    void look_at(const std::vector<T>& values) {
        for (const T& each : values)
            look_at(each);
    }
    template <class T>
    void look_at(const T& value) {
        if constexpr (requires { T::fields(value, *this); }) T::fields(value, *this);
    }

    ErrorCode found_ = ErrorCode::none;
};

template <class Response>
[[nodiscard]] ErrorCode first_error_of(const Response& response) {
    FirstError walk;
    Response::fields(response, walk);
    return walk.found();
}

}  // namespace bps
