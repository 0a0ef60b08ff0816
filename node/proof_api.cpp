#include "chain/state/proof_store.hpp"
#include "node/operator_api.hpp"

#include <charconv>

namespace node {

namespace {

using chain::Exception;

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

Answer get_proof(const ApiContext& context, const Moment& moment, Params& params) {
    auto proof = make_proof(context, *moment.view, params);
    if (!params.ok()) return refuse(params.error());
    if (!proof) return refuse(proof.error());
    return Json{{"block_num", proof->header.height},
                {"block_id", base::to_hex(proof->header.id().view())},
                {"certified_block_num", proof->finality.certified.height},
                {"schedule_links", proof->links.size()},
                {"proof", base::to_hex(chain::pack(*proof))}};
}

}  // namespace

void add_proof_call(Calls& calls) {
    calls.read({.path = "/v1/bor/proof", .need = Need::required}, get_proof);
}

}  // namespace node
