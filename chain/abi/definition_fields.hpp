#pragma once

#include "chain/abi/definition.hpp"

#include <concepts>
#include <type_traits>

namespace chain::abi {

// The members of each part of an ABI, in the order of its binary form and of its JSON:
// each_field(visit, part) calls visit(name, member) for every one. `Part` may be const.

template <class Part, class Definition>
concept PartOf = std::same_as<std::remove_const_t<Part>, Definition>;

template <class Visit, PartOf<TypeDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("new_type_name", part.new_type_name);
    visit("type", part.type);
}

template <class Visit, PartOf<FieldDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("type", part.type);
}

template <class Visit, PartOf<StructDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("base", part.base);
    visit("fields", part.fields);
}

template <class Visit, PartOf<ActionDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("type", part.type);
    visit("ricardian_contract", part.ricardian_contract);
}

template <class Visit, PartOf<TableDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("index_type", part.index_type);
    visit("key_names", part.key_names);
    visit("key_types", part.key_types);
    visit("type", part.type);
}

template <class Visit, PartOf<ClauseDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("id", part.id);
    visit("body", part.body);
}

template <class Visit, PartOf<ErrorMessage> Part>
void each_field(Visit& visit, Part& part) {
    visit("error_code", part.error_code);
    visit("error_msg", part.error_msg);
}

template <class Visit, PartOf<VariantDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("types", part.types);
}

template <class Visit, PartOf<ActionResultDefinition> Part>
void each_field(Visit& visit, Part& part) {
    visit("name", part.name);
    visit("result_type", part.result_type);
}

template <class Visit, PartOf<Definition> Part>
void each_field(Visit& visit, Part& part) {
    visit("version", part.version);
    visit("types", part.types);
    visit("structs", part.structs);
    visit("actions", part.actions);
    visit("tables", part.tables);
    visit("ricardian_clauses", part.ricardian_clauses);
    visit("error_messages", part.error_messages);
    visit("abi_extensions", part.abi_extensions);
    visit("variants", part.variants);
    visit("action_results", part.action_results);
}

}  // namespace chain::abi
