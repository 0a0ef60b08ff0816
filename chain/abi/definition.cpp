#include "chain/abi/definition.hpp"

#include "chain/types/exception.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain::abi {

namespace {

// Every text and list fits into the whole; a list's items are read one by one.
std::string read_text(base::Reader& in, std::string_view field) {
    return in.string(field, kAbiBytesMax);
}

void write_texts(base::Writer& out, const std::vector<std::string>& texts) {
    out.varuint32(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& text : texts) {
        out.string(text);
    }
}

void read_texts(base::Reader& in, std::vector<std::string>& texts, std::string_view field) {
    const std::size_t count = in.count(field, kAbiBytesMax);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        texts.push_back(read_text(in, field));
    }
}

// `write(item)` for each item, after their number.
template <class T, class Write>
void write_list(base::Writer& out, const std::vector<T>& items, Write write) {
    out.varuint32(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) {
        write(item);
    }
}

template <class T, class Read>
void read_list(base::Reader& in, std::vector<T>& items, std::string_view field, Read read) {
    const std::size_t count = in.count(field, kAbiBytesMax);
    for (std::size_t i = 0; i < count && in.ok(); ++i) {
        read(items.emplace_back());
    }
}

void read_struct(base::Reader& in, StructDefinition& item) {
    item.name = read_text(in, "structs.name");
    item.base = read_text(in, "structs.base");
    read_list(in, item.fields, "structs.fields", [&in](FieldDefinition& field) {
        field.name = read_text(in, "structs.fields.name");
        field.type = read_text(in, "structs.fields.type");
    });
}

void read_table(base::Reader& in, TableDefinition& item) {
    decode(in, item.name, "tables.name");
    item.index_type = read_text(in, "tables.index_type");
    read_texts(in, item.key_names, "tables.key_names");
    read_texts(in, item.key_types, "tables.key_types");
    item.type = read_text(in, "tables.type");
}

// The lists that every ABI has.
void read_first_part(base::Reader& in, Definition& abi) {
    abi.version = read_text(in, "version");
    read_list(in, abi.types, "types", [&in](TypeDefinition& item) {
        item.new_type_name = read_text(in, "types.new_type_name");
        item.type = read_text(in, "types.type");
    });
    read_list(in, abi.structs, "structs", [&in](auto& item) { read_struct(in, item); });
    read_list(in, abi.actions, "actions", [&in](ActionDefinition& item) {
        decode(in, item.name, "actions.name");
        item.type = read_text(in, "actions.type");
        item.ricardian_contract = read_text(in, "actions.ricardian_contract");
    });
    read_list(in, abi.tables, "tables", [&in](auto& item) { read_table(in, item); });
    read_list(in, abi.ricardian_clauses, "ricardian_clauses", [&in](ClauseDefinition& item) {
        item.id = read_text(in, "ricardian_clauses.id");
        item.body = read_text(in, "ricardian_clauses.body");
    });
    read_list(in, abi.error_messages, "error_messages", [&in](ErrorMessage& item) {
        item.error_code = in.u64("error_messages.error_code");
        item.error_msg = read_text(in, "error_messages.error_msg");
    });
    read_list(in, abi.abi_extensions, "abi_extensions", [&in](Extension& item) {
        decode(in, item, "abi_extensions");
    });
}

// The lists that came later; each may be missing at the end.
void read_second_part(base::Reader& in, Definition& abi) {
    if (in.left() == 0) return;
    read_list(in, abi.variants, "variants", [&in](VariantDefinition& item) {
        item.name = read_text(in, "variants.name");
        read_texts(in, item.types, "variants.types");
    });
    if (in.left() == 0) return;
    read_list(in, abi.action_results, "action_results", [&in](ActionResultDefinition& item) {
        decode(in, item.name, "action_results.name");
        item.result_type = read_text(in, "action_results.result_type");
    });
}

void write_first_part(base::Writer& out, const Definition& abi) {
    out.string(abi.version);
    write_list(out, abi.types, [&out](const TypeDefinition& item) {
        out.string(item.new_type_name);
        out.string(item.type);
    });
    write_list(out, abi.structs, [&out](const StructDefinition& item) {
        out.string(item.name);
        out.string(item.base);
        write_list(out, item.fields, [&out](const FieldDefinition& field) {
            out.string(field.name);
            out.string(field.type);
        });
    });
    write_list(out, abi.actions, [&out](const ActionDefinition& item) {
        encode(out, item.name);
        out.string(item.type);
        out.string(item.ricardian_contract);
    });
    write_list(out, abi.tables, [&out](const TableDefinition& item) {
        encode(out, item.name);
        out.string(item.index_type);
        write_texts(out, item.key_names);
        write_texts(out, item.key_types);
        out.string(item.type);
    });
    write_list(out, abi.ricardian_clauses, [&out](const ClauseDefinition& item) {
        out.string(item.id);
        out.string(item.body);
    });
}

void write_second_part(base::Writer& out, const Definition& abi) {
    write_list(out, abi.error_messages, [&out](const ErrorMessage& item) {
        out.u64(item.error_code);
        out.string(item.error_msg);
    });
    write_list(out, abi.abi_extensions, [&out](const Extension& item) { encode(out, item); });
    write_list(out, abi.variants, [&out](const VariantDefinition& item) {
        out.string(item.name);
        write_texts(out, item.types);
    });
    write_list(out, abi.action_results, [&out](const ActionResultDefinition& item) {
        encode(out, item.name);
        out.string(item.result_type);
    });
}

}  // namespace

base::Result<Definition> decode_definition(base::ByteView bytes) {
    if (bytes.size() > kAbiBytesMax) {
        return fail(
            Exception::unpack_exception,
            fmt::format("ABI has {} bytes, at most {} are read", bytes.size(), kAbiBytesMax));
    }
    base::Reader in(bytes);
    Definition abi;
    read_first_part(in, abi);
    if (in.ok()) read_second_part(in, abi);
    if (auto status = in.status(); !status) {
        return fail(Exception::unpack_exception,
                    "Unable to unpack the ABI: " + status.error().detail);
    }
    return abi;
}

base::Bytes encode_definition(const Definition& definition) {
    base::Writer out;
    write_first_part(out, definition);
    write_second_part(out, definition);
    return out.take();
}

}  // namespace chain::abi
