#pragma once

#include "chain/abi/serializer.hpp"

namespace chain::abi {

// Whether an ABI makes sense, in nodeos' order and with its texts. Takes time in proportion to
// the size of the ABI: chains of types and of base structs are followed 32 steps.
class Validator {
  public:
    explicit Validator(const Serializer& abi) : abi_(abi) {}

    [[nodiscard]] base::Result<void> check() const;

  private:
    [[nodiscard]] base::Result<void> check_duplicates() const;
    [[nodiscard]] base::Result<void> check_types() const;
    [[nodiscard]] base::Result<void> check_structs() const;
    [[nodiscard]] base::Result<void> check_bases(const StructDefinition& definition) const;
    [[nodiscard]] base::Result<void> check_uses() const;
    [[nodiscard]] base::Result<void> expect_type(std::string_view type) const;

    const Serializer& abi_;
};

}  // namespace chain::abi
