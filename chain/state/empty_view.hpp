#pragma once

#include "chain/state/state.hpp"

#include <optional>

namespace chain {

// The state before the first one: no rows.
class EmptyView final : public StateView {
  public:
    [[nodiscard]] Value find(Table /*table*/, base::ByteView /*key*/) const override {
        return nullptr;
    }
    [[nodiscard]] std::optional<Row> at_or_after(Table /*table*/,
                                                 base::ByteView /*key*/) const override {
        return std::nullopt;
    }
    [[nodiscard]] std::optional<Row> before(Table /*table*/,
                                            base::ByteView /*key*/) const override {
        return std::nullopt;
    }
};

}  // namespace chain
