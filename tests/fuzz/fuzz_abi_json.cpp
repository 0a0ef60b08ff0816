// Foreign JSON: as a document, an ABI, an authority, and each form of a transaction.
#include "base/check.hpp"
#include "chain/abi/transaction_json.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace {

using chain::abi::Json;

// An ABI with each kind of type, so that the data of actions is packed too.
const chain::abi::SerializerPtr& serializer() {
    static const chain::abi::SerializerPtr kSerializer = [] {
        chain::abi::Definition abi;
        abi.version = "eosio::abi/1.2";
        abi.types = {{"list", "either[]"}};
        abi.structs = {{"base", "", {{"a", "name"}, {"b", "uint64?"}}},
                       {"all",
                        "base",
                        {{"c", "asset"},
                         {"d", "list"},
                         {"e", "bytes"},
                         {"f", "float64"},
                         {"g", "int128"},
                         {"h", "time_point"},
                         {"i", "public_key"},
                         {"j", "checksum256"},
                         {"k", "uint8[2]"},
                         {"l", "string$"}}}};
        abi.variants = {{"either", {"uint8", "base", "symbol[]"}}};
        abi.actions = {{{1}, "all", ""}};
        auto made = chain::abi::Serializer::make(std::move(abi));
        CHECK(made);
        return *made;
    }();
    return kSerializer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto json = chain::abi::parse_json(text);
    if (!json) return 0;
    const auto again = chain::abi::parse_json(chain::abi::dump_json(*json));
    CHECK(again);
    const chain::abi::Resolver resolver = [](chain::Name) { return serializer(); };
    static_cast<void>(chain::abi::definition_from_json(*json));
    if (const auto packed = serializer()->to_binary("all", *json)) {
        CHECK(serializer()->to_json("all", *packed));
    }
    if (const auto packed = chain::abi::packed_transaction_from_json(*json, resolver)) {
        static_cast<void>(chain::abi::packed_transaction_to_json(*packed));
        static_cast<void>(chain::decode_transaction(*packed));
    }
    if (const auto transaction = chain::abi::transaction_from_json(*json, resolver)) {
        const Json shown = chain::abi::transaction_to_json(
            *transaction, resolver, chain::abi::TransactionForm::with_signatures);
        const auto read = chain::abi::transaction_from_json(shown, {});
        static_cast<void>(read);
    }
    return 0;
}
