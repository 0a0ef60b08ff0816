#pragma once

#include "chain/abi/json.hpp"
#include "chain/types/codec.hpp"
#include "chain/types/name.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chain::abi {

// Reads the members of a JSON object into fields. The first error sticks; a member that is
// missing leaves its field as it is, which is what fc does. The object outlives this one.
class Members {
  public:
    // bad_cast_exception unless `json` is an object.
    explicit Members(const Json& json) : json_(&json) { note(expect_object(json)); }

    void text(std::string_view key, std::string& out);
    void texts(std::string_view key, std::vector<std::string>& out);
    void name(std::string_view key, Name& out) { parsed(key, out); }
    void number(std::string_view key, std::uint64_t& out);
    // At most the greatest value of T.
    template <class T>
    void bounded(std::string_view key, T& out) {
        with(key, [&](const Json& value) {
            std::uint64_t number = out;
            note_into(as_bounded(value, T(-1), key), number);
            out = static_cast<T>(number);
        });
    }
    void bytes(std::string_view key, base::Bytes& out);
    void extensions(std::string_view key, Extensions& out);
    // A text that T::from_string reads.
    template <class T>
    void parsed(std::string_view key, T& out) {
        with(key, [&](const Json& value) { note_into(from_text<T>(value), out); });
    }
    // `read(json)` gives a Result for the field.
    template <class T, class Read>
    void value(std::string_view key, T& out, Read read) {
        with(key, [&](const Json& json) { note_into(read(json), out); });
    }
    // The same for each item of a list.
    template <class T, class Read>
    void values(std::string_view key, std::vector<T>& out, Read read) {
        each(key, [&](const Json& item) { note_into(read(item), out.emplace_back()); });
    }
    // `read(members, item)` for each object of a list.
    template <class T, class Read>
    void list(std::string_view key, std::vector<T>& out, Read read) {
        each(key, [&](const Json& item) {
            Members members(item);
            read(members, out.emplace_back());
            if (members.error_) note(base::Result<void>(base::fail(*members.error_)));
        });
    }

    [[nodiscard]] base::Result<void> status() const {
        if (error_) return base::fail(*error_);
        return {};
    }

  private:
    template <class Use>
    void with(std::string_view key, Use use) {
        if (error_) return;
        if (const Json* value = find_member(*json_, key)) use(*value);
    }
    template <class Use>
    void each(std::string_view key, Use use) {
        with(key, [&](const Json& value) {
            note(expect_array(value));
            if (error_) return;
            for (const Json& item : value) {
                use(item);
                if (error_) return;
            }
        });
    }
    template <class R>
    void note(R result) {
        if (!result && !error_) error_ = std::move(result).error();
    }
    template <class R, class T>
    void note_into(R result, T& out) {
        if (result) {
            out = std::move(*result);
        } else if (!error_) {
            error_ = std::move(result).error();
        }
    }

    const Json* json_;
    std::optional<base::Error> error_;
};

}  // namespace chain::abi
