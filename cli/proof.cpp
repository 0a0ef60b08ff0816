#include "cli/proof.hpp"

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/recoveries.hpp"
#include "consensus/certificate.hpp"
#include "node/snapshots/recovery_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

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

// A step of the votes is packed text; that of a recovery is an object with it.
base::Result<chain::Link> read_link(const Json& packed) {
    if (packed.is_object()) {
        auto recovery = unpack_member<chain::RecoveryLink>(packed, "recovery");
        if (!recovery) return fail(std::move(recovery).error());
        return chain::Link(*std::move(recovery));
    }
    auto step = unpack_hex<chain::ScheduleLink>(packed, "link");
    if (!step) return fail(std::move(step).error());
    return chain::Link(*std::move(step));
}

// One more link.
base::Result<void> add_link(const Json& packed, Followed& followed) {
    const auto link = read_link(packed);
    if (!link) {
        return fail(
            Errc::malformed,
            fmt::format(
                "link from schedule {}: {}", followed.schedule().version, link.error().detail));
    }
    if (auto taken = followed.walk.take(*link); !taken) return taken;
    followed.links.push_back(packed);
    return {};
}

tl::unexpected<base::Error> refuse(const base::Error& error) {
    return fail(Errc::invalid, fmt::format("the proof does not hold: {}", error.detail));
}

// Without the genesis file there is nothing to check links with.
base::Result<std::optional<genesis::Trust>> trust_if_known(const Session& session,
                                                           const Arguments& arguments) {
    const auto genesis = genesis_of(session, arguments);
    const bool is_needed =
        arguments.has("genesis") || arguments.has("recover-from") || arguments.has("recovery");
    if (!genesis && is_needed) return fail(genesis.error());
    if (!genesis) return std::nullopt;
    auto trust = trust_of(*genesis, arguments);
    if (!trust) return fail(std::move(trust).error());
    return *std::move(trust);
}

base::Result<Followed> follow_all(const std::string& url, const genesis::Trust& trust) {
    auto followed = follow_links(url, trust);
    if (!followed) return followed;
    if (auto whole = followed->walk.check_complete(); !whole) return fail(whole.error());
    return followed;
}

base::Result<void> proof_get(const Session& session, const Arguments& arguments) {
    const auto trust = trust_if_known(session, arguments);
    if (!trust) return fail(trust.error());
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
    // Where no links are followed all must fit in one proof.
    Followed followed{.walk = genesis::LinkWalk({})};
    if (*trust) {
        auto all = follow_all(session.url, **trust);
        if (!all) return fail(std::move(all).error());
        followed = *std::move(all);
        body["trusted"] = followed.schedule().version;
    }
    auto answer = call(session.url, "/v1/bor/proof", body);
    if (!answer) return fail(answer.error());
    (*answer)["links"] = followed.links;
    const std::string file = arguments.get("file");
    if (file.empty()) return print_json(*answer);
    if (auto done = write_file(file, chain::abi::dump_json(*answer, 2) + "\n"); !done) return done;
    fmt::print("saved to {}; check it with: {}\n", file, how_to_check(file, followed));
    return {};
}

base::Result<void> proof_verify(const Session& session, const Arguments& arguments) {
    const auto genesis = genesis_of(session, arguments);
    if (!genesis) return fail(genesis.error());
    const auto answer = read_answer(arguments.at("file"));
    if (!answer) return fail(answer.error());
    const auto trust = trust_of(*genesis, arguments);
    if (!trust) return fail(trust.error());
    const chain::ChainId chain_id = trust->chain_id;
    const auto followed = follow_links(*answer, *trust);
    if (!followed) return fail(followed.error());
    if (answer->contains("fork_proof")) {
        const auto fork = unpack_member<chain::ForkProof>(*answer, "fork_proof");
        if (!fork) return fail(fork.error());
        const auto text = describe_fork(*fork, followed->schedule(), chain_id);
        if (!text) return refuse(text.error());
        fmt::print("proved: {}", *text);
        return {};
    }
    const auto proof = unpack_member<chain::Proof>(*answer, "proof");
    if (!proof) return fail(proof.error());
    if (auto whole = followed->walk.check_complete(); !whole) return refuse(whole.error());
    auto good = chain::verify(*proof, followed->schedule(), certificate_check(chain_id));
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

base::Result<genesis::Trust> trust_of(const genesis::Genesis& genesis, const Arguments& arguments) {
    auto recoveries = recoveries_of(arguments);
    if (!recoveries) return fail(std::move(recoveries).error());
    genesis::Trust trust{.chain_id = genesis.chain_id(),
                         .schedule = genesis.schedule,
                         .recoveries = std::move(recoveries->ids)};
    if (auto taken = node::take_recovery_files(trust, recoveries->files); !taken) {
        return fail(std::move(taken).error());
    }
    return trust;
}

chain::CertificateCheck certificate_check(const chain::ChainId& chain_id) {
    return
        [chain_id](const chain::Certificate& certificate, const chain::ScheduleState& schedules) {
            return consensus::verify(certificate, schedules, chain_id);
        };
}

base::Result<Followed> follow_links(const std::string& url,
                                    const genesis::Trust& trust,
                                    std::optional<std::uint32_t> last) {
    Followed followed{.walk = genesis::LinkWalk(trust)};
    while (true) {
        const std::uint32_t before = followed.schedule().version;
        const auto part = call(url, "/v1/bor/proof", Json{{"links", true}, {"trusted", before}});
        if (!part) return fail(part.error());
        for (const Json& packed : list_of(*part, "links")) {
            if (last && followed.schedule().version >= *last) return followed;
            if (auto good = add_link(packed, followed); !good) return fail(good.error());
        }
        if (followed.schedule().version == before) return followed;
    }
}

base::Result<Followed> follow_links(const Json& file, const genesis::Trust& trust) {
    Followed followed{.walk = genesis::LinkWalk(trust)};
    const Json* links = chain::abi::find_member(file, "links");
    if (links == nullptr) return followed;
    if (!links->is_array()) return fail(Errc::malformed, "links: is no list");
    for (const Json& packed : *links) {
        if (auto good = add_link(packed, followed); !good) return refuse(good.error());
    }
    return followed;
}

std::string how_to_check(const std::string& file, const Followed& followed) {
    std::string words = fmt::format("bor-cli proof verify {} --genesis GENESIS", file);
    for (const genesis::Recovery& each : followed.walk.recoveries())
        words += " --recover-from " + base::to_hex(each.id().view());
    return words;
}

void add_proof_commands(std::vector<Command>& commands) {
    const Option genesis{
        "genesis", 0, "FILE", "genesis file of the chain (default: that of --dir)"};
    std::vector<Option> wanted{
        {"block", 0, "", "the id is that of a block"},
        {"action", 0, "NUMBER", "of the transaction's action with this number, from 1 on"},
        {"file", 'f', "FILE", "write it there"},
        genesis};
    std::vector<Option> checked{genesis};
    for (std::vector<Option>* options : {&wanted, &checked})
        std::ranges::copy(recovery_options(), std::back_inserter(*options));
    commands.push_back({"proof get",
                        "Get the proof that a transaction, an action or a block is final",
                        {{"what", "a transaction's id, or a block's number or id"}},
                        wanted,
                        proof_get});
    commands.push_back({"proof verify",
                        "Check a proof without asking anybody",
                        {{"file", "of 'proof get' or 'fork-proof'"}},
                        checked,
                        proof_verify});
}

}  // namespace cli
