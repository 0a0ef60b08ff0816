#include "chain/types/asset.hpp"

#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <charconv>

namespace chain {

namespace {

constexpr std::size_t kLettersMax = 7;
constexpr std::size_t kTextMax = 1024;  // Longer texts are no assets, whatever they hold.

std::string_view trim(std::string_view text) {
    constexpr std::string_view kSpaces = " \t\n\r\f\v";
    const std::size_t first = text.find_first_not_of(kSpaces);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

base::Result<std::int64_t> parse_int64(std::string_view text) {
    std::int64_t value = 0;
    // nodeos takes a plus sign, from_chars does not.
    if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
    const char* end = text.data() + text.size();
    const auto [stopped, problem] = std::from_chars(text.data(), end, value);
    if (text.empty() || problem != std::errc{} || stopped != end) {
        return fail(Exception::parse_error_exception, "Couldn't parse int64_t");
    }
    return value;
}

bool all_letters(std::string_view text) {
    for (const char letter : text) {
        if (letter < 'A' || letter > 'Z') return false;
    }
    return true;
}

// The packed letters of a code that has at most seven.
std::uint64_t pack_letters(std::string_view letters) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < letters.size(); ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(letters[i])} << (8 * i);
    }
    return value;
}

std::int64_t power_of_ten(unsigned exponent) {
    std::int64_t power = 1;
    for (; exponent > 0; --exponent) {
        power *= 10;
    }
    return power;
}

bool is_amount(std::int64_t amount) {
    return amount <= Asset::kAmountMax && amount >= -Asset::kAmountMax;
}

tl::unexpected<base::Error> amount_too_large() {
    return fail(Exception::asset_type_exception,
                "magnitude of asset amount must be less than 2^62");
}

// The amount of "12.3400" in the smallest unit. fc's safe integers fail with these texts.
base::Result<std::int64_t> parse_amount(std::string_view text, Symbol symbol) {
    const std::size_t dot = text.find('.');
    auto whole = parse_int64(text.substr(0, dot));
    if (!whole) return whole;
    std::int64_t fraction = 0;
    if (dot != std::string_view::npos) {
        auto parsed = parse_int64(text.substr(dot + 1));
        if (!parsed) return parsed;
        fraction = text.starts_with('-') ? -*parsed : *parsed;
    }
    std::int64_t amount = 0;
    if (__builtin_mul_overflow(*whole, power_of_ten(symbol.precision()), &amount) ||
        __builtin_add_overflow(amount, fraction, &amount)) {
        return fail(Exception::overflow_exception, "asset amount does not fit into 64 bits");
    }
    if (!is_amount(amount)) return amount_too_large();
    return amount;
}

}  // namespace

std::string SymbolCode::to_string() const {
    std::string text;
    for (std::uint64_t rest = value; rest != 0; rest >>= 8U) {
        text.push_back(static_cast<char>(rest & 0xFFU));
    }
    return text;
}

base::Result<SymbolCode> SymbolCode::from_string(std::string_view text) {
    if (!all_letters(text)) {
        return fail(Exception::symbol_type_exception, "invalid character in symbol name");
    }
    if (text.size() > kLettersMax) {
        return fail(Exception::symbol_type_exception,
                    fmt::format("invalid symbol: {}", text.substr(0, kTextMax)));
    }
    return SymbolCode{pack_letters(text)};
}

base::Result<void> Symbol::validate() const {
    if (precision() > kPrecisionMax) {
        return fail(Exception::symbol_type_exception,
                    fmt::format("precision {} should be <= 18", precision()));
    }
    const std::string letters = code().to_string();
    if (!all_letters(letters)) {
        return fail(Exception::symbol_type_exception, fmt::format("invalid symbol: {}", letters));
    }
    return {};
}

std::string Symbol::to_string() const {
    return fmt::format("{},{}", precision(), code().to_string());
}

base::Result<Symbol> Symbol::from_string(std::string_view text) {
    text = trim(text);
    if (text.empty()) {
        return fail(Exception::symbol_type_exception, "creating symbol from empty string");
    }
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) {
        return fail(Exception::symbol_type_exception, "missing comma in symbol");
    }
    auto precision = parse_int64(text.substr(0, comma));
    if (!precision) return base::fail(std::move(precision).error());
    if (*precision < 0 || *precision > kPrecisionMax) {
        return fail(Exception::symbol_type_exception,
                    fmt::format("precision {} should be <= 18", *precision));
    }
    const std::string_view letters = text.substr(comma + 1);
    if (!all_letters(letters)) {
        return fail(Exception::symbol_type_exception, "invalid character in symbol name");
    }
    if (letters.size() > kLettersMax) {
        return fail(Exception::symbol_type_exception,
                    fmt::format("invalid symbol: {}", letters.substr(0, kLettersMax)));
    }
    return Symbol{pack_letters(letters) << 8U | static_cast<std::uint64_t>(*precision)};
}

base::Result<void> Asset::validate() const {
    if (!is_amount(amount)) return amount_too_large();
    return symbol.validate();
}

std::string Asset::to_string() const {
    // Unsigned, so that the least value has a magnitude too.
    const std::uint64_t magnitude =
        amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : static_cast<std::uint64_t>(amount);
    const unsigned places = std::min(symbol.precision(), Symbol::kPrecisionMax);
    const auto unit = static_cast<std::uint64_t>(power_of_ten(places));
    std::string text = fmt::format("{}{}", amount < 0 ? "-" : "", magnitude / unit);
    if (places > 0) text += fmt::format(".{:0{}}", magnitude % unit, places);
    return text + " " + symbol.code().to_string();
}

base::Result<Asset> Asset::from_string(std::string_view text) {
    text = trim(text.substr(0, kTextMax));
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) {
        return fail(Exception::asset_type_exception,
                    "Asset's amount and symbol should be separated with space");
    }
    const std::string_view number = text.substr(0, space);
    const std::size_t dot = number.find('.');
    if (dot != std::string_view::npos && dot + 1 == number.size()) {
        return fail(Exception::asset_type_exception,
                    "Missing decimal fraction after decimal point");
    }
    const std::size_t places = dot == std::string_view::npos ? 0 : number.size() - dot - 1;
    auto symbol = Symbol::from_string(fmt::format("{},{}", places, trim(text.substr(space + 1))));
    if (!symbol) return base::fail(std::move(symbol).error());
    auto amount = parse_amount(number, *symbol);
    if (!amount) return base::fail(std::move(amount).error());
    return Asset{*amount, *symbol};
}

void encode(base::Writer& out, Symbol symbol) {
    out.u64(symbol.value);
}

void encode(base::Writer& out, const Asset& asset) {
    out.i64(asset.amount);
    encode(out, asset.symbol);
}

void decode(base::Reader& in, Symbol& symbol, std::string_view field) {
    symbol.value = in.u64(field);
    if (!in.ok()) return;
    if (auto valid = symbol.validate(); !valid) in.set_error(std::move(valid).error());
}

void decode(base::Reader& in, Asset& asset, std::string_view field) {
    asset.amount = in.i64(field);
    decode(in, asset.symbol, field);
    if (!in.ok()) return;
    if (auto valid = asset.validate(); !valid) in.set_error(std::move(valid).error());
}

}  // namespace chain
