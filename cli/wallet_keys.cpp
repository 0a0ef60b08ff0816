#include "cli/wallet_keys.hpp"

#include "chain/abi/transaction_json.hpp"

namespace cli {

using base::fail;

base::Result<Json> required_keys(const Session& session,
                                 const chain::SignedTransaction& transaction) {
    const auto available = call(session.wallet_url, "/v1/wallet/get_public_keys", Json());
    if (!available) return fail(available.error());
    const Json body = {{"transaction",
                        chain::abi::transaction_to_json(
                            transaction, nullptr, chain::abi::TransactionForm::extended)},
                       {"available_keys", *available}};
    const auto required = call(session.url, "/v1/chain/get_required_keys", body);
    if (!required) return fail(required.error());
    const Json* keys = chain::abi::find_member(*required, "required_keys");
    return keys == nullptr ? Json::array() : *keys;
}

base::Result<chain::Signature> wallet_sign(const Session& session,
                                           const std::string& key,
                                           const base::Hash256& digest) {
    const auto made = call(session.wallet_url,
                           "/v1/wallet/sign_digest",
                           Json::array({base::to_hex(digest.view()), key}));
    if (!made) return fail(made.error());
    return base::crypto::Signature::from_string(made->is_string() ? made->get<std::string>() : "");
}

}  // namespace cli
