#include "chain/abi/serializer.hpp"

#include "chain/abi/builtin.hpp"
#include "chain/abi/packer.hpp"
#include "chain/abi/traversal.hpp"
#include "chain/abi/type_name.hpp"
#include "chain/abi/unpacker.hpp"
#include "chain/abi/validator.hpp"

#include <utility>

namespace chain::abi {

namespace {

template <class Map, class Key>
auto* find_pointer(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
}

template <class Map, class Key>
std::string_view find_text(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::string_view() : found->second;
}

// How nodeos calls the root of the paths in its messages.
std::string_view root_name(const TypeName& name, std::string_view resolved, bool known) {
    if (name.suffix == Suffix::list) return "ARRAY";
    return known ? resolved : std::string_view();
}

}  // namespace

// Later definitions of a name win here; the validator refuses such an ABI.
Serializer::Serializer(Definition definition) : definition_(std::move(definition)) {
    for (const TypeDefinition& item : definition_.types) {
        types_[item.new_type_name] = item.type;
    }
    for (const StructDefinition& item : definition_.structs) {
        structs_[item.name] = &item;
    }
    for (const VariantDefinition& item : definition_.variants) {
        variants_[item.name] = &item;
    }
    for (const ActionDefinition& item : definition_.actions) {
        actions_[item.name] = item.type;
    }
    for (const TableDefinition& item : definition_.tables) {
        tables_[item.name] = &item;
    }
    for (const ErrorMessage& item : definition_.error_messages) {
        error_messages_[item.error_code] = item.error_msg;
    }
    for (const ActionResultDefinition& item : definition_.action_results) {
        action_results_[item.name] = item.result_type;
    }
}

base::Result<SerializerPtr> Serializer::make(Definition definition) {
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
    std::shared_ptr<const Serializer> serializer(new Serializer(std::move(definition)));
    if (auto valid = Validator(*serializer).check(); !valid) {
        return base::fail(std::move(valid).error());
    }
    return serializer;
}

base::Result<SerializerPtr> Serializer::from_bytes(base::ByteView abi) {
    // nodeos takes up to four bytes for no ABI at all.
    if (abi.size() <= 4) {
        return chain::fail(Exception::abi_not_found_exception, "the account has no ABI");
    }
    auto definition = decode_definition(abi);
    if (!definition) return base::fail(std::move(definition).error());
    return make(std::move(*definition));
}

base::Result<Json> Serializer::to_json(std::string_view type, base::ByteView bytes) const {
    const std::string_view resolved = resolve(type);
    const bool known = find_struct(resolved) != nullptr || find_variant(resolved) != nullptr;
    return Unpacker(*this, root_name(split_suffix(resolved), resolved, known), bytes).run(type);
}

base::Result<base::Bytes> Serializer::to_binary(std::string_view type, const Json& value) const {
    if (!is_type(type)) return bytes_from_json(value);
    const std::string_view resolved = resolve(type);
    const bool known = find_struct(resolved) != nullptr || find_variant(resolved) != nullptr;
    return Packer(*this, root_name(split_suffix(resolved), resolved, known)).run(type, value);
}

std::string_view Serializer::action_type(Name action) const {
    return find_text(actions_, action);
}

std::string_view Serializer::table_type(Name table) const {
    const TableDefinition* found = find_table(table);
    return found == nullptr ? std::string_view() : std::string_view(found->type);
}

std::string_view Serializer::action_result_type(Name action) const {
    return find_text(action_results_, action);
}

const TableDefinition* Serializer::find_table(Name table) const {
    return find_pointer(tables_, table);
}

bool Serializer::is_type(std::string_view type) const {
    for (std::size_t depth = 1; depth < kDepthMax; ++depth) {
        const std::string_view item = split_suffix(type).item;
        if (find_builtin(item) != nullptr) return true;
        const auto found = types_.find(item);
        if (found == types_.end()) {
            return structs_.contains(item) || variants_.contains(item);
        }
        type = found->second;
    }
    return false;
}

std::string_view Serializer::resolve(std::string_view type) const {
    for (std::size_t depth = 0; depth < kDepthMax; ++depth) {
        const auto found = types_.find(type);
        if (found == types_.end()) return type;
        type = found->second;
    }
    return type;
}

const StructDefinition* Serializer::find_struct(std::string_view type) const {
    return find_pointer(structs_, type);
}

const VariantDefinition* Serializer::find_variant(std::string_view type) const {
    return find_pointer(variants_, type);
}

}  // namespace chain::abi
