#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/abi/traversal.hpp"
#include "chain/abi/type_name.hpp"

namespace chain::abi {

// One translation from binary to JSON. Used up by run().
class Unpacker {
  public:
    Unpacker(const Serializer& abi, std::string_view root, base::ByteView bytes);

    [[nodiscard]] base::Result<Json> run(std::string_view type);

  private:
    // Each returns null after an error, which run() then reports.
    Json value(std::string_view type);
    Json value_inside(std::string_view type);
    Json items(const TypeName& name, std::size_t count);
    Json list(const TypeName& name);
    Json optional(const TypeName& name);
    Json variant(const VariantDefinition& definition);
    Json structure(std::string_view type);
    void members(const StructDefinition& definition, Json& object);
    void members_inside(const StructDefinition& definition, Json& object);
    void member(const FieldDefinition& field, Json& object);
    Json builtin(const TypeName& name);
    void missing(const FieldDefinition& field, bool after_extension);

    const Serializer& abi_;
    base::Reader in_;
    Traversal at_;
};

}  // namespace chain::abi
