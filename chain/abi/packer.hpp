#pragma once

#include "chain/abi/serializer.hpp"
#include "chain/abi/traversal.hpp"
#include "chain/abi/type_name.hpp"

namespace chain::abi {

// One translation from JSON to binary. Used up by run().
class Packer {
  public:
    Packer(const Serializer& abi, std::string_view root);

    [[nodiscard]] base::Result<base::Bytes> run(std::string_view type, const Json& json);

  private:
    void value(std::string_view type, const Json& json);
    void value_inside(std::string_view type, const Json& json);
    void each_item(const TypeName& name, const Json& json);
    void items(const TypeName& name, const Json& json);
    void fixed_items(const TypeName& name, const Json& json);
    void variant(const VariantDefinition& definition, const Json& json);
    void structure(const StructDefinition& definition, const Json& json);
    void from_object(const StructDefinition& definition, const Json& json);
    void base_of(const StructDefinition& definition, const Json& json);
    void from_array(const StructDefinition& definition, const Json& json);
    // `last`: only the last field of a struct may itself end in extensions.
    void member(const FieldDefinition& field, bool last, const Json& json);
    void missing(const FieldDefinition& field, bool after_extension);
    void check_size();

    const Serializer& abi_;
    base::Writer out_;
    Traversal at_;
    bool extensions_allowed_ = true;
};

}  // namespace chain::abi
