#pragma once

#include "chain/abi/definition.hpp"
#include "chain/abi/json.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string_view>

namespace chain::abi {

class Serializer;
using SerializerPtr = std::shared_ptr<const Serializer>;

// Finds the serializer of an account's ABI; null when it has none or an unusable one.
using Resolver = std::function<SerializerPtr(Name account)>;

// Translates between JSON and binary by an ABI, with nodeos' results and error texts.
// Immutable; any thread. Bounded: 32 levels of nesting, 1 MiB of binary, 32 MiB of JSON.
class Serializer {
  public:
    // Errors (abi exceptions with nodeos' texts): an unsupported version, something defined
    // twice, a type that does not exist, a circle.
    [[nodiscard]] static base::Result<SerializerPtr> make(Definition definition);
    // Both steps for bytes from state. abi_not_found_exception: empty, as for no ABI.
    [[nodiscard]] static base::Result<SerializerPtr> from_bytes(base::ByteView abi);

    // The value of `type` at the start of `bytes`; bytes after it are ignored, as in nodeos.
    // unpack_exception, invalid_type_inside_abi, abi_recursion_depth_exception, or
    // abi_serialization_deadline_exception when the result gets too large.
    [[nodiscard]] base::Result<Json> to_json(std::string_view type, base::ByteView bytes) const;
    // pack_exception, invalid_type_inside_abi, abi_recursion_depth_exception, or the error of
    // the value that does not fit its type.
    [[nodiscard]] base::Result<base::Bytes> to_binary(std::string_view type,
                                                      const Json& value) const;

    // The type of an action's data, of a table's rows, of an action's return value; empty when
    // the ABI has none. Borrowed from this object.
    [[nodiscard]] std::string_view action_type(Name action) const;
    [[nodiscard]] std::string_view table_type(Name table) const;
    [[nodiscard]] std::string_view action_result_type(Name action) const;
    // The table as defined; null when the ABI has none.
    [[nodiscard]] const TableDefinition* find_table(Name table) const;
    [[nodiscard]] bool is_type(std::string_view type) const;
    [[nodiscard]] const Definition& definition() const { return definition_; }

  private:
    friend class Packer;
    friend class Unpacker;
    friend class Validator;

    explicit Serializer(Definition definition);
    // Follows typedefs from `type` to a type that is none.
    [[nodiscard]] std::string_view resolve(std::string_view type) const;
    [[nodiscard]] const StructDefinition* find_struct(std::string_view type) const;
    [[nodiscard]] const VariantDefinition* find_variant(std::string_view type) const;

    Definition definition_;
    // Views into definition_, which does not change: a Serializer is only made in place.
    std::map<std::string_view, std::string_view> types_;
    std::map<std::string_view, const StructDefinition*> structs_;
    std::map<std::string_view, const VariantDefinition*> variants_;
    std::map<Name, std::string_view> actions_;
    std::map<Name, const TableDefinition*> tables_;
    std::map<std::uint64_t, std::string_view> error_messages_;
    std::map<Name, std::string_view> action_results_;
};

}  // namespace chain::abi
