#include "bench/ledger/report.hpp"

#include "bench/ledger/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace bench {

Report::Report(std::string_view benchmark) : benchmark_(benchmark) {}

void Report::add(std::string_view name, double value, std::string_view unit, double goal) {
    figures_.push_back({std::string(name), value, std::string(unit), goal});
}

void Report::print(bool json) const {
    if (json) {
        std::string text = fmt::format(R"({{"benchmark":"{}","commit":"{}","load":{:.2f})",
                                       benchmark_,
                                       commit(),
                                       load_average());
        for (const Figure& figure : figures_) {
            text += fmt::format(R"(,"{} [{}]":{:.6g})", figure.name, figure.unit, figure.value);
        }
        fmt::print("{}}}\n", text);
        return;
    }
    fmt::print("{}: commit {}, load {:.2f}\n", benchmark_, commit(), load_average());
    for (const Figure& figure : figures_) {
        fmt::print("  {:<44} {:>12.4g} {:<12}", figure.name, figure.value, figure.unit);
        if (figure.goal > 0) {
            fmt::print(
                " goal {:.4g}: {}", figure.goal, figure.value <= figure.goal ? "met" : "MISSED");
        }
        fmt::print("\n");
    }
}

void give_up(std::string_view text) {
    fmt::print(stderr, "benchmark failed: {}\n", text);
    std::_Exit(1);
}

bool Arguments::has(std::string_view name) const {
    return std::ranges::find(words_, name) != words_.end();
}

std::string Arguments::text(std::string_view name, std::string_view fallback) const {
    const auto found = std::ranges::find(words_, name);
    if (found == words_.end() || found + 1 == words_.end()) return std::string(fallback);
    return found[1];
}

unsigned long Arguments::number(std::string_view name, unsigned long fallback) const {
    const std::string word = text(name, "");
    if (word.empty()) return fallback;
    unsigned long value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), end, value);
    if (error == std::errc() && rest == end) return value;
    fmt::print(stderr, "{} must be a whole number of 0 or more, not {}\n", name, word);
    std::exit(2);
}

void Arguments::expect(const std::vector<std::string_view>& names, std::string_view usage) const {
    for (const std::string& word : words_) {
        if (!word.starts_with("--") || std::ranges::find(names, word) != names.end()) continue;
        fmt::print(stderr, "{}\n", usage);
        std::exit(word == "--help" ? 0 : 2);
    }
}

}  // namespace bench
