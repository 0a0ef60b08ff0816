#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/types/transaction.hpp"

namespace chain::abi {

// JSON forms of Antelope's values: names, keys, ids and times as texts.
[[nodiscard]] Json to_json(const PermissionLevel& level);
[[nodiscard]] Json to_json(const Authority& authority);
[[nodiscard]] base::Result<PermissionLevel> permission_level_from_json(const Json& json);
[[nodiscard]] base::Result<Name> name_from_json(const Json& json);
[[nodiscard]] base::Result<PublicKey> public_key_from_json(const Json& json);
// Exactly 32 bytes in hexadecimal digits.
[[nodiscard]] base::Result<base::Hash256> hash_from_json(const Json& json);

// {account, name, authorization, data, hex_data}: data decoded by the account's ABI, or the
// hexadecimal digits where that is not possible. Without a resolver there is no hex_data.
[[nodiscard]] Json action_to_json(const Action& action, const Resolver& resolver);
// data: hexadecimal text, or an object for the ABI; hex_data counts where data gives nothing.
// Without a resolver only the text will do. packed_transaction_type_exception: no account, no
// name, or no data and no ABI that knows the action.
[[nodiscard]] base::Result<Action> action_from_json(const Json& json, const Resolver& resolver);

// Which members a transaction gets besides its header and actions.
enum class TransactionForm : std::uint8_t {
    plain,            // As inside get_block: transaction_extensions only when there are some.
    extended,         // With transaction_extensions.
    with_signatures,  // With transaction_extensions, signatures and context_free_data.
};
[[nodiscard]] Json transaction_to_json(const SignedTransaction& transaction,
                                       const Resolver& resolver,
                                       TransactionForm form);
// Every member may be missing, as in nodeos; signatures and context_free_data are read too.
[[nodiscard]] base::Result<SignedTransaction> transaction_from_json(const Json& json,
                                                                    const Resolver& resolver);

// {signatures, compression, packed_context_free_data, packed_trx}.
[[nodiscard]] Json packed_transaction_to_json(const PackedTransaction& packed);
// The forms that push_transaction takes: packed as above (compression as name or number), or
// {signatures, compression, context_free_data, transaction}. Bytes after the packed transaction
// are dropped as nodeos does, since no signature covers them.
// packed_transaction_type_exception: anything else.
[[nodiscard]] base::Result<PackedTransaction> packed_transaction_from_json(
    const Json& json, const Resolver& resolver);

}  // namespace chain::abi
