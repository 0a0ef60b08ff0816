#include "chain/abi/json.hpp"

#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace chain::abi {

namespace {

constexpr std::uint64_t kNumberMax = 0xFFFF'FFFF;  // Above, fc writes integers as texts.

// Builds the value while the library's parser reads the text. Unlike the library's own builder
// it counts, and a refusal ends the parse at once.
class Builder : public nlohmann::json_sax<Json> {
  public:
    explicit Builder(const JsonLimits& limits) : limits_(limits) {}

    bool null() override { return add(Json(nullptr)); }
    bool boolean(bool value) override { return add(Json(value)); }
    bool number_integer(number_integer_t value) override { return add(Json(value)); }
    bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
    bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
    bool string(string_t& value) override { return add(Json(std::move(value))); }
    bool binary(binary_t&) override { return refuse("binary values are no JSON"); }

    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& value) override {
        const Json& object = *open_.back();
        if (object.size() >= limits_.members) {
            return refuse(fmt::format("an object has more than {} members", limits_.members));
        }
        if (object.find(value) != object.end()) {
            return refuse(fmt::format("an object has the member '{}' twice", value.substr(0, 64)));
        }
        key_ = std::move(value);
        return true;
    }

    bool parse_error(std::size_t position,
                     const std::string& token,
                     const nlohmann::detail::exception&) override {
        return refuse(fmt::format(
            "Unexpected text at byte {} of the JSON: '{}'", position, token.substr(0, 64)));
    }

    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] Json take() { return std::move(root_); }

  private:
    bool refuse(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
        return false;
    }

    // Puts a value where the text is; `placed_` is where it came to lie.
    bool add(Json value) {
        if (++values_ > limits_.values) {
            return refuse(fmt::format("JSON has more than {} values", limits_.values));
        }
        if (open_.empty()) {
            root_ = std::move(value);
            placed_ = &root_;
        } else if (open_.back()->is_array()) {
            open_.back()->push_back(std::move(value));
            placed_ = &open_.back()->back();
        } else {
            // The key is known to be new, so this need not look for it.
            auto& members = open_.back()->get_ref<Json::object_t&>();
            static_cast<Json::object_t::Container&>(members).emplace_back(std::move(key_),
                                                                          std::move(value));
            placed_ = &members.back().second;
        }
        return true;
    }

    bool open(Json value) {
        if (open_.size() >= limits_.depth) {
            return refuse(fmt::format("JSON is nested deeper than {}", limits_.depth));
        }
        if (!add(std::move(value))) return false;
        // Ancestors stay where they are while a descendant grows, so the pointers hold.
        open_.push_back(placed_);
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    JsonLimits limits_;
    Json root_;
    std::vector<Json*> open_;
    Json* placed_ = nullptr;
    std::string key_;
    std::size_t values_ = 0;
    std::string problem_;
};

std::string_view type_name(const Json& json) {
    switch (json.type()) {
        case Json::value_t::null:
            return "null_type";
        case Json::value_t::object:
            return "object_type";
        case Json::value_t::array:
            return "array_type";
        case Json::value_t::string:
            return "string_type";
        case Json::value_t::boolean:
            return "bool_type";
        case Json::value_t::number_integer:
            return json.get<std::int64_t>() < 0 ? "int64_type" : "uint64_type";
        case Json::value_t::number_unsigned:
            return "uint64_type";
        case Json::value_t::number_float:
            return "double_type";
        default:
            return "unknown";
    }
}

// fc's "as" functions print the bare type, its "get" functions put it in quotes.
tl::unexpected<base::Error> cannot_convert(const Json& json, std::string_view target) {
    return fail(Exception::bad_cast_exception,
                fmt::format("Invalid cast from {} to {}", type_name(json), target));
}

tl::unexpected<base::Error> is_not(const Json& json, std::string_view target) {
    return fail(Exception::bad_cast_exception,
                fmt::format("Invalid cast from type '{}' to {}", type_name(json), target));
}

struct SignedText {
    bool negative = false;
    std::uint64_t magnitude = 0;
};

// An optional sign and digits, all of it; false when it is anything else or above 2^64 - 1.
bool parse_signed(std::string_view text, SignedText& out) {
    if (text.starts_with('+') || text.starts_with('-')) {
        out.negative = text.front() == '-';
        text.remove_prefix(1);
    }
    const char* end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, out.magnitude);
    return !text.empty() && problem == std::errc{} && stopped == end;
}

base::Result<std::uint64_t> uint64_from_text(std::string_view text) {
    SignedText parsed;
    if (!parse_signed(text, parsed)) {
        return fail(Exception::parse_error_exception, "Couldn't parse uint64_t");
    }
    // A minus sign wraps around, as in the library behind fc.
    return parsed.negative ? 0 - parsed.magnitude : parsed.magnitude;
}

base::Result<std::int64_t> int64_from_text(std::string_view text) {
    constexpr std::uint64_t kHalf = 1ULL << 63U;
    SignedText parsed;
    if (!parse_signed(text, parsed) || parsed.magnitude > kHalf - (parsed.negative ? 0 : 1)) {
        return fail(Exception::parse_error_exception, "Couldn't parse int64_t");
    }
    return static_cast<std::int64_t>(parsed.negative ? 0 - parsed.magnitude : parsed.magnitude);
}

}  // namespace

base::Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
    if (text.size() > limits.bytes) {
        return fail(
            Exception::parse_error_exception,
            fmt::format("JSON has {} bytes, at most {} are read", text.size(), limits.bytes));
    }
    Builder builder(limits);
    if (!Json::sax_parse(text, &builder)) {
        return fail(Exception::parse_error_exception, builder.problem());
    }
    return builder.take();
}

std::string dump_json(const Json& json, int indent) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json json_integer(std::uint64_t value) {
    return value > kNumberMax ? Json(std::to_string(value)) : Json(value);
}

Json json_integer(std::int64_t value) {
    const bool large = value > static_cast<std::int64_t>(kNumberMax) ||
                       value < -static_cast<std::int64_t>(kNumberMax);
    return large ? Json(std::to_string(value)) : Json(value);
}

const Json* find_member(const Json& json, std::string_view key) {
    const auto* members = json.get_ptr<const Json::object_t*>();
    if (members == nullptr) return nullptr;
    const auto found = std::ranges::find(*members, key, &Json::object_t::value_type::first);
    return found == members->end() ? nullptr : &found->second;
}

base::Result<std::uint64_t> as_uint64(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) return uint64_from_text(*text);
    if (json.is_number_unsigned()) return json.get<std::uint64_t>();
    if (json.is_number_integer()) return static_cast<std::uint64_t>(json.get<std::int64_t>());
    if (json.is_boolean()) return json.get<bool>() ? 1U : 0U;
    if (json.is_null()) return 0U;
    if (!json.is_number_float()) return cannot_convert(json, "uint64");
    const double value = json.get<double>();
    if (value > -1.0 && value < 0x1p64) return static_cast<std::uint64_t>(value);
    if (value >= -0x1p63 && value <= -1.0) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    }
    return cannot_convert(json, "uint64");
}

base::Result<std::int64_t> as_int64(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) return int64_from_text(*text);
    if (json.is_number_unsigned()) return static_cast<std::int64_t>(json.get<std::uint64_t>());
    if (json.is_number_integer()) return json.get<std::int64_t>();
    if (json.is_boolean()) return json.get<bool>() ? 1 : 0;
    if (json.is_null()) return 0;
    if (!json.is_number_float()) return cannot_convert(json, "int64");
    const double value = json.get<double>();
    if (value >= -0x1p63 && value < 0x1p63) return static_cast<std::int64_t>(value);
    return cannot_convert(json, "int64");
}

base::Result<bool> as_bool(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) {
        if (*text == "true") return true;
        if (*text == "false") return false;
        return fail(Exception::bad_cast_exception,
                    "Cannot convert string to bool (only \"true\" or \"false\" can be converted)");
    }
    if (json.is_boolean()) return json.get<bool>();
    if (json.is_number()) return json.get<double>() != 0.0;
    if (json.is_null()) return false;
    return cannot_convert(json, "bool");
}

base::Result<std::string> as_string(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) return *text;
    if (json.is_number_unsigned()) return std::to_string(json.get<std::uint64_t>());
    if (json.is_number_integer()) return std::to_string(json.get<std::int64_t>());
    if (json.is_number_float()) return fmt::format("{:.17f}", json.get<double>());
    if (json.is_boolean()) return std::string(json.get<bool>() ? "true" : "false");
    if (json.is_null()) return std::string();
    return cannot_convert(json, "string");
}

base::Result<std::string> get_string(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) return *text;
    return is_not(json, "string");
}

base::Result<void> expect_object(const Json& json) {
    if (json.is_object()) return {};
    return is_not(json, "Object");
}

base::Result<void> expect_array(const Json& json) {
    if (json.is_array()) return {};
    return is_not(json, "Array");
}

base::Result<std::uint64_t> as_bounded(const Json& json,
                                       std::uint64_t maximum,
                                       std::string_view field) {
    const bool negative = json.is_number_integer() && !json.is_number_unsigned();
    auto value = as_uint64(json);
    if (!value) return value;
    const auto* text = json.get_ptr<const std::string*>();
    if (negative || *value > maximum || (text != nullptr && text->starts_with('-'))) {
        return fail(Exception::bad_cast_exception,
                    fmt::format("{} is {}, it must be from 0 to {}",
                                field,
                                dump_json(json).substr(0, 64),
                                maximum));
    }
    return value;
}

base::Result<base::Bytes> bytes_from_hex(std::string_view text) {
    if (text.size() % 2 != 0) {
        return fail(Exception::assert_exception,
                    "str.size() % 2 == 0: the length of hex string should be even number");
    }
    for (const char letter : text) {
        const bool digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') ||
                           (letter >= 'A' && letter <= 'F');
        if (!digit) {
            return fail(Exception::exception, fmt::format("Invalid hex character '{}'", letter));
        }
    }
    return base::from_hex(text);
}

base::Result<base::Bytes> bytes_from_json(const Json& json) {
    auto text = get_string(json);
    if (!text) return base::fail(std::move(text).error());
    return bytes_from_hex(*text);
}

}  // namespace chain::abi
