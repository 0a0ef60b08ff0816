#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/abi/transaction_json.hpp"
#include "chain/types/transaction.hpp"
#include "cli/command.hpp"
#include "cli/http_client.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The options of every command that makes a transaction, as cleos has them.
[[nodiscard]] const std::vector<Option>& transaction_options();
// Those and the command's own.
[[nodiscard]] std::vector<Option> with_transaction_options(std::vector<Option> own);

// Finds ABIs by asking the node, once for each account.
[[nodiscard]] chain::abi::Resolver node_resolver(const Session& session);
// Why that found none: the node does not answer, or there is none; then with `remedy` behind.
[[nodiscard]] base::Error no_abi(const Session& session,
                                 const std::string& account,
                                 std::string_view remedy);

// "alice@active" or "alice" (then active).
[[nodiscard]] base::Result<chain::PermissionLevel> permission_from(const std::string& text);
// Those of -p; `fallback`, likewise texts, when there are none.
[[nodiscard]] base::Result<std::vector<chain::PermissionLevel>> permissions_from(
    const Arguments& arguments, const std::vector<std::string>& fallback = {});

// An action whose data is JSON for the ABI of `account` (inline, or @FILE), or hexadecimal.
[[nodiscard]] base::Result<chain::Action> make_action(
    const Session& session,
    const std::string& account,
    const std::string& name,
    const std::string& data,
    std::vector<chain::PermissionLevel> authorization);
[[nodiscard]] base::Result<chain::Action> make_action(
    const Session& session,
    const std::string& account,
    const std::string& name,
    const Json& data,
    std::vector<chain::PermissionLevel> authorization);

struct ActionName {
    std::string account;
    std::string name;
};

// Completes, signs with the wallet and sends these actions as the options say, and prints what
// happened: the trace with -j, else a line for each action.
[[nodiscard]] base::Result<void> send_actions(const Session& session,
                                              const Arguments& arguments,
                                              std::vector<chain::Action> actions);
// The same for one action with the permissions of -p, or else of `actor`.
[[nodiscard]] base::Result<void> send_action(const Session& session,
                                             const Arguments& arguments,
                                             const ActionName& action,
                                             const std::string& actor,
                                             const Json& data);
// The same for a transaction whose header is set where it is not zero.
[[nodiscard]] base::Result<void> send_transaction(const Session& session,
                                                  const Arguments& arguments,
                                                  chain::SignedTransaction transaction);

// Completes these actions, signs with these keys of the wallet, an array of texts, and sends them;
// prints nothing. Fails as the node or a contract refuses them.
[[nodiscard]] base::Result<void> send_quietly(const Session& session,
                                              const Json& keys,
                                              std::vector<chain::Action> actions);

// Replaces the signatures by those of the wallet's `keys`, an array of public keys as texts.
[[nodiscard]] base::Result<void> wallet_sign(const Session& session,
                                             const Json& keys,
                                             const std::string& chain_id,
                                             chain::SignedTransaction& transaction);

// Why what is sent now may come into no block, as get_info tells: the head is old, or what is final
// is far behind it. Empty: neither.
[[nodiscard]] std::string halted_text(const Json& info, chain::TimePoint now);

// Sends it as it is and prints what happened.
[[nodiscard]] base::Result<void> push_packed(const Session& session,
                                             const chain::PackedTransaction& packed);

// JSON given on the command line: the text itself, or the file named after '@' or as a path.
[[nodiscard]] base::Result<Json> json_argument(const std::string& text);

// The positional `transaction`, given as JSON; of any_..., packed or not.
[[nodiscard]] base::Result<chain::SignedTransaction> transaction_argument(
    const Session& session, const Arguments& arguments);
[[nodiscard]] base::Result<chain::SignedTransaction> any_transaction_argument(
    const Session& session, const Arguments& arguments);
// What a packed transaction in JSON has in it.
[[nodiscard]] base::Result<chain::SignedTransaction> unpacked(const Session& session,
                                                              const Json& json);

}  // namespace cli
