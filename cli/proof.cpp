#include "chain/state/proof.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "consensus/certificate.hpp"
#include "genesis/genesis.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// A file of `proof get`: the node's answer. Only its member `proof` is believed, when it holds.
base::Result<chain::Proof> read_proof(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    const auto json = chain::abi::parse_json(*text);
    const Json* packed = json ? chain::abi::find_member(*json, "proof") : nullptr;
    if (packed == nullptr || !packed->is_string()) {
        return fail(Errc::malformed, fmt::format("{} is no file of 'bor-cli proof get'", path));
    }
    const auto bytes = chain::abi::bytes_from_hex(packed->get<std::string>());
    if (!bytes) return fail(bytes.error());
    return chain::unpack<chain::Proof>(*bytes, "proof");
}

std::string subject_of(const chain::Proof& proof) {
    std::string block = fmt::format(
        "block {} ({})", proof.header.height, base::to_hex(proof.header.id().view()).substr(0, 16));
    if (proof.transaction) {
        const auto* packed = std::get_if<chain::PackedTransaction>(&proof.transaction->transaction);
        auto decoded = packed == nullptr ? base::Result<chain::TransactionPtr>(
                                               fail(Errc::malformed, "a transaction by its id"))
                                         : chain::decode_transaction(*packed);
        const std::string id = decoded ? base::to_hex((*decoded)->id.view()) : "(unreadable)";
        return fmt::format("transaction {} in {}", id, block);
    }
    if (proof.action) {
        return fmt::format("an action of {} in {}", proof.action->receiver.to_string(), block);
    }
    return block;
}

base::Result<void> proof_get(const Session& session, const Arguments& arguments) {
    const std::string what = arguments.at("what");
    Json body;
    constexpr std::size_t kIdDigits = 64;
    if (what.size() == kIdDigits && !arguments.has("block")) {
        body["transaction_id"] = what;
        const auto action = arguments.number("action", 0, 1, UINT32_MAX);
        if (arguments.has("action")) {
            if (!action) return fail(action.error());
            body["action"] = *action;
        }
    } else {
        body["block_num_or_id"] = what;
    }
    const auto answer = call(session.url, "/v1/bor/proof", body);
    if (!answer) return fail(answer.error());
    const std::string file = arguments.get("file");
    if (file.empty()) return print_json(*answer);
    if (auto done = write_file(file, chain::abi::dump_json(*answer, 2) + "\n"); !done) return done;
    fmt::print(
        "saved to {}; check it with: bor-cli proof verify {} --genesis GENESIS\n", file, file);
    return {};
}

base::Result<void> proof_verify(const Session& session, const Arguments& arguments) {
    const std::string path = arguments.get("genesis", session.dir + "/genesis.json");
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    const auto genesis = genesis::from_json(*text);
    if (!genesis) return fail(genesis.error());
    const auto proof = read_proof(arguments.at("file"));
    if (!proof) return fail(proof.error());
    const chain::ChainId chain_id = genesis->chain_id();
    const auto check = [&](const chain::Certificate& certificate,
                           const chain::ScheduleState& schedules) {
        return consensus::verify(certificate, schedules, chain_id);
    };
    if (auto good = chain::verify(*proof, genesis->schedule, check); !good) {
        return fail(Errc::invalid, fmt::format("the proof does not hold: {}", good.error().detail));
    }
    fmt::print("proved: {} is final on chain {}\n",
               subject_of(*proof),
               base::to_hex(chain_id.view()).substr(0, 16));
    return {};
}

}  // namespace

void add_proof_commands(std::vector<Command>& commands) {
    commands.push_back(
        {"proof get",
         "Get the proof that a transaction, an action or a block is final",
         {{"what", "a transaction's id, or a block's number or id"}},
         {{"block", 0, "", "the id is that of a block"},
          {"action", 0, "NUMBER", "of the transaction's action with this number, from 1 on"},
          {"file", 'f', "FILE", "write it there"}},
         proof_get});
    commands.push_back(
        {"proof verify",
         "Check a proof without asking anybody",
         {{"file", "of 'proof get'"}},
         {{"genesis", 0, "FILE", "genesis file of the chain (default: that of --dir)"}},
         proof_verify});
}

}  // namespace cli
