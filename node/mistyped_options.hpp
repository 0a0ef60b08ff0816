#pragma once

#include <boost/program_options/parsers.hpp>

#include <optional>
#include <string>

namespace node {

// What was typed and Boost would take for something else, or name by none of its words.
struct Mistyped {
    std::string option;  // Empty: the word belongs to none.
    std::string text;    // What is wrong with it.
};

// A number below zero for an option that has none such, of which Boost makes a huge one; or a word
// of the command line that no option takes.
[[nodiscard]] std::optional<Mistyped> find_mistyped(
    const boost::program_options::parsed_options& parsed);

}  // namespace node
