#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

// The figures of one run, in the order in which they are shown.
//
// As a table for people, or as one line of JSON for programs.
class Report {
  public:
    explicit Report(std::string_view benchmark);

    // A figure; `goal` is what it must not exceed, 0: there is none.
    void add(std::string_view name, double value, std::string_view unit, double goal = 0);
    void print(bool json) const;

  private:
    struct Figure {
        std::string name;
        double value;
        std::string unit;
        double goal;
    };

    std::string benchmark_;
    std::vector<Figure> figures_;
};

// Ends the program with a text when something that a benchmark needs goes wrong.
[[noreturn]] void give_up(std::string_view text);

// "--name value" of a command line; `fallback` when it is not there.
class Arguments {
  public:
    Arguments(int argc, char** argv) : words_(argv + 1, argv + argc) {}

    [[nodiscard]] bool has(std::string_view name) const;
    [[nodiscard]] std::string text(std::string_view name, std::string_view fallback) const;
    // Ends the program with a message when the word is no number.
    [[nodiscard]] unsigned long number(std::string_view name, unsigned long fallback) const;
    // Ends the program with `usage` when a word is none of these names, or help is asked for.
    void expect(const std::vector<std::string_view>& names, std::string_view usage) const;

  private:
    std::vector<std::string> words_;
};

}  // namespace bench
