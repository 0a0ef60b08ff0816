#include "node/chain_api.hpp"

#include <fmt/format.h>

#include <charconv>

namespace node {

using chain::Exception;

namespace {

// What to add where this block is not found.
std::string why_missing(const ApiContext& context, chain::Height height) {
    const chain::Height earliest = context.history.earliest_block();
    if (height == 0 || height >= earliest) return {};
    return fmt::format("; the earliest block that is stored here is {}", earliest);
}

}  // namespace

base::Result<chain::BlockPtr> find_block(const ApiContext& context,
                                         const Moment& moment,
                                         const std::string& text,
                                         std::string_view what) {
    if (text.empty() || text.size() > 64) {
        return chain::fail(Exception::block_id_type_exception,
                           "Invalid Block number or ID, must be greater than 0 and less than 65 "
                           "characters");
    }
    chain::Height height = 0;
    const auto unknown = [&] {
        return chain::fail(
            Exception::unknown_block_exception,
            fmt::format("Could not find {}: {}{}", what, text, why_missing(context, height)));
    };
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_number = error == std::errc{} && end == text.data() + text.size();
    base::Result<chain::BlockPtr> found = chain::BlockPtr();
    if (is_number) {
        if (number < 1 || number > INT64_C(0xFFFFFFFF)) return unknown();
        height = static_cast<chain::Height>(number);
        found = context.history.find_block(*moment.view, height);
    } else {
        auto id = chain::abi::hash_from_json(Json(text));
        if (!id) {
            return chain::fail(Exception::block_id_type_exception, "Invalid block ID: " + text);
        }
        height = chain::height_of(*id);
        found = context.history.find_block(*moment.view, *id);
    }
    if (found && *found == nullptr) return unknown();
    return found;
}

namespace {

using Show = Json (*)(const ApiContext&, const Moment&, const chain::Block&, Params&);

Calls::Read block_call(std::string_view what, Show show) {
    return [what, show](const ApiContext& context, const Moment& moment, Params& params) -> Answer {
        const std::string text = params.text("block_num_or_id");
        (void)params.boolean("include_extensions");
        if (!params.ok()) return refuse(params.error());
        auto block = find_block(context, moment, text, what);
        if (!block) return refuse(block.error());
        return show(context, moment, **block, params);
    };
}

Json show_block(const ApiContext& api, const Moment& moment, const chain::Block& block, Params&) {
    return api::block_to_json(block, api.times(), api.abis.resolver(moment.state));
}

Json show_raw(const ApiContext& api, const Moment&, const chain::Block& block, Params&) {
    return api::raw_block_to_json(block, api.times());
}

Json show_header(const ApiContext& api, const Moment&, const chain::Block& block, Params& params) {
    return api::block_header_to_json(block, api.times(), params.boolean("include_extensions"));
}

Answer get_block_info(const ApiContext& context, const Moment& moment, Params& params) {
    const std::uint32_t height = params.u32("block_num", 0);
    if (!params.ok()) return refuse(params.error());
    auto block = context.history.find_block(*moment.view, height);
    if (!block) return refuse(block.error());
    if (*block == nullptr) {
        return refuse(
            Exception::unknown_block_exception,
            "Could not find block: " + std::to_string(height) + why_missing(context, height));
    }
    return api::block_info_to_json(**block, context.times());
}

// Blocks that are not final have no DPoS data to show, and others nodeos refuses too.
Answer get_block_header_state(Params& params) {
    const std::string text = params.text("block_num_or_id");
    if (!params.ok()) return refuse(params.error());
    return refuse(Exception::unknown_block_exception, "Could not find reversible block: " + text);
}

// Blocks of other validators come over the network between nodes, not over HTTP.
Answer push_block(Params& /*params*/) {
    return refuse(Exception::unsupported_feature,
                  "push_block is not served: blocks come from validators over their own network");
}

}  // namespace

void add_chain_block_calls(Calls& calls) {
    calls.read({.path = "/v1/chain/get_block", .need = Need::required},
               block_call("block", show_block));
    calls.read({.path = "/v1/chain/get_raw_block", .need = Need::required},
               block_call("block", show_raw));
    calls.read({.path = "/v1/chain/get_block_header", .need = Need::required},
               block_call("block header", show_header));
    calls.read({.path = "/v1/chain/get_block_info", .need = Need::required}, get_block_info);
    calls.plain({.path = "/v1/chain/get_block_header_state", .need = Need::required},
                get_block_header_state);
    calls.plain({.path = "/v1/chain/push_block",
                 .need = Need::required,
                 .category = "chain_rw",
                 .status = 202},
                push_block);
}

}  // namespace node
