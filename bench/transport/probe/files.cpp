#include "bench/transport/probe/files.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

namespace probe {

namespace fs = std::filesystem;

namespace {

std::string_view trim(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r\n";
    const auto begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

}  // namespace

std::string line_of(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return std::string(trim(line));
}

std::optional<std::string> value_of(const fs::path& file, std::string_view label) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(label)) {
            return std::string(trim(std::string_view(line).substr(label.size())));
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> number_at(std::string_view text, int base) {
    if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (read.ec != std::errc()) return std::nullopt;
    return value;
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> out;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
        out.push_back(at->path().filename());
    std::ranges::sort(out, [](const std::string& a, const std::string& b) {
        const auto x = number_at(a);
        const auto y = number_at(b);
        return x && y ? *x < *y : a < b;
    });
    return out;
}

std::string mebibytes(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    if (bytes % kMebibyte == 0) return std::to_string(bytes / kMebibyte) + " MiB";
    return std::to_string(bytes / 1024) + " KiB";
}

}  // namespace probe
