#include "cli/files.hpp"
#include "cli/output.hpp"
#include "cli/proof.hpp"
#include "cli/recoveries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

// Two nodes may hold two final branches of one chain only where more validators than tolerated
// broke the rules. From what both serve, the proof of it (spec 04, "Evidence").

namespace cli {

namespace {

using base::Errc;
using base::fail;
using chain::Height;

// Of each side: certificates close to the fork convict, whatever came later.
constexpr std::size_t kBlocksMax = 4'096;

struct Side {
    std::string url;
    Height earliest = 1;  // Of the final blocks that the node has.
    Height last = 0;
    chain::Proof proof;
    chain::ForkBranch branch;

    [[nodiscard]] base::Error error(const base::Error& error) const {
        return {error.code, url + ": " + error.detail};
    }
};

// Final blocks from a height on, at least one, with ids that are those of their headers.
base::Result<std::vector<chain::BlockPtr>> fetch(const Side& side, Height from, std::size_t limit) {
    const auto answer = call(side.url, "/v1/bor/headers", Json{{"from", from}, {"limit", limit}});
    if (!answer) return fail(side.error(answer.error()));
    std::vector<chain::BlockPtr> blocks;
    for (const Json& each : list_of(*answer, "headers")) {
        const auto bytes = chain::abi::bytes_from_hex(text_of(each, "packed"));
        if (!bytes) return fail(side.error(bytes.error()));
        auto block = chain::decode_block(*bytes);
        if (!block) return fail(side.error(block.error()));
        const Height height = from + static_cast<Height>(blocks.size());
        if ((*block)->header.height != height) {
            return fail(side.error({Errc::malformed, fmt::format("block {} is missing", height)}));
        }
        blocks.push_back(*std::move(block));
    }
    if (blocks.empty()) {
        return fail(side.error({Errc::not_found, fmt::format("no final block {}", from)}));
    }
    return blocks;
}

base::Result<chain::BlockId> id_at(const Side& side, Height height) {
    auto blocks = fetch(side, height, 1);
    if (!blocks) return fail(std::move(blocks).error());
    return blocks->front()->id;
}

base::Result<Side> look_at(const std::string& url, const chain::ChainId& chain_id) {
    Side side{.url = url, .proof = {}, .branch = {}};
    const auto info = call(url, "/v1/chain/get_info", Json());
    if (!info) return fail(side.error(info.error()));
    const auto theirs = hash_of(*info, "chain_id");
    if (!theirs) return fail(side.error(theirs.error()));
    if (*theirs != chain_id) {
        return fail(side.error({Errc::invalid,
                                fmt::format("is on chain {}, the genesis file is of chain {}",
                                            base::to_hex(theirs->view()),
                                            base::to_hex(chain_id.view()))}));
    }
    side.last = static_cast<Height>(number_of(*info, "last_irreversible_block_num"));
    const auto held = call(url, "/v1/bor/headers", Json{{"from", side.last}, {"limit", 1}});
    if (!held) return fail(side.error(held.error()));
    side.earliest = static_cast<Height>(number_of(*held, "earliest"));
    return side;
}

// The first height at which both have final blocks that differ; 0: they agree.
base::Result<Height> find_fork(const Side& first, const Side& second) {
    const auto differ = [&](Height height) -> base::Result<bool> {
        const auto a = id_at(first, height);
        if (!a) return fail(a.error());
        const auto b = id_at(second, height);
        if (!b) return fail(b.error());
        return *a != *b;
    };
    Height low = std::max(first.earliest, second.earliest);
    Height high = std::min(first.last, second.last);
    if (low > high) {
        return fail(Errc::not_found,
                    fmt::format("they hold no common height: {} has final blocks {} to {}, {} has "
                                "{} to {}",
                                first.url,
                                first.earliest,
                                first.last,
                                second.url,
                                second.earliest,
                                second.last));
    }
    const auto at_top = differ(high);
    if (!at_top) return fail(at_top.error());
    if (!*at_top) return Height{0};
    // Blocks that differ have no common descendant: from the first on all differ.
    while (low < high) {
        const Height middle = low + (high - low) / 2;
        const auto differs = differ(middle);
        if (!differs) return fail(differs.error());
        if (*differs) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return high;
}

base::Result<void> get_proof(Side& side, Height height, const chain::Schedule& trusted) {
    const auto answer =
        call(side.url,
             "/v1/bor/proof",
             Json{{"block_num_or_id", std::to_string(height)}, {"trusted", trusted.version}});
    if (!answer) return fail(side.error(answer.error()));
    auto proof = unpack_member<chain::Proof>(*answer, "proof");
    if (!proof) return fail(side.error(proof.error()));
    side.proof = *std::move(proof);
    side.branch.schedules = chain::schedules_of(side.proof, trusted);
    side.branch.certificates = {side.proof.finality.certificate};
    return {};
}

// The next blocks of the branch; false: there are no more that matter.
base::Result<bool> grow(Side& side, Height fork) {
    const Height next = fork + static_cast<Height>(side.branch.blocks.size());
    if (next > side.last || side.branch.blocks.size() >= kBlocksMax) return false;
    auto blocks = fetch(side, next, kBlocksMax);
    if (!blocks) return fail(std::move(blocks).error());
    std::ranges::move(*blocks, std::back_inserter(side.branch.blocks));
    return true;
}

// The links to the schedule that both sides have at the fork; recoveries may come later.
base::Result<Followed> common_schedule(const Side& first,
                                       const Side& second,
                                       Height fork,
                                       const genesis::Trust& trust) {
    const auto one = fetch(first, fork, 1);
    if (!one) return fail(one.error());
    const auto other = fetch(second, fork, 1);
    if (!other) return fail(other.error());
    const auto version = version_at_fork(one->front()->header, other->front()->header);
    if (!version) return fail(version.error());
    return follow_links(first.url, trust, *version);
}

base::Result<chain::ForkProof> assemble(Side& first,
                                        Side& second,
                                        Height fork,
                                        const chain::Schedule& trusted,
                                        const chain::ChainId& chain_id) {
    for (Side* side : {&first, &second}) {
        if (auto got = get_proof(*side, fork, trusted); !got) return fail(got.error());
    }
    chain::ForkProof proof{.first = first.proof, .second = second.proof, .evidence = {}};
    const auto check = certificate_check(chain_id);
    while (true) {
        const auto more_first = grow(first, fork);
        if (!more_first) return fail(more_first.error());
        const auto more_second = grow(second, fork);
        if (!more_second) return fail(more_second.error());
        proof.evidence = chain::evidence_between(first.branch, second.branch, chain_id);
        const auto verdict = chain::verify(proof, trusted, check, chain_id);
        if (!verdict) return fail(verdict.error());
        if (verdict->producers > verdict->tolerated || (!*more_first && !*more_second)) break;
    }
    return proof;
}

Json fork_json(const chain::ForkProof& proof,
               const chain::ForkVerdict& verdict,
               const Followed& followed) {
    Json convicted = Json::array();
    for (std::size_t i = 0; i < proof.evidence.size(); ++i) {
        convicted.push_back({{"producer", verdict.convicted[i].producer.to_string()},
                             {"key", verdict.convicted[i].key.to_string()},
                             {"evidence", base::to_hex(chain::pack(proof.evidence[i]))}});
    }
    return Json{{"conflict", true},
                {"block_num", proof.first.header.height},
                {"first_id", base::to_hex(proof.first.header.id().view())},
                {"second_id", base::to_hex(proof.second.header.id().view())},
                {"tolerated", verdict.tolerated},
                {"convicted", std::move(convicted)},
                {"links", followed.links},
                {"fork_proof", base::to_hex(chain::pack(proof))}};
}

base::Result<void> report(const Session& session,
                          const Arguments& arguments,
                          const chain::ForkProof& proof,
                          const Followed& followed,
                          const chain::ChainId& chain_id) {
    const auto verdict =
        chain::verify(proof, followed.schedule(), certificate_check(chain_id), chain_id);
    if (!verdict) return fail(verdict.error());
    const Json json = fork_json(proof, *verdict, followed);
    const std::string file = arguments.get("file");
    if (!file.empty()) {
        if (auto done = write_file(file, chain::abi::dump_json(json, 2) + "\n"); !done) return done;
    }
    if (session.json) return print_json(json);
    const auto text = describe_fork(proof, followed.schedule(), chain_id);
    if (!text) return fail(text.error());
    fmt::print("{}", *text);
    if (!file.empty()) {
        fmt::print(
            "saved to {}; check it with: {}\n"
            "Each 'evidence' in it can be said on a chain: bor-cli push action eosio "
            "reportbad '[\"EVIDENCE\"]' -p NAME\n",
            file,
            how_to_check(file, followed));
    }
    return {};
}

base::Result<void> fork_proof(const Session& session, const Arguments& arguments) {
    const auto genesis = genesis_of(session, arguments);
    if (!genesis) return fail(genesis.error());
    const auto trust = trust_of(*genesis, arguments);
    if (!trust) return fail(trust.error());
    const chain::ChainId chain_id = trust->chain_id;
    auto first = look_at(arguments.at("first"), chain_id);
    if (!first) return fail(first.error());
    auto second = look_at(arguments.at("second"), chain_id);
    if (!second) return fail(second.error());
    const auto fork = find_fork(*first, *second);
    if (!fork) return fail(fork.error());
    if (*fork != 0) {
        const auto followed = common_schedule(*first, *second, *fork, *trust);
        if (!followed) return fail(followed.error());
        auto proof = assemble(*first, *second, *fork, followed->schedule(), chain_id);
        if (!proof) return fail(std::move(proof).error());
        return report(session, arguments, *proof, *followed, chain_id);
    }
    const Height common = std::min(first->last, second->last);
    const auto id = id_at(*first, common);
    if (!id) return fail(id.error());
    const std::string hex = base::to_hex(id->view());
    if (session.json) {
        return print_json({{"conflict", false}, {"block_num", common}, {"block_id", hex}});
    }
    fmt::print("both agree up to final block {} ({})\n", common, hex);
    return {};
}

}  // namespace

base::Result<std::uint32_t> version_at_fork(const chain::BlockHeader& first,
                                            const chain::BlockHeader& second) {
    if (first.schedule_version == second.schedule_version) return first.schedule_version;
    return fail(Errc::invalid,
                fmt::format("block {} is under schedule {} at the first node and under schedule {} "
                            "at the second: they part by a recovery, which proves nothing against "
                            "a validator; go on with the one that the members have signed "
                            "('bor-cli recover check')",
                            first.height,
                            first.schedule_version,
                            second.schedule_version));
}

base::Result<std::string> describe_fork(const chain::ForkProof& proof,
                                        const chain::Schedule& trusted,
                                        const chain::ChainId& chain_id) {
    const auto verdict = chain::verify(proof, trusted, certificate_check(chain_id), chain_id);
    if (!verdict) return fail(verdict.error());
    std::string text = fmt::format("block {} is final twice on chain {}: {} and {}\n",
                                   proof.first.header.height,
                                   base::to_hex(chain_id.view()).substr(0, 16),
                                   base::to_hex(proof.first.header.id().view()),
                                   base::to_hex(proof.second.header.id().view()));
    for (const auto& [producer, key] : verdict->convicted) {
        text += fmt::format("{} broke a rule with {}\n",
                            producer.empty() ? "somebody" : producer.to_string(),
                            key.to_string());
    }
    text += fmt::format("{} validators are convicted; the schedule tolerates {}{}\n",
                        verdict->producers,
                        verdict->tolerated,
                        verdict->producers > verdict->tolerated
                            ? ""
                            : ": the blocks that these nodes hold do not show who else it was");
    return text;
}

void add_fork_proof_command(std::vector<Command>& commands) {
    std::vector<Option> options{
        {"file", 'f', "FILE", "write the proof there"},
        {"genesis", 0, "FILE", "genesis file of the chain (default: of --dir)"}};
    std::ranges::copy(recovery_options(), std::back_inserter(options));
    commands.push_back({"fork-proof",
                        "Prove that two nodes hold two final blocks of one height, and who did it",
                        {{"first", "URL of a node"}, {"second", "URL of another"}},
                        options,
                        fork_proof});
}

}  // namespace cli
