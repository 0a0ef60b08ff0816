#pragma once

#include "chain/vm/machine.hpp"

#include <atomic>

namespace node {

// Of a machine only the way to end a run: for an engine that asks between actions and needs no
// memory from here.
class StopFlag final : public chain::vm::Machine {
  public:
    [[nodiscard]] std::unique_ptr<Code> publish(base::ByteView /*code*/) override {
        return nullptr;
    }
    [[nodiscard]] const Room* room(std::size_t /*below*/, std::size_t /*stack*/) override {
        return nullptr;
    }
    [[nodiscard]] bool grant(std::uint64_t /*bytes*/) override { return false; }
    void stop() override { is_stopped_ = true; }
    [[nodiscard]] bool is_stopped() const override { return is_stopped_; }
    void clear_stop() override { is_stopped_ = false; }

  private:
    std::atomic<bool> is_stopped_ = false;
};

}  // namespace node
