#include "chain/abi/unpacker.hpp"

#include "chain/abi/builtin.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain::abi {

namespace {

constexpr std::size_t kBudget = 64 * 1024 * 1024;  // Bytes of JSON in memory, roughly.
constexpr std::size_t kValueCost = 32;
constexpr std::size_t kMembersMax = 1024;  // Of an object: adding a member is linear.

std::size_t cost_of(const Json& json) {
    const auto* text = json.get_ptr<const std::string*>();
    return kValueCost + (text == nullptr ? 0 : text->size());
}

}  // namespace

Unpacker::Unpacker(const Serializer& abi, std::string_view root, base::ByteView bytes)
    : abi_(abi), in_(bytes), at_(root, kBudget) {}

base::Result<Json> Unpacker::run(std::string_view type) {
    at_.enter();
    Json result = value(type);
    if (!at_.ok()) return base::fail(at_.take_error());
    return result;
}

// A type holds types; `at_` bounds how deep.
// NOLINTBEGIN(misc-no-recursion)
Json Unpacker::value(std::string_view type) {
    Json result;
    if (at_.enter()) result = value_inside(type);
    at_.leave();
    return at_.ok() ? std::move(result) : Json();
}

Json Unpacker::value_inside(std::string_view type) {
    const std::string_view resolved = abi_.resolve(type);
    const TypeName name = split_suffix(resolved);
    switch (name.suffix) {
        case Suffix::list:
            return list(name);
        case Suffix::fixed_list:
            return items(name, name.size);
        case Suffix::optional:
            return optional(name);
        case Suffix::none:
            break;
    }
    if (find_builtin(name.item) != nullptr) return builtin(name);
    if (const VariantDefinition* definition = abi_.find_variant(resolved)) {
        return variant(*definition);
    }
    return structure(resolved);
}

Json Unpacker::builtin(const TypeName& name) {
    const Builtin* type = find_builtin(name.item);
    Json result = type->read(in_);
    if (auto status = in_.status(); !status) {
        if (status.error().exception != 0) {
            at_.fail(std::move(status).error());
        } else {
            at_.fail(Exception::unpack_exception,
                     fmt::format("Unable to unpack built-in type '{}' while processing '{}'",
                                 name.item,
                                 at_.path()));
        }
    } else {
        at_.spend(cost_of(result));
    }
    return result;
}

Json Unpacker::items(const TypeName& name, std::size_t count) {
    Json result = Json::array();
    at_.push_index();
    for (std::size_t i = 0; i < count && at_.ok(); ++i) {
        at_.set_index(i);
        if (at_.spend(kValueCost)) result.push_back(value(name.item));
    }
    at_.pop();
    return result;
}

Json Unpacker::list(const TypeName& name) {
    const std::uint32_t count = in_.varuint32("size of array");
    if (!in_.ok()) {
        at_.fail(Exception::unpack_exception,
                 fmt::format("Unable to unpack size of array '{}'", at_.path()));
        return {};
    }
    return items(name, count);
}

Json Unpacker::optional(const TypeName& name) {
    const bool present = in_.boolean("presence flag");
    if (!in_.ok()) {
        at_.fail(Exception::unpack_exception,
                 fmt::format("Unable to unpack presence flag of optional '{}'", at_.path()));
        return {};
    }
    return present ? value(name.item) : Json();
}

Json Unpacker::variant(const VariantDefinition& definition) {
    const std::uint32_t tag = in_.varuint32("tag");
    if (!in_.ok()) {
        at_.fail(Exception::unpack_exception,
                 fmt::format("Unable to unpack tag of variant '{}'", at_.path()));
        return {};
    }
    if (tag >= definition.types.size()) {
        at_.fail(Exception::unpack_exception,
                 fmt::format("Unpacked invalid tag ({}) for variant '{}'", tag, at_.path()));
        return {};
    }
    const std::string& type = definition.types[tag];
    if (!at_.spend(type.size())) return {};
    at_.push_variant(type, tag);
    Json content = value(type);
    at_.pop();
    return Json::array({type, std::move(content)});
}

Json Unpacker::structure(std::string_view type) {
    Json object = Json::object();
    const StructDefinition* definition = abi_.find_struct(type);
    if (definition == nullptr) {
        at_.fail(Exception::invalid_type_inside_abi, fmt::format("Unknown type {}", type));
        return {};
    }
    members(*definition, object);
    // nodeos refuses empty structs; it also keeps lists of nothing from costing time.
    if (at_.ok() && object.empty()) {
        at_.fail(Exception::unpack_exception,
                 fmt::format("Unable to unpack '{}' from stream", at_.path()));
    }
    return object;
}

void Unpacker::members(const StructDefinition& definition, Json& object) {
    if (at_.enter()) members_inside(definition, object);
    at_.leave();
}

void Unpacker::members_inside(const StructDefinition& definition, Json& object) {
    if (!definition.base.empty()) {
        const StructDefinition* parent = abi_.find_struct(abi_.resolve(definition.base));
        if (parent == nullptr) {
            return at_.fail(Exception::invalid_type_inside_abi,
                            fmt::format("Unknown type {}", definition.base));
        }
        members(*parent, object);
    }
    bool after_extension = false;
    for (const FieldDefinition& field : definition.fields) {
        if (!at_.spend(1 + object.size() / 8)) return;
        after_extension = after_extension || is_extension(field.type);
        if (in_.left() == 0) {
            if (is_extension(field.type)) continue;
            return missing(field, after_extension);
        }
        member(field, object);
        if (!at_.ok()) return;
    }
}

void Unpacker::missing(const FieldDefinition& field, bool after_extension) {
    if (after_extension) {
        return at_.fail(Exception::abi_exception,
                        fmt::format("Encountered field '{}' without binary extension designation "
                                    "while processing struct '{}'",
                                    field.name,
                                    at_.path()));
    }
    at_.fail(Exception::unpack_exception,
             fmt::format("Stream unexpectedly ended; unable to unpack field '{}' of struct '{}'",
                         field.name,
                         at_.path()));
}

void Unpacker::member(const FieldDefinition& field, Json& object) {
    if (object.size() >= kMembersMax) {
        return at_.fail(
            Exception::abi_serialization_deadline_exception,
            fmt::format("struct '{}' has more than {} fields", at_.path(), kMembersMax));
    }
    if (!at_.spend(field.name.size() + kValueCost)) return;
    at_.push_field(field.name);
    object[field.name] = value(without_extension(field.type));
    at_.pop();
}

// NOLINTEND(misc-no-recursion)

}  // namespace chain::abi
