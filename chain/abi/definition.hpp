#pragma once

#include "chain/abi/json.hpp"
#include "chain/types/name.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace chain::abi {

// The parts of an ABI, under the names of its JSON form (reference "Binary formats").
struct TypeDefinition {
    std::string new_type_name;
    std::string type;
};

struct FieldDefinition {
    std::string name;
    std::string type;
};

struct StructDefinition {
    std::string name;
    std::string base;  // Empty: none.
    std::vector<FieldDefinition> fields;
};

struct ActionDefinition {
    Name name;
    std::string type;
    std::string ricardian_contract;
};

struct TableDefinition {
    Name name;
    std::string index_type;
    std::vector<std::string> key_names;
    std::vector<std::string> key_types;
    std::string type;
};

struct ClauseDefinition {
    std::string id;
    std::string body;
};

struct ErrorMessage {
    std::uint64_t error_code = 0;
    std::string error_msg;
};

struct VariantDefinition {
    std::string name;
    std::vector<std::string> types;
};

struct ActionResultDefinition {
    Name name;
    std::string result_type;
};

// What a contract says about the form of its actions and tables. Plain data: whether its types
// exist is checked by Serializer::make.
struct Definition {
    std::string version;
    std::vector<TypeDefinition> types;
    std::vector<StructDefinition> structs;
    std::vector<ActionDefinition> actions;
    std::vector<TableDefinition> tables;
    std::vector<ClauseDefinition> ricardian_clauses;
    std::vector<ErrorMessage> error_messages;
    Extensions abi_extensions;
    std::vector<VariantDefinition> variants;
    std::vector<ActionResultDefinition> action_results;
};

inline constexpr std::size_t kAbiBytesMax = 1024 * 1024;

// From the bytes that `setabi` stores. Bytes after the end are ignored and the last two lists
// may be missing, as in nodeos. unpack_exception: malformed or more than kAbiBytesMax.
[[nodiscard]] base::Result<Definition> decode_definition(base::ByteView bytes);
[[nodiscard]] base::Bytes encode_definition(const Definition& definition);

// From an ABI file. abi_type_exception or the error of the field; unknown members are ignored.
[[nodiscard]] base::Result<Definition> definition_from_json(const Json& json);
// As get_abi shows it.
[[nodiscard]] Json definition_to_json(const Definition& definition);

}  // namespace chain::abi
