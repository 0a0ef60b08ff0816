#pragma once

#include "cli/command.hpp"
#include "cli/http_client.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// --contract: the account that has the broker's contract.
[[nodiscard]] const Option& bps_contract_option();
// That, the options of a transaction, and the command's own.
[[nodiscard]] std::vector<Option> with_bps_options(std::vector<Option> own);
[[nodiscard]] std::string bps_contract(const Arguments& arguments);

// All rows of a table of the contract, as objects by its ABI, in their order.
[[nodiscard]] base::Result<Json> bps_rows(const Session& session,
                                          const Arguments& arguments,
                                          const std::string& scope,
                                          std::string_view table);
// Those of the contract's own scope.
[[nodiscard]] base::Result<Json> bps_rows(const Session& session,
                                          const Arguments& arguments,
                                          std::string_view table);
// The row of a topic. not_found.
[[nodiscard]] base::Result<Json> bps_topic(const Session& session,
                                           const Arguments& arguments,
                                           const std::string& name);
// One action of the contract by `actor`, or by -p.
[[nodiscard]] base::Result<void> send_bps(const Session& session,
                                          const Arguments& arguments,
                                          const std::string& action,
                                          const std::string& actor,
                                          const Json& data);
// Whole numbers, as typed. invalid: names the word and the range.
[[nodiscard]] base::Result<std::uint64_t> whole_number(std::string_view what,
                                                       const std::string& text,
                                                       std::uint64_t minimum,
                                                       std::uint64_t maximum);

// How long a delegation holds where nothing else is said, and until when one of today does.
inline constexpr std::uint64_t kDelegatedDays = 365;
[[nodiscard]] std::string delegated_until(std::uint64_t days);

// Tables of the other files.
void add_bps_topic_commands(std::vector<Command>& commands);
void add_bps_right_commands(std::vector<Command>& commands);
void add_bps_quota_commands(std::vector<Command>& commands);
void add_bps_token_commands(std::vector<Command>& commands);
void add_bps_produce_command(std::vector<Command>& commands);
void add_bps_consume_command(std::vector<Command>& commands);
void add_bps_group_commands(std::vector<Command>& commands);

}  // namespace cli
