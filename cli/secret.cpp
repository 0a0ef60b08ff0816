#include "cli/secret.hpp"

#include "cli/files.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <termios.h>
#include <unistd.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// Switches the terminal's echo off while it lives.
class NoEcho {
  public:
    NoEcho() {
        if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
    }
    ~NoEcho() {
        if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

  private:
    termios before_{};
    bool changed_ = false;
};

std::string first_line(const std::string& text) {
    const std::string line = text.substr(0, text.find_first_of("\r\n"));
    // What `wallet create --file` and `create key --file` write.
    constexpr std::string_view kKeyLabel = "Private key: ";
    return line.starts_with(kKeyLabel) ? line.substr(kKeyLabel.size()) : line;
}

std::string read_line(const std::string& prompt) {
    std::string line;
    if (::isatty(STDIN_FILENO) == 0) {
        std::getline(std::cin, line);
        return first_line(line);
    }
    fmt::print(stderr, "{}: ", prompt);
    {
        const NoEcho silent;
        std::getline(std::cin, line);
    }
    fmt::print(stderr, "\n");
    return first_line(line);
}

}  // namespace

Option secret_option(std::string_view name, std::string_view what) {
    return {name, 0, "FILE", what};
}

base::Result<std::string> read_secret(const Arguments& arguments,
                                      std::string_view option,
                                      const std::string& prompt) {
    const std::string file = arguments.get(option);
    std::string secret;
    if (file.empty() || file == "-") {
        secret = read_line(prompt);
    } else {
        const auto contents = read_file(file);
        if (!contents) return fail(contents.error());
        secret = first_line(*contents);
    }
    if (!secret.empty()) return secret;
    return fail(
        Errc::invalid,
        fmt::format(
            "no {}: type it, give it on standard input, or name a file with --{}", prompt, option));
}

}  // namespace cli
