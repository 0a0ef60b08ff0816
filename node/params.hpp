#pragma once

#include "chain/abi/transaction_json.hpp"
#include "chain/types/asset.hpp"
#include "node/api/error_json.hpp"
#include "node/http/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace node {

using chain::abi::Json;

// Whether a call needs parameters; `list`: an array of them; `text`: one text.
enum class Need : std::uint8_t { none, optional, required, list, text };

// The parameters of one call: an object (but for Need::list and Need::text) whose fields are read
// with nodeos' conversions. The first error sticks; look at ok() after reading all. A field that is
// missing has its default.
class Params {
  public:
    // The body in nodeos' sense: {}, null and blanks are no body.
    Params(std::string_view body, Need need);

    [[nodiscard]] bool ok() const { return !error_.has_value(); }
    [[nodiscard]] const api::ErrorReport& error() const { return *error_; }
    // Notes that the input is wrong; the first call counts.
    void fail(api::ErrorReport error);
    void fail_input(const base::Error& reason) { fail(api::bad_input(reason)); }

    // The field as it came; null when it is missing.
    [[nodiscard]] const Json* find(std::string_view field) const;
    [[nodiscard]] const Json& body() const { return body_; }
    // Nothing but blanks came.
    [[nodiscard]] bool is_blank() const { return is_blank_; }

    [[nodiscard]] chain::Name name(std::string_view field);
    // Numbers become their decimal text.
    [[nodiscard]] std::string text(std::string_view field, std::string_view standard = {});
    [[nodiscard]] bool boolean(std::string_view field, bool standard = false);
    // Negative numbers wrap, as in nodeos; what is above 32 bits is refused.
    [[nodiscard]] std::uint32_t u32(std::string_view field, std::uint32_t standard);
    [[nodiscard]] std::optional<std::uint32_t> optional_u32(std::string_view field);
    [[nodiscard]] std::optional<std::uint64_t> optional_u64(std::string_view field);
    [[nodiscard]] std::vector<chain::Name> names(std::string_view field);
    // Every item of a list by `convert`, a function from Json to Result.
    template <class T, class Convert>
    [[nodiscard]] std::vector<T> list(std::string_view field, const Convert& convert) {
        std::vector<T> items;
        const Json* value = find_present(field);
        if (value == nullptr) return items;
        take(chain::abi::expect_array(*value));
        if (!ok()) return items;
        for (const Json& each : *value) {
            if (auto item = take(convert(each))) items.push_back(std::move(*item));
        }
        return items;
    }
    // The value of a field by `convert`; nothing when it is missing, null or wrong.
    template <class T, class Convert>
    [[nodiscard]] std::optional<T> optional(std::string_view field, const Convert& convert) {
        const Json* value = find_present(field);
        return value == nullptr ? std::nullopt : take(convert(*value));
    }

  private:
    [[nodiscard]] const Json* find_present(std::string_view field) const;
    template <class T>
    std::optional<T> take(base::Result<T> result) {
        if (result) return std::move(*result);
        fail_input(result.error());
        return std::nullopt;
    }
    void take(const base::Result<void>& result) {
        if (!result) fail_input(result.error());
    }

    Json body_ = Json::object();
    bool is_blank_ = false;
    std::optional<api::ErrorReport> error_;
};

// An answer that is JSON.
[[nodiscard]] http::Response json_response(const Json& body, unsigned status = 200);
[[nodiscard]] http::Response error_response(const api::ErrorReport& report, bool verbose);

}  // namespace node
