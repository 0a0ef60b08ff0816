#include "cli/proof.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "consensus/certificate.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// A file of `proof get` or `fork-proof`. Only the packed proof in it is believed, when it holds.
base::Result<Json> read_answer(const std::string& path) {
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    auto json = chain::abi::parse_json(*text);
    const bool has_proof =
        json && json->is_object() && (json->contains("proof") || json->contains("fork_proof"));
    if (has_proof) return *std::move(json);
    return fail(Errc::malformed,
                fmt::format("{} is no file of 'bor-cli proof get' or 'bor-cli fork-proof'", path));
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

// One more link.
base::Result<void> add_link(const Json& packed,
                            const chain::CertificateCheck& check,
                            Followed& followed) {
    auto link = unpack_hex<chain::ScheduleLink>(packed, "link");
    if (!link) return fail(std::move(link).error());
    if (auto good = chain::check_link(*link, followed.schedule, check); !good) return good;
    followed.schedule = *link->proposing.schedule_change;
    followed.links.push_back(packed);
    return {};
}

base::Result<void> proof_get(const Session& session, const Arguments& arguments) {
    const auto genesis = genesis_of(session, arguments);
    if (!genesis && arguments.has("genesis")) return fail(genesis.error());
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
    // Without the genesis file there is nothing to check links with: all must fit in one proof.
    Json links = Json::array();
    if (genesis) {
        auto followed = follow_links(session.url, *genesis);
        if (!followed) return fail(std::move(followed).error());
        body["trusted"] = followed->schedule.version;
        links = std::move(followed->links);
    }
    auto answer = call(session.url, "/v1/bor/proof", body);
    if (!answer) return fail(answer.error());
    (*answer)["links"] = std::move(links);
    const std::string file = arguments.get("file");
    if (file.empty()) return print_json(*answer);
    if (auto done = write_file(file, chain::abi::dump_json(*answer, 2) + "\n"); !done) return done;
    fmt::print(
        "saved to {}; check it with: bor-cli proof verify {} --genesis GENESIS\n", file, file);
    return {};
}

base::Result<void> proof_verify(const Session& session, const Arguments& arguments) {
    const auto genesis = genesis_of(session, arguments);
    if (!genesis) return fail(genesis.error());
    const auto answer = read_answer(arguments.at("file"));
    if (!answer) return fail(answer.error());
    const chain::ChainId chain_id = genesis->chain_id();
    const auto followed = follow_links(*answer, *genesis);
    if (!followed) return fail(followed.error());
    const auto refuse = [](const base::Error& error) {
        return fail(Errc::invalid, fmt::format("the proof does not hold: {}", error.detail));
    };
    if (answer->contains("fork_proof")) {
        const auto fork = unpack_member<chain::ForkProof>(*answer, "fork_proof");
        if (!fork) return fail(fork.error());
        const auto text = describe_fork(*fork, followed->schedule, chain_id);
        if (!text) return refuse(text.error());
        fmt::print("proved: {}", *text);
        return {};
    }
    const auto proof = unpack_member<chain::Proof>(*answer, "proof");
    if (!proof) return fail(proof.error());
    auto good = chain::verify(*proof, followed->schedule, certificate_check(chain_id));
    if (!good) return refuse(good.error());
    fmt::print("proved: {} is final on chain {}\n",
               subject_of(*proof),
               base::to_hex(chain_id.view()).substr(0, 16));
    return {};
}

}  // namespace

base::Result<genesis::Genesis> genesis_of(const Session& session, const Arguments& arguments) {
    const std::string path = arguments.get("genesis", session.dir + "/genesis.json");
    const auto text = read_file(path);
    if (!text) {
        return fail(text.error().code,
                    fmt::format("the genesis file of the chain is needed: {}; name it with "
                                "--genesis FILE, or its network's folder with --dir DIR",
                                text.error().detail));
    }
    auto genesis = genesis::from_json(*text);
    if (!genesis) return fail(genesis.error().code, path + ": " + genesis.error().detail);
    return genesis;
}

chain::CertificateCheck certificate_check(const chain::ChainId& chain_id) {
    return
        [chain_id](const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
            return consensus::verify(certificate, schedules, chain_id);
        };
}

base::Result<Followed> follow_links(const std::string& url,
                                    const genesis::Genesis& genesis,
                                    std::optional<std::uint32_t> last) {
    Followed followed{.schedule = genesis.schedule};
    const auto check = certificate_check(genesis.chain_id());
    while (true) {
        const std::uint32_t before = followed.schedule.version;
        const auto part = call(url, "/v1/bor/proof", Json{{"links", true}, {"trusted", before}});
        if (!part) return fail(part.error());
        for (const Json& packed : list_of(*part, "links")) {
            if (last && followed.schedule.version >= *last) return followed;
            if (auto good = add_link(packed, check, followed); !good) return fail(good.error());
        }
        if (followed.schedule.version == before) return followed;
    }
}

base::Result<Followed> follow_links(const Json& file, const genesis::Genesis& genesis) {
    Followed followed{.schedule = genesis.schedule};
    const Json* links = chain::abi::find_member(file, "links");
    if (links == nullptr) return followed;
    if (!links->is_array()) return fail(Errc::malformed, "links: is no list");
    const auto check = certificate_check(genesis.chain_id());
    for (const Json& packed : *links) {
        if (auto good = add_link(packed, check, followed); !good) {
            return fail(Errc::invalid,
                        fmt::format("the proof does not hold: {}", good.error().detail));
        }
    }
    return followed;
}

void add_proof_commands(std::vector<Command>& commands) {
    commands.push_back(
        {"proof get",
         "Get the proof that a transaction, an action or a block is final",
         {{"what", "a transaction's id, or a block's number or id"}},
         {{"block", 0, "", "the id is that of a block"},
          {"action", 0, "NUMBER", "of the transaction's action with this number, from 1 on"},
          {"file", 'f', "FILE", "write it there"},
          {"genesis", 0, "FILE", "genesis file of the chain (default: that of --dir)"}},
         proof_get});
    commands.push_back(
        {"proof verify",
         "Check a proof without asking anybody",
         {{"file", "of 'proof get' or 'fork-proof'"}},
         {{"genesis", 0, "FILE", "genesis file of the chain (default: that of --dir)"}},
         proof_verify});
}

}  // namespace cli
