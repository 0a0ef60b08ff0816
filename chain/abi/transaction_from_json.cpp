#include "chain/abi/members.hpp"
#include "chain/abi/transaction_json.hpp"
#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain::abi {

namespace {

constexpr std::string_view kInvalid = "Invalid packed transaction";
constexpr std::string_view kEnum = "eosio::chain::packed_transaction::compression_type";

tl::unexpected<base::Error> invalid(std::string detail) {
    return fail(Exception::packed_transaction_type_exception, std::move(detail));
}

base::Result<Signature> signature_from_json(const Json& json) {
    return from_text<Signature>(json, as_string);
}

// What `data` holds; nothing when neither a text nor the ABI gives something.
base::Result<std::optional<base::Bytes>> data_from_json(const Action& action,
                                                        const Json& data,
                                                        const Resolver& resolver) {
    std::optional<base::Bytes> found;
    if (data.is_string() || !resolver) {
        auto bytes = bytes_from_json(data);
        if (!bytes) return base::fail(std::move(bytes).error());
        found = std::move(*bytes);
        return found;
    }
    if (!data.is_object()) return found;
    const SerializerPtr abi = resolver(action.account);
    const std::string_view type = abi == nullptr ? "" : abi->action_type(action.name);
    if (type.empty()) return found;
    auto packed = abi->to_binary(type, data);
    if (!packed) return base::fail(std::move(packed).error());
    found = std::move(*packed);
    return found;
}

base::Result<void> read_data(Action& action, const Json& json, const Resolver& resolver) {
    if (const Json* data = find_member(json, "data")) {
        auto bytes = data_from_json(action, *data, resolver);
        if (!bytes) return base::fail(std::move(bytes).error());
        if (*bytes) {
            action.data = std::move(**bytes);
            return {};
        }
    }
    if (!resolver) return {};
    const Json* digits = find_member(json, "hex_data");
    if (digits != nullptr && digits->is_string()) {
        auto bytes = bytes_from_json(*digits);
        if (!bytes) return base::fail(std::move(bytes).error());
        action.data = std::move(*bytes);
    }
    if (!action.data.empty()) return {};
    return invalid(fmt::format("Failed to deserialize data for {}:{}",
                               action.account.to_string(),
                               action.name.to_string()));
}

base::Result<Compression> compression_from_json(const Json& json) {
    if (const auto* text = json.get_ptr<const std::string*>()) {
        if (*text == "none" || *text == "0") return Compression::none;
        if (*text == "zlib" || *text == "1") return Compression::zlib;
        return fail(Exception::exception,
                    fmt::format("invalid name '{}' in enum '{}'", text->substr(0, 64), kEnum));
    }
    auto number = as_int64(json);
    if (!number) return base::fail(std::move(number).error());
    if (*number == 0) return Compression::none;
    if (*number == 1) return Compression::zlib;
    return fail(Exception::exception,
                fmt::format("invalid integer '{}' in enum '{}'", *number, kEnum));
}

// Whether the member is a text that is not empty.
bool has_text(const Json& json, std::string_view key) {
    const Json* member = find_member(json, key);
    const auto* text = member == nullptr ? nullptr : member->get_ptr<const std::string*>();
    return text != nullptr && !text->empty();
}

// The bytes of the transaction alone. What follows it no signature covers; nodeos drops it.
base::Result<void> drop_trailing_bytes(PackedTransaction& packed) {
    const bool deflated = packed.compression == Compression::zlib;
    base::Bytes plain;
    if (deflated) {
        auto inflated = zlib_inflate(packed.packed_trx, kTransactionBytesMax);
        if (!inflated) return base::fail(std::move(inflated).error());
        plain = std::move(*inflated);
    }
    const base::ByteView all = deflated ? base::ByteView(plain) : base::ByteView(packed.packed_trx);
    base::Reader in(all);
    Transaction transaction;
    decode(in, transaction, "packed_trx");
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    if (in.left() == 0) return {};
    base::Bytes exact = base::to_bytes(all.first(in.offset()));
    packed.packed_trx = deflated ? zlib_deflate(exact) : std::move(exact);
    return {};
}

// The context-free data and the transaction of a packed transaction that are given apart.
base::Result<PackedTransaction> packed_from_parts(const Json& json,
                                                  PackedTransaction packed,
                                                  const Resolver& resolver) {
    SignedTransaction transaction;
    const bool has_packed_data = !packed.packed_context_free_data.empty();
    if (!has_packed_data) {
        Members members(json);
        members.values("context_free_data", transaction.context_free_data, bytes_from_json);
        if (auto status = members.status(); !status) return base::fail(status.error());
    }
    if (has_text(json, "packed_trx")) {
        auto bytes = bytes_from_json(*find_member(json, "packed_trx"));
        if (!bytes) return base::fail(std::move(bytes).error());
        packed.packed_trx = std::move(*bytes);
        if (auto cut = drop_trailing_bytes(packed); !cut) return base::fail(cut.error());
        if (!has_packed_data) {
            packed.packed_context_free_data =
                PackedTransaction::pack(transaction, packed.compression).packed_context_free_data;
        }
        return packed;
    }
    const Json* given = find_member(json, "transaction");
    if (given == nullptr) return invalid("Missing transaction");
    auto read = transaction_from_json(*given, resolver);
    if (!read) return base::fail(std::move(read).error());
    read->context_free_data = std::move(transaction.context_free_data);
    PackedTransaction made = PackedTransaction::pack(*read, packed.compression);
    made.signatures = std::move(packed.signatures);
    if (has_packed_data) {
        made.packed_context_free_data = std::move(packed.packed_context_free_data);
    }
    return made;
}

base::Result<PackedTransaction> read_packed(const Json& json, const Resolver& resolver) {
    if (auto object = expect_object(json); !object) return base::fail(object.error());
    if (find_member(json, "signatures") == nullptr) return invalid("Missing signatures");
    if (find_member(json, "compression") == nullptr) return invalid("Missing compression");
    PackedTransaction packed;
    Members members(json);
    members.values("signatures", packed.signatures, signature_from_json);
    members.value("compression", packed.compression, compression_from_json);
    if (has_text(json, "packed_context_free_data")) {
        members.bytes("packed_context_free_data", packed.packed_context_free_data);
    }
    if (auto status = members.status(); !status) return base::fail(status.error());
    return packed_from_parts(json, std::move(packed), resolver);
}

}  // namespace

base::Result<PermissionLevel> permission_level_from_json(const Json& json) {
    PermissionLevel level;
    Members members(json);
    members.name("actor", level.actor);
    members.name("permission", level.permission);
    if (auto status = members.status(); !status) return base::fail(status.error());
    return level;
}

base::Result<Name> name_from_json(const Json& json) {
    return from_text<Name>(json);
}

base::Result<PublicKey> public_key_from_json(const Json& json) {
    return from_text<PublicKey>(json, as_string);
}

base::Result<base::Hash256> hash_from_json(const Json& json) {
    auto bytes = bytes_from_json(json);
    if (!bytes) return base::fail(std::move(bytes).error());
    return base::to_hash<32>(*bytes);
}

base::Result<Action> action_from_json(const Json& json, const Resolver& resolver) {
    Action action;
    Members members(json);
    if (auto status = members.status(); !status) return base::fail(status.error());
    if (find_member(json, "account") == nullptr) return invalid("Missing account");
    if (find_member(json, "name") == nullptr) return invalid("Missing name");
    members.name("account", action.account);
    members.name("name", action.name);
    members.values("authorization", action.authorization, permission_level_from_json);
    if (auto status = members.status(); !status) return base::fail(status.error());
    if (auto data = read_data(action, json, resolver); !data) return base::fail(data.error());
    return action;
}

base::Result<SignedTransaction> transaction_from_json(const Json& json, const Resolver& resolver) {
    const auto read_action = [&resolver](const Json& item) {
        return action_from_json(item, resolver);
    };
    SignedTransaction transaction;
    Members members(json);
    members.value("expiration", transaction.expiration, [](const Json& value) {
        return from_text<TimePointSec>(value, as_string);
    });
    members.bounded("ref_block_num", transaction.ref_block_num);
    members.bounded("ref_block_prefix", transaction.ref_block_prefix);
    members.bounded("max_net_usage_words", transaction.max_net_usage_words);
    members.bounded("max_cpu_usage_ms", transaction.max_cpu_usage_ms);
    members.bounded("delay_sec", transaction.delay_sec);
    members.values("context_free_actions", transaction.context_free_actions, read_action);
    members.values("actions", transaction.actions, read_action);
    members.extensions("transaction_extensions", transaction.extensions);
    members.values("signatures", transaction.signatures, signature_from_json);
    members.values("context_free_data", transaction.context_free_data, bytes_from_json);
    if (auto status = members.status(); !status) return base::fail(status.error());
    return transaction;
}

base::Result<PackedTransaction> packed_transaction_from_json(const Json& json,
                                                             const Resolver& resolver) {
    auto packed = read_packed(json, resolver);
    if (packed) return packed;
    const base::Error& error = packed.error();
    // nodeos keeps the errors that are its own and puts those of its library below this one.
    const bool own = error.exception >= static_cast<std::uint32_t>(Exception::chain_exception) &&
                     error.exception != static_cast<std::uint32_t>(Exception::exception);
    if (own) return base::fail(with_detail(error, kInvalid));
    return base::fail(
        with_detail(make_error(Exception::packed_transaction_type_exception, std::string(kInvalid)),
                    error.detail));
}

}  // namespace chain::abi
