#include "chain/state/block_store.hpp"
#include "chain/state/proof_store.hpp"
#include "node/operator_api.hpp"

#include <algorithm>
#include <charconv>

namespace node {

namespace {

using chain::Exception;

constexpr std::uint32_t kHeadersMax = 256;
constexpr std::size_t kHeaderBytesMax = std::size_t{1} << 20U;

// What the parameters ask for: {transaction_id [, action]} or {block_num_or_id}; `trusted`: the
// version of the schedule that the asker trusts.
base::Result<chain::Proof> make_proof(const ApiContext& context,
                                      const Published& view,
                                      Params& params) {
    const auto snapshot = context.history.storage().snapshot();
    const chain::ProofMaker maker(*snapshot);
    const std::uint32_t trusted = params.u32("trusted", 0);
    if (params.find("transaction_id") != nullptr) {
        const std::string text = params.text("transaction_id");
        const auto action = params.optional_u32("action");
        if (!params.ok()) return base::fail(base::Errc::malformed, "transaction_id");
        auto id = chain::abi::hash_from_json(Json(text));
        if (!id) return base::fail(std::move(id).error());
        if (action) return maker.of_action(*id, *action, trusted);
        return maker.of_transaction(*id, trusted);
    }
    const std::string text = params.text("block_num_or_id");
    chain::Height height = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), height);
    if (error == std::errc{} && end == text.data() + text.size()) {
        return maker.of_block(height, trusted);
    }
    auto id = chain::abi::hash_from_json(Json(text));
    if (!id) {
        return chain::fail(Exception::block_id_type_exception,
                           "a proof needs transaction_id, or block_num_or_id");
    }
    auto block = context.history.find_block(view, *id);
    if (!block) return base::fail(std::move(block).error());
    if (*block == nullptr) {
        return chain::fail(Exception::unknown_block_exception, "Could not find block: " + text);
    }
    return maker.of_block((*block)->header.height, trusted);
}

// A step of the votes, or an object with that of a recovery.
Json link_json(const chain::Link& link) {
    if (const auto* recovery = std::get_if<chain::RecoveryLink>(&link)) {
        return Json{{"recovery", base::to_hex(chain::pack(*recovery))}};
    }
    return base::to_hex(chain::pack(std::get<chain::ScheduleLink>(link)));
}

// The next part of the links that lead on from schedule `trusted`; a client that has followed them
// all asks for its proof with the last one as `trusted`.
Answer get_links(const ApiContext& context, Params& params) {
    const std::uint32_t trusted = params.u32("trusted", 0);
    if (!params.ok()) return refuse(params.error());
    const auto snapshot = context.history.storage().snapshot();
    auto links = chain::ProofMaker(*snapshot).next_links(trusted);
    if (!links) return refuse(links.error());
    Json packed = Json::array();
    for (const chain::Link& link : *links)
        packed.push_back(link_json(link));
    return Json{{"trusted", trusted}, {"links", std::move(packed)}};
}

Answer get_proof(const ApiContext& context, const Moment& moment, Params& params) {
    if (params.boolean("links")) return get_links(context, params);
    auto proof = make_proof(context, *moment.view, params);
    if (!params.ok()) return refuse(params.error());
    if (!proof) return refuse(proof.error());
    return Json{{"block_num", proof->header.height},
                {"block_id", base::to_hex(proof->header.id().view())},
                {"certified_block_num", proof->finality.certified.height},
                {"schedule_links", proof->links.size()},
                {"proof", base::to_hex(chain::pack(*proof))}};
}

// Final blocks from a height on, without their transactions: headers, signatures and certificates.
// At most kHeadersMax of them and about kHeaderBytesMax, and no more than there is time for.
Answer get_headers(const ApiContext& context, const Moment& moment, Params& params) {
    const chain::Height from = params.u32("from", 0);
    const std::uint32_t limit = std::clamp(params.u32("limit", kHeadersMax), 1U, kHeadersMax);
    if (!params.ok()) return refuse(params.error());
    const auto snapshot = context.history.storage().snapshot();
    const chain::BlockReader blocks(*snapshot);
    auto earliest = blocks.earliest();
    if (!earliest) return refuse(earliest.error());
    const chain::Height last = moment.view->finalized->header.height;
    const Deadline deadline(context.response_time);
    Json headers = Json::array();
    chain::Height height = from;
    for (std::size_t bytes = 0; height <= last && headers.size() < limit; ++height) {
        if (!headers.empty() && (bytes > kHeaderBytesMax || deadline.is_over())) break;
        const auto block = blocks.at(height);
        if (!block) return refuse(block.error());
        if (*block == nullptr) {
            return refuse(Exception::unknown_block_exception,
                          "no final block " + std::to_string(height) +
                              " is stored; the earliest is " +
                              std::to_string(earliest->value_or(1)));
        }
        chain::Block bare = **block;
        bare.transactions.clear();
        const base::Bytes packed = chain::encode_block(bare);
        bytes += packed.size();
        headers.push_back({{"block_num", height},
                           {"id", base::to_hex(bare.id.view())},
                           {"packed", base::to_hex(packed)}});
    }
    return Json{{"earliest", earliest->value_or(1)},
                {"final", last},
                {"headers", std::move(headers)},
                {"more", height <= last}};
}

}  // namespace

void add_proof_calls(Calls& calls) {
    calls.read({.path = "/v1/bor/headers", .need = Need::required}, get_headers);
    calls.read({.path = "/v1/bor/proof", .need = Need::required}, get_proof);
}

}  // namespace node
