#include "chain/abi/packer.hpp"

#include "chain/abi/builtin.hpp"
#include "chain/types/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chain::abi {

namespace {

constexpr std::size_t kBudget = 4 * 1024 * 1024;  // Fields and values looked at.

}  // namespace

Packer::Packer(const Serializer& abi, std::string_view root) : abi_(abi), at_(root, kBudget) {}

base::Result<base::Bytes> Packer::run(std::string_view type, const Json& json) {
    at_.enter();
    value(type, json);
    if (!at_.ok()) return base::fail(at_.take_error());
    return out_.take();
}

// A type holds types; `at_` bounds how deep.
// NOLINTBEGIN(misc-no-recursion)
void Packer::value(std::string_view type, const Json& json) {
    if (at_.enter() && at_.spend(1)) value_inside(type, json);
    at_.leave();
}

void Packer::value_inside(std::string_view type, const Json& json) {
    const std::string_view resolved = abi_.resolve(type);
    const TypeName name = split_suffix(resolved);
    if (name.suffix == Suffix::list) return items(name, json);
    if (name.suffix == Suffix::fixed_list) return fixed_items(name, json);
    if (name.suffix == Suffix::optional) {
        out_.boolean(!json.is_null());
        if (!json.is_null()) value(name.item, json);
        return;
    }
    if (const Builtin* builtin = find_builtin(resolved)) {
        if (auto written = builtin->write(out_, json); !written) {
            at_.fail(std::move(written).error());
        }
        return check_size();
    }
    if (const VariantDefinition* definition = abi_.find_variant(resolved)) {
        return variant(*definition, json);
    }
    if (const StructDefinition* definition = abi_.find_struct(resolved)) {
        return structure(*definition, json);
    }
    at_.fail(Exception::invalid_type_inside_abi, fmt::format("Unknown type {}", type));
}

void Packer::check_size() {
    if (out_.view().size() <= kTransactionBytesMax) return;
    at_.fail(Exception::pack_exception,
             fmt::format("the packed value has more than {} bytes", kTransactionBytesMax));
}

void Packer::each_item(const TypeName& name, const Json& json) {
    const bool before = std::exchange(extensions_allowed_, false);
    at_.push_index();
    for (std::size_t i = 0; i < json.size() && at_.ok(); ++i) {
        at_.set_index(i);
        value(name.item, json[i]);
    }
    at_.pop();
    extensions_allowed_ = before;
}

void Packer::items(const TypeName& name, const Json& json) {
    if (auto array = expect_array(json); !array) return at_.fail(std::move(array).error());
    out_.varuint32(static_cast<std::uint32_t>(json.size()));
    each_item(name, json);
    check_size();
}

void Packer::fixed_items(const TypeName& name, const Json& json) {
    if (auto array = expect_array(json); !array) return at_.fail(std::move(array).error());
    if (json.size() != name.size) {
        return at_.fail(Exception::pack_exception,
                        fmt::format("Expected {} items in the input array while processing '{}', "
                                    "found {}",
                                    name.size,
                                    at_.path(),
                                    json.size()));
    }
    each_item(name, json);
}

void Packer::variant(const VariantDefinition& definition, const Json& json) {
    if (!json.is_array() || json.size() != 2) {
        return at_.fail(Exception::pack_exception,
                        fmt::format("Expected input to be an array of two items while processing "
                                    "variant '{}'",
                                    at_.path()));
    }
    const auto* type = json[0].get_ptr<const std::string*>();
    if (type == nullptr) {
        return at_.fail(Exception::pack_exception,
                        fmt::format("Encountered non-string as first item of input array while "
                                    "processing variant '{}'",
                                    at_.path()));
    }
    const auto found = std::ranges::find(definition.types, *type);
    if (found == definition.types.end() || !at_.spend(definition.types.size())) {
        return at_.fail(Exception::pack_exception,
                        fmt::format("Specified type '{}' in input array is not valid within the "
                                    "variant '{}'",
                                    type->substr(0, 64),
                                    at_.path()));
    }
    const auto tag = static_cast<std::uint32_t>(found - definition.types.begin());
    out_.varuint32(tag);
    at_.push_variant(*found, tag);
    value(*found, json[1]);
    at_.pop();
}

void Packer::structure(const StructDefinition& definition, const Json& json) {
    if (json.is_object()) return from_object(definition, json);
    if (json.is_array()) return from_array(definition, json);
    at_.fail(Exception::pack_exception,
             fmt::format("Unexpected input encountered while processing struct '{}'", at_.path()));
}

void Packer::base_of(const StructDefinition& definition, const Json& json) {
    if (definition.base.empty()) return;
    const bool before = std::exchange(extensions_allowed_, false);
    value(definition.base, json);
    extensions_allowed_ = before;
}

void Packer::from_object(const StructDefinition& definition, const Json& json) {
    base_of(definition, json);
    bool after_extension = false;
    for (const FieldDefinition& field : definition.fields) {
        if (!at_.ok() || !at_.spend(1 + json.size() / 8)) return;
        const Json* given = find_member(json, field.name);
        if (given != nullptr && after_extension) {
            return at_.fail(Exception::pack_exception,
                            fmt::format("Unexpected field '{}' found in input object while "
                                        "processing struct '{}'",
                                        field.name,
                                        at_.path()));
        }
        if (given != nullptr) {
            member(field, &field == &definition.fields.back(), *given);
        } else if (is_extension(field.type) && extensions_allowed_) {
            after_extension = true;
        } else {
            return missing(field, after_extension);
        }
    }
}

void Packer::missing(const FieldDefinition& field, bool after_extension) {
    if (after_extension) {
        return at_.fail(Exception::abi_exception,
                        fmt::format("Encountered field '{}' without binary extension designation "
                                    "while processing struct '{}'",
                                    field.name,
                                    at_.path()));
    }
    at_.fail(Exception::pack_exception,
             fmt::format("Missing field '{}' in input object while processing struct '{}'",
                         field.name,
                         at_.path()));
}

void Packer::from_array(const StructDefinition& definition, const Json& json) {
    if (!definition.base.empty()) {
        return at_.fail(
            Exception::invalid_type_inside_abi,
            fmt::format("Using input array to specify the fields of the derived struct '{}'; input "
                        "arrays are currently only allowed for structs without a base",
                        at_.path()));
    }
    for (std::size_t i = 0; i < definition.fields.size() && at_.ok(); ++i) {
        const FieldDefinition& field = definition.fields[i];
        if (i < json.size()) {
            member(field, i + 1 == definition.fields.size(), json[i]);
            continue;
        }
        if (is_extension(field.type) && extensions_allowed_) return;
        return at_.fail(Exception::pack_exception,
                        fmt::format("Early end to input array specifying the fields of struct "
                                    "'{}'; require input for field '{}'",
                                    at_.path(),
                                    field.name));
    }
}

void Packer::member(const FieldDefinition& field, bool last, const Json& json) {
    const bool before = extensions_allowed_;
    extensions_allowed_ = before && last;
    at_.push_field(field.name);
    value(without_extension(field.type), json);
    at_.pop();
    extensions_allowed_ = before;
}

// NOLINTEND(misc-no-recursion)

}  // namespace chain::abi
