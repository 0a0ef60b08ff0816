#pragma once

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// One option of a command. `name` is what follows "--"; `letter` follows "-", 0: none.
struct Option {
    std::string_view name;
    char letter = 0;
    std::string_view value;  // What its argument is, for --help; empty: a switch.
    std::string_view help;
};

// An argument by position; the last may take all that are left.
struct Positional {
    std::string_view name;
    std::string_view help;
    bool optional = false;
    bool repeated = false;
};

// What was typed, taken apart. Options may come several times.
class Arguments {
  public:
    [[nodiscard]] bool has(std::string_view option) const;
    // The last value given; `fallback` when the option is not there.
    [[nodiscard]] std::string get(std::string_view option, std::string_view fallback = "") const;
    [[nodiscard]] std::vector<std::string> all(std::string_view option) const;
    // invalid: no whole number within the range; names the option, the value and the range.
    [[nodiscard]] base::Result<std::uint64_t> number(std::string_view option,
                                                     std::uint64_t fallback,
                                                     std::uint64_t minimum,
                                                     std::uint64_t maximum) const;
    // A positional by name; empty when it is not there.
    [[nodiscard]] std::string at(std::string_view positional) const;
    // All of a repeated positional.
    [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }

    std::multimap<std::string, std::string, std::less<>> options;
    std::map<std::string, std::string, std::less<>> positionals;
    std::vector<std::string> rest_;
};

// What a command needs besides its arguments, made from the global options.
struct Session {
    std::string url = "http://127.0.0.1:8888";  // Or unix:///path.
    std::string operator_url{};    // For operator's calls: the node's Unix socket, else `url`.
    std::string operator_token{};  // Over TCP these need it; empty: none was given.
    std::string wallet_url;
    bool names_wallet = false;        // An option does, or the network's file.
    std::string dir = "bor-network";  // A local network's folder.
    bool json = false;
};

// A command of bor-cli: its name is the words that select it, "get account".
struct Command {
    std::string_view name;
    std::string_view help;
    std::vector<Positional> positionals;
    std::vector<Option> options;
    // Prints its result to standard output.
    base::Result<void> (*run)(const Session& session, const Arguments& arguments);
};

// The session that the global options ask for. With --dir, the network's node and wallet.
// not_found: there is no network in --dir, and the command is not one that makes it. With another
// code, too: --operator-token-file has no token.
[[nodiscard]] base::Result<Session> make_session(const Arguments& globals, bool makes_network);

// Every command, by name. Filled from one table a file: the functions below.
[[nodiscard]] std::vector<Command> all_commands();

// Runs a command line without the program's name. Exit status: 0 done, 1 failed (the reason is
// on standard error), 2 the command line is wrong.
[[nodiscard]] int run(const std::vector<std::string>& words);

// The name in `names` with the fewest letters to change; empty when all are too far.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& names);

// Options that come before the command (or anywhere), as cleos has them.
[[nodiscard]] const std::vector<Option>& global_options();

// Takes the words after a command's name apart. invalid: names the word that is wrong.
[[nodiscard]] base::Result<Arguments> parse(const Command& command,
                                            const std::vector<std::string>& words);
[[nodiscard]] std::string help_text(const Command& command);

// The tables, one for each file.
void add_network_commands(std::vector<Command>& commands);
void add_invite_command(std::vector<Command>& commands);
void add_genesis_commands(std::vector<Command>& commands);
void add_key_commands(std::vector<Command>& commands);
void add_push_commands(std::vector<Command>& commands);
void add_get_commands(std::vector<Command>& commands);
void add_wallet_commands(std::vector<Command>& commands);
void add_sign_commands(std::vector<Command>& commands);
void add_bench_commands(std::vector<Command>& commands);
void add_doctor_commands(std::vector<Command>& commands);
void add_convert_commands(std::vector<Command>& commands);
void add_multisig_commands(std::vector<Command>& commands);
void add_system_commands(std::vector<Command>& commands);
void add_member_commands(std::vector<Command>& commands);
void add_net_commands(std::vector<Command>& commands);
void add_proof_commands(std::vector<Command>& commands);
void add_fork_proof_command(std::vector<Command>& commands);
void add_recover_commands(std::vector<Command>& commands);
void add_snapshot_commands(std::vector<Command>& commands);
void add_archive_commands(std::vector<Command>& commands);
void add_bps_commands(std::vector<Command>& commands);
void add_completion_commands(std::vector<Command>& commands);

}  // namespace cli
