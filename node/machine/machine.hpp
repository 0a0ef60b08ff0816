#pragma once

#include "chain/vm/machine.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace node {

// The seam chain/vm/machine.hpp over Linux. No page of it is ever writable and executable, nor was
// writable before it became executable: systemd's MemoryDenyWriteExecute may be on.
//
// Thread: the engine's; stop() and is_stopped() are for any. Owns all memory that it gives out.
class ContractMachine final : public chain::vm::Machine {
  public:
    ContractMachine() = default;
    [[nodiscard]] std::unique_ptr<Code> publish(base::ByteView code) override;
    [[nodiscard]] const Room* room(std::size_t below, std::size_t stack) override;
    [[nodiscard]] bool grant(std::uint64_t bytes) override;

    void stop() override;
    [[nodiscard]] bool is_stopped() const override;
    void clear_stop() override;

    // Why publish(), room() or grant() failed last, for a message; empty: none did.
    [[nodiscard]] const std::string& reason() const { return reason_; }

  private:
    class MappedCode;

    // Addresses that nobody else gets, given back at the end. Without access at first.
    class Reservation : base::Pinned {
      public:
        Reservation() = default;
        ~Reservation();
        // Once. False: errno says why.
        [[nodiscard]] bool reserve(std::size_t bytes);
        void release();
        [[nodiscard]] std::byte* begin() const { return begin_; }

      private:
        std::byte* begin_ = nullptr;
        std::size_t bytes_ = 0;
    };

    [[nodiscard]] bool reserve_memory(std::size_t below, Room& made);
    [[nodiscard]] bool reserve_stack(std::size_t stack, Room& made);
    void store_stop(std::int64_t value) const;
    void remember(std::string_view what);

    Reservation memory_;
    Reservation stack_;
    Room room_{};
    std::size_t below_ = 0;  // What the room was made for.
    std::size_t stack_bytes_ = 0;
    std::uint64_t granted_ = 0;  // Bytes, whole pages.
    std::string reason_;

    // Keeps the flag and the word of the room equal, also while the room is made.
    std::mutex stop_mutex_;
    std::atomic<bool> stopped_ = false;
};

}  // namespace node
