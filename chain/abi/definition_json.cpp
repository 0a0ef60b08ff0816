#include "chain/abi/definition.hpp"
#include "chain/abi/members.hpp"

#include <utility>

namespace chain::abi {

namespace {

void read_tables(Members& abi, Definition& out) {
    abi.list("tables", out.tables, [](Members& in, TableDefinition& item) {
        in.name("name", item.name);
        in.text("index_type", item.index_type);
        in.texts("key_names", item.key_names);
        in.texts("key_types", item.key_types);
        in.text("type", item.type);
    });
}

void read_structs(Members& abi, Definition& out) {
    abi.list("structs", out.structs, [](Members& in, StructDefinition& item) {
        in.text("name", item.name);
        in.text("base", item.base);
        in.list("fields", item.fields, [](Members& field, FieldDefinition& definition) {
            field.text("name", definition.name);
            field.text("type", definition.type);
        });
    });
}

// [{...}, ...]: `show(item)` for each.
template <class T, class Show>
Json show_list(const std::vector<T>& items, Show show) {
    Json list = Json::array();
    for (const T& item : items) {
        list.push_back(show(item));
    }
    return list;
}

Json show_struct(const StructDefinition& item) {
    Json fields = show_list(item.fields, [](const FieldDefinition& field) {
        return Json{{"name", field.name}, {"type", field.type}};
    });
    return {{"name", item.name}, {"base", item.base}, {"fields", std::move(fields)}};
}

Json show_table(const TableDefinition& item) {
    return {{"name", item.name.to_string()},
            {"index_type", item.index_type},
            {"key_names", item.key_names},
            {"key_types", item.key_types},
            {"type", item.type}};
}

}  // namespace

base::Result<Definition> definition_from_json(const Json& json) {
    Definition out;
    Members abi(json);
    abi.text("version", out.version);
    abi.list("types", out.types, [](Members& in, TypeDefinition& item) {
        in.text("new_type_name", item.new_type_name);
        in.text("type", item.type);
    });
    read_structs(abi, out);
    abi.list("actions", out.actions, [](Members& in, ActionDefinition& item) {
        in.name("name", item.name);
        in.text("type", item.type);
        in.text("ricardian_contract", item.ricardian_contract);
    });
    read_tables(abi, out);
    abi.list("ricardian_clauses", out.ricardian_clauses, [](Members& in, ClauseDefinition& item) {
        in.text("id", item.id);
        in.text("body", item.body);
    });
    abi.list("error_messages", out.error_messages, [](Members& in, ErrorMessage& item) {
        in.number("error_code", item.error_code);
        in.text("error_msg", item.error_msg);
    });
    abi.extensions("abi_extensions", out.abi_extensions);
    abi.list("variants", out.variants, [](Members& in, VariantDefinition& item) {
        in.text("name", item.name);
        in.texts("types", item.types);
    });
    abi.list("action_results", out.action_results, [](Members& in, ActionResultDefinition& item) {
        in.name("name", item.name);
        in.text("result_type", item.result_type);
    });
    if (auto status = abi.status(); !status) return base::fail(std::move(status).error());
    return out;
}

Json definition_to_json(const Definition& abi) {
    Json out;
    out["version"] = abi.version;
    out["types"] = show_list(abi.types, [](const TypeDefinition& item) {
        return Json{{"new_type_name", item.new_type_name}, {"type", item.type}};
    });
    out["structs"] = show_list(abi.structs, show_struct);
    out["actions"] = show_list(abi.actions, [](const ActionDefinition& item) {
        return Json{{"name", item.name.to_string()},
                    {"type", item.type},
                    {"ricardian_contract", item.ricardian_contract}};
    });
    out["tables"] = show_list(abi.tables, show_table);
    out["ricardian_clauses"] = show_list(abi.ricardian_clauses, [](const ClauseDefinition& item) {
        return Json{{"id", item.id}, {"body", item.body}};
    });
    out["error_messages"] = show_list(abi.error_messages, [](const ErrorMessage& item) {
        return Json{{"error_code", json_integer(item.error_code)}, {"error_msg", item.error_msg}};
    });
    out["abi_extensions"] = show_list(abi.abi_extensions, [](const Extension& item) {
        return Json::array({item.id, base::to_hex(item.data)});
    });
    out["variants"] = show_list(abi.variants, [](const VariantDefinition& item) {
        return Json{{"name", item.name}, {"types", item.types}};
    });
    out["action_results"] = show_list(abi.action_results, [](const ActionResultDefinition& item) {
        return Json{{"name", item.name.to_string()}, {"result_type", item.result_type}};
    });
    return out;
}

}  // namespace chain::abi
