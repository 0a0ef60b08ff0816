#include "chain/abi/validator.hpp"

#include "chain/abi/builtin.hpp"
#include "chain/abi/traversal.hpp"
#include "chain/abi/type_name.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

namespace chain::abi {

namespace {

constexpr std::size_t kShownMax = 64;  // Of a name, in a message.

tl::unexpected<base::Error> too_deep() {
    return chain::fail(Exception::abi_recursion_depth_exception,
                       fmt::format("recursive definition, max_recursion_depth {} ", kDepthMax));
}

}  // namespace

base::Result<void> Validator::check() const {
    if (!abi_.definition().version.starts_with("eosio::abi/1.")) {
        return chain::fail(Exception::unsupported_abi_version_exception,
                           "ABI has an unsupported version");
    }
    if (auto done = check_duplicates(); !done) return done;
    if (auto done = check_types(); !done) return done;
    if (auto done = check_structs(); !done) return done;
    return check_uses();
}

base::Result<void> Validator::check_duplicates() const {
    const Definition& abi = abi_.definition_;
    std::set<std::string_view> defined;
    for (const TypeDefinition& item : abi.types) {
        const std::string_view name = split_suffix(item.new_type_name).item;
        if (find_builtin(name) != nullptr || abi_.structs_.contains(name) ||
            !defined.insert(item.new_type_name).second) {
            return chain::fail(Exception::duplicate_abi_type_def_exception, "type already exists");
        }
    }
    struct Rule {
        bool unique;
        Exception exception;
        std::string_view what;
    };
    const std::array rules = {
        Rule{abi_.structs_.size() == abi.structs.size(),
             Exception::duplicate_abi_struct_def_exception,
             "struct"},
        Rule{abi_.actions_.size() == abi.actions.size(),
             Exception::duplicate_abi_action_def_exception,
             "action"},
        Rule{abi_.tables_.size() == abi.tables.size(),
             Exception::duplicate_abi_table_def_exception,
             "table"},
        Rule{abi_.error_messages_.size() == abi.error_messages.size(),
             Exception::duplicate_abi_err_msg_def_exception,
             "error message"},
        Rule{abi_.variants_.size() == abi.variants.size(),
             Exception::duplicate_abi_variant_def_exception,
             "variant"},
        Rule{abi_.action_results_.size() == abi.action_results.size(),
             Exception::duplicate_abi_action_results_def_exception,
             "action results"},
    };
    for (const Rule& rule : rules) {
        if (rule.unique) continue;
        return chain::fail(rule.exception,
                           fmt::format("duplicate {} definition detected", rule.what));
    }
    return {};
}

// Follows each typedef as far as it goes. A chain longer than the depth of any translation is
// refused as one that is too deep, so that this stays linear.
base::Result<void> Validator::check_types() const {
    for (const TypeDefinition& item : abi_.definition_.types) {
        std::string_view type = item.type;
        std::size_t steps = 1;
        for (; steps < kDepthMax; ++steps) {
            if (type == item.new_type_name) {
                return chain::fail(
                    Exception::abi_circular_def_exception,
                    fmt::format("Circular reference in type {}", type.substr(0, kShownMax)));
            }
            const auto next = abi_.types_.find(type);
            if (next == abi_.types_.end()) break;
            type = next->second;
        }
        if (steps == kDepthMax) return too_deep();
    }
    for (const TypeDefinition& item : abi_.definition_.types) {
        if (auto known = expect_type(item.type); !known) return known;
    }
    return {};
}

base::Result<void> Validator::check_bases(const StructDefinition& definition) const {
    const StructDefinition* current = &definition;
    for (std::size_t steps = 1; !current->base.empty(); ++steps) {
        if (steps == kDepthMax) return too_deep();
        const StructDefinition* parent = abi_.find_struct(abi_.resolve(current->base));
        if (parent == nullptr) {
            return chain::fail(Exception::invalid_type_inside_abi,
                               fmt::format("Unknown struct {}", current->base));
        }
        if (parent == &definition) {
            return chain::fail(Exception::abi_circular_def_exception,
                               fmt::format("Circular reference in struct {}",
                                           definition.name.substr(0, kShownMax)));
        }
        current = parent;
    }
    return {};
}

base::Result<void> Validator::check_structs() const {
    for (const StructDefinition& item : abi_.definition_.structs) {
        if (auto done = check_bases(item); !done) return done;
        for (const FieldDefinition& field : item.fields) {
            if (abi_.is_type(without_extension(field.type))) continue;
            return chain::fail(Exception::invalid_type_inside_abi, field.type);
        }
    }
    return {};
}

base::Result<void> Validator::check_uses() const {
    const Definition& abi = abi_.definition_;
    for (const VariantDefinition& item : abi.variants) {
        for (const std::string& type : item.types) {
            if (auto known = expect_type(type); !known) return known;
        }
    }
    for (const ActionDefinition& item : abi.actions) {
        if (auto known = expect_type(item.type); !known) return known;
    }
    for (const TableDefinition& item : abi.tables) {
        if (auto known = expect_type(item.type); !known) return known;
    }
    for (const ActionResultDefinition& item : abi.action_results) {
        if (auto known = expect_type(item.result_type); !known) return known;
    }
    return {};
}

base::Result<void> Validator::expect_type(std::string_view type) const {
    if (abi_.is_type(type)) return {};
    return chain::fail(Exception::invalid_type_inside_abi, std::string(type));
}

}  // namespace chain::abi
