#include "cli/command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// How many letters must be added, removed or changed to get from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t above = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row.back();
}

const Option* find_option(const std::vector<Option>& options, std::string_view word) {
    const auto found = std::ranges::find_if(options, [&](const Option& option) {
        return word.starts_with("--")
                   ? option.name == word.substr(2)
                   : option.letter != 0 && word == std::string{'-', option.letter};
    });
    return found == options.end() ? nullptr : &*found;
}

// A word that selects an option; "-1" and "-" are values.
bool looks_like_option(std::string_view word) {
    return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
}

std::string option_text(const Option& option) {
    std::string text = option.letter != 0 ? fmt::format("-{}, ", option.letter) : "    ";
    text += fmt::format("--{}", option.name);
    if (!option.value.empty()) text += fmt::format(" {}", option.value);
    return fmt::format("  {:<34} {}\n", text, option.help);
}

base::Result<void> take_option(const Option& option,
                               const std::vector<std::string>& words,
                               std::size_t& at,
                               std::optional<std::string> value,
                               Arguments& arguments) {
    if (option.value.empty()) {
        if (value) return fail(Errc::invalid, fmt::format("--{} takes no value", option.name));
        arguments.options.emplace(option.name, "");
        return {};
    }
    if (!value) {
        if (at + 1 >= words.size()) {
            return fail(Errc::invalid,
                        fmt::format("--{} needs a value: {}", option.name, option.value));
        }
        value = words[++at];
    }
    arguments.options.emplace(option.name, *std::move(value));
    return {};
}

base::Result<void> take_positionals(const Command& command,
                                    const std::vector<std::string>& values,
                                    Arguments& arguments) {
    std::size_t at = 0;
    for (const Positional& positional : command.positionals) {
        if (positional.repeated) {
            arguments.rest_.assign(values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
            at = values.size();
            if (arguments.rest_.empty() && !positional.optional) {
                return fail(Errc::invalid, fmt::format("missing: {}", positional.name));
            }
        } else if (at < values.size()) {
            arguments.positionals.emplace(positional.name, values[at++]);
        } else if (!positional.optional) {
            return fail(Errc::invalid,
                        fmt::format("missing: {} ({})", positional.name, positional.help));
        }
    }
    if (at < values.size()) {
        return fail(Errc::invalid, fmt::format("one word too many: '{}'", values[at]));
    }
    return {};
}

std::vector<std::string> split(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        words.emplace_back(text.substr(0, space));
        text.remove_prefix(std::min(space + 1, text.size()));
    }
    return words;
}

// How many words of `words` spell this command's name; 0: not this command.
std::size_t matched_words(const Command& command, const std::vector<std::string>& words) {
    const std::vector<std::string> name = split(command.name);
    if (words.size() < name.size()) return 0;
    return std::equal(name.begin(), name.end(), words.begin()) ? name.size() : 0;
}

void print_commands(std::string_view group) {
    for (const Command& command : all_commands()) {
        if (!command.name.starts_with(group)) continue;
        fmt::print("  {:<34} {}\n", command.name, command.help);
    }
}

void print_overview(std::string_view group) {
    if (group.empty()) {
        fmt::print(
            "bor-cli: everything a person does with BoR from a shell\n\n"
            "usage: bor-cli [options] command [arguments]\n\noptions:\n");
        for (const Option& option : global_options()) {
            fmt::print("{}", option_text(option));
        }
    }
    fmt::print("\ncommands (bor-cli COMMAND --help tells more):\n");
    print_commands(group);
}

int unknown_command(const std::vector<std::string>& words) {
    const std::string typed = fmt::format("{}", fmt::join(words, " "));
    const bool asks_help = words.back() == "--help" || words.back() == "-h";
    const auto end = asks_help ? words.end() - 1 : words.end();
    const std::string group = fmt::format("{} ", fmt::join(words.begin(), end, " "));
    bool is_group = false;
    std::vector<std::string> names;
    for (const Command& command : all_commands()) {
        is_group = is_group || command.name.starts_with(group);
        names.emplace_back(command.name);
    }
    if (is_group) {
        print_overview(group);
        return 0;
    }
    const std::string two = words.size() > 1 ? words[0] + " " + words[1] : words[0];
    std::string near = nearest(two, names);
    if (near.empty()) near = nearest(words[0], names);
    fmt::print(stderr,
               "bor-cli: unknown command '{}'{}\n",
               typed,
               near.empty() ? "; bor-cli --help lists them" : "; did you mean '" + near + "'?");
    return 2;
}

// Takes the global options out of the words, wherever they stand before "--".
base::Result<Arguments> take_globals(std::vector<std::string>& words) {
    Arguments globals;
    std::vector<std::string> left;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t equals =
            words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
        const Option* option = find_option(global_options(), words[i].substr(0, equals));
        // A letter may mean something else to the command itself: globals come first then.
        if (option == nullptr || (!left.empty() && !words[i].starts_with("--"))) {
            left.push_back(words[i]);
            continue;
        }
        const std::optional<std::string> value =
            equals == std::string::npos ? std::nullopt : std::optional(words[i].substr(equals + 1));
        if (auto taken = take_option(*option, words, i, value, globals); !taken) {
            return fail(std::move(taken).error());
        }
    }
    words = std::move(left);
    return globals;
}

int run_command(const Command& command,
                const Session& session,
                const std::vector<std::string>& words) {
    if (std::ranges::find(words, "--help") != words.end() ||
        std::ranges::find(words, "-h") != words.end()) {
        fmt::print("{}", help_text(command));
        return 0;
    }
    auto arguments = parse(command, words);
    if (!arguments) {
        fmt::print(stderr,
                   "bor-cli {}: {}\nusage and options: bor-cli {} --help\n",
                   command.name,
                   arguments.error().detail,
                   command.name);
        return 2;
    }
    Session adapted = session;
    adapted.json = session.json || arguments->has("json");
    base::Result<void> done;
    try {
        done = command.run(adapted, *arguments);
    } catch (const std::exception& error) {
        // JSON of another form than the API's: whatever answers there is no node of ours.
        done = fail(Errc::malformed, fmt::format("the answer is not understood: {}", error.what()));
    }
    if (done) return 0;
    fmt::print(stderr, "bor-cli {}: {}\n", command.name, done.error().detail);
    return 1;
}

}  // namespace

bool Arguments::has(std::string_view option) const {
    return options.find(option) != options.end();
}

std::string Arguments::get(std::string_view option, std::string_view fallback) const {
    const auto [first, last] = options.equal_range(option);
    return first == last ? std::string(fallback) : std::prev(last)->second;
}

std::vector<std::string> Arguments::all(std::string_view option) const {
    std::vector<std::string> values;
    const auto [first, last] = options.equal_range(option);
    for (auto at = first; at != last; ++at)
        values.push_back(at->second);
    return values;
}

base::Result<std::uint64_t> Arguments::number(std::string_view option,
                                              std::uint64_t fallback,
                                              std::uint64_t minimum,
                                              std::uint64_t maximum) const {
    const std::string text = get(option);
    if (text.empty() && !has(option)) return fallback;
    std::uint64_t value = 0;
    bool good = !text.empty() && text.size() <= 19;
    for (const char c : text) {
        good = good && c >= '0' && c <= '9';
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    if (good && value >= minimum && value <= maximum) return value;
    return fail(
        Errc::invalid,
        fmt::format(
            "--{} {}: a whole number from {} to {} is needed", option, text, minimum, maximum));
}

std::string Arguments::at(std::string_view positional) const {
    const auto found = positionals.find(positional);
    return found == positionals.end() ? "" : found->second;
}

const std::vector<Option>& global_options() {
    static const std::vector<Option> kOptions{
        {"url", 'u', "URL", "node to talk to: http://HOST:PORT or unix:///PATH"},
        {"wallet-url", 0, "URL", "wallet daemon, likewise"},
        {"dir", 0, "DIR", "a local network's folder: its node and wallet (network up)"},
        {"operator-token-file",
         0,
         "FILE",
         "token of the node's http-operator-token-file, for operator's commands over TCP"},
        {"json", 'j', "", "print JSON"},
    };
    return kOptions;
}

namespace {

base::Error unknown_option(const Command& command, const std::string& word) {
    std::vector<std::string> names;
    names.reserve(command.options.size());
    for (const Option& known : command.options)
        names.emplace_back(known.name);
    const std::string near = nearest(word.substr(word.find_first_not_of('-')), names);
    return {
        Errc::invalid,
        fmt::format(
            "unknown option '{}'{}", word, near.empty() ? "" : "; did you mean '--" + near + "'?")};
}

// Takes the option at words[i], and its value when that is the next word.
base::Result<void> parse_option(const Command& command,
                                const std::vector<std::string>& words,
                                std::size_t& i,
                                Arguments& arguments) {
    const std::string& word = words[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const Option* option = find_option(command.options, word.substr(0, equals));
    if (option == nullptr && word == "-j") {
        // As for cleos, it may also come after the command.
        arguments.options.emplace("json", "");
        return {};
    }
    if (option == nullptr) return fail(unknown_option(command, word));
    const std::optional<std::string> value =
        equals == std::string::npos ? std::nullopt : std::optional(word.substr(equals + 1));
    return take_option(*option, words, i, value, arguments);
}

}  // namespace

base::Result<Arguments> parse(const Command& command, const std::vector<std::string>& words) {
    Arguments arguments;
    std::vector<std::string> values;
    bool only_values = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string& word = words[i];
        if (word == "--" && !only_values) {
            only_values = true;
            continue;
        }
        if (only_values || !looks_like_option(word)) {
            values.push_back(word);
            continue;
        }
        if (auto taken = parse_option(command, words, i, arguments); !taken) {
            return fail(std::move(taken).error());
        }
    }
    if (auto taken = take_positionals(command, values, arguments); !taken) {
        return fail(std::move(taken).error());
    }
    return arguments;
}

std::string help_text(const Command& command) {
    std::string text = fmt::format("{}\n\nusage: bor-cli {}", command.help, command.name);
    for (const Positional& positional : command.positionals) {
        const std::string name =
            fmt::format("{}{}", positional.name, positional.repeated ? "..." : "");
        text += positional.optional ? fmt::format(" [{}]", name) : fmt::format(" {}", name);
    }
    text += command.options.empty() ? "\n" : " [options]\n";
    for (const Positional& positional : command.positionals) {
        text += fmt::format("  {:<34} {}\n", positional.name, positional.help);
    }
    if (!command.options.empty()) text += "\noptions:\n";
    for (const Option& option : command.options) {
        text += option_text(option);
    }
    return text;
}

std::string nearest(std::string_view name, const std::vector<std::string>& names) {
    std::string best;
    std::size_t best_distance = name.size() / 3 + 2;
    for (const std::string& candidate : names) {
        const std::size_t letters = distance(name, candidate);
        if (letters < best_distance) {
            best = candidate;
            best_distance = letters;
        }
    }
    return best;
}

std::vector<Command> all_commands() {
    std::vector<Command> commands;
    add_network_commands(commands);
    add_invite_command(commands);
    add_genesis_commands(commands);
    add_key_commands(commands);
    add_push_commands(commands);
    add_get_commands(commands);
    add_wallet_commands(commands);
    add_sign_commands(commands);
    add_bench_commands(commands);
    add_doctor_commands(commands);
    add_convert_commands(commands);
    add_multisig_commands(commands);
    add_system_commands(commands);
    add_member_commands(commands);
    add_net_commands(commands);
    add_proof_commands(commands);
    add_fork_proof_command(commands);
    add_recover_commands(commands);
    add_snapshot_commands(commands);
    add_archive_commands(commands);
    add_bps_commands(commands);
    add_completion_commands(commands);
    std::ranges::sort(commands, {}, &Command::name);
    return commands;
}

int run(const std::vector<std::string>& typed) {
    std::vector<std::string> words = typed;
    auto globals = take_globals(words);
    if (!globals) {
        fmt::print(stderr, "bor-cli: {}\n", globals.error().detail);
        return 2;
    }
    if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
        print_overview("");
        return words.empty() ? 2 : 0;
    }
    const std::vector<Command> commands = all_commands();
    const Command* best = nullptr;
    for (const Command& command : commands) {
        const std::size_t matched = matched_words(command, words);
        if (matched > (best == nullptr ? 0 : split(best->name).size())) best = &command;
    }
    if (best == nullptr) return unknown_command(words);
    auto session = make_session(*globals, best->name == "network up");
    if (!session) {
        fmt::print(stderr, "bor-cli: {}\n", session.error().detail);
        return 1;
    }
    const auto own = static_cast<std::ptrdiff_t>(split(best->name).size());
    return run_command(*best, *session, {words.begin() + own, words.end()});
}

}  // namespace cli
