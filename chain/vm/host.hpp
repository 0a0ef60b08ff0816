#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace chain::vm {

// What a contract sees of its host: functions, linear memory, and the meter they share.
// Thread: everything here belongs to the thread of one Engine.

enum class ValueType : std::uint8_t { i32, i64, f32, f64 };

// Units of deterministic work that are left. One meter lives through all actions of a
// transaction; contract code and host functions charge the same one.
class Meter {
  public:
    // `is_stopped` outlives the meter; null or empty: nobody stops the run by the clock.
    explicit Meter(std::uint64_t units, const std::function<bool()>* is_stopped = nullptr)
        : remaining_(units), is_stopped_(is_stopped) {}

    // Takes `units`. False: fewer were left; the meter is then empty and exhausted, and
    // whoever asked must stop.
    [[nodiscard]] bool charge(std::uint64_t units) {
        if (units > remaining_) {
            remaining_ = 0;
            exhausted_ = true;
            return false;
        }
        remaining_ -= units;
        return true;
    }
    [[nodiscard]] std::uint64_t remaining() const { return remaining_; }
    // For work that takes long, about every 0.2 ms: false when the run was stopped, or had no
    // units left. The meter is then exhausted, and whoever asked must stop.
    [[nodiscard]] bool goes_on() {
        if (is_stopped_ != nullptr && *is_stopped_ && (*is_stopped_)()) exhausted_ = true;
        return !exhausted_;
    }
    // A charge failed, or the run was stopped. It stays so.
    [[nodiscard]] bool exhausted() const { return exhausted_; }

  private:
    std::uint64_t remaining_;
    const std::function<bool()>* is_stopped_;
    bool exhausted_ = false;
};

// Why a host function stopped the contract.
enum class Stop : std::uint8_t {
    error,  // The action fails; `stop_text` or the derived context says why.
    exit,   // eosio_exit: the action ends here and has succeeded.
};

// The host's own state during a run. The execution layer derives from it and casts back.
// A host function that returns false sets `stop` first (or has exhausted the meter).
class Context : base::Pinned {
  public:
    virtual ~Context() = default;

    Stop stop = Stop::error;
    std::string stop_text;
};

// Checked access to the linear memory of the running contract. Views are valid until the
// host function returns.
class Memory : base::Pinned {
  public:
    Memory() = default;
    // Over bytes that outlive it: for host functions without an engine.
    explicit Memory(std::span<std::byte> bytes) : data_(bytes.data()), size_(bytes.size()) {}

    // Nothing: the range leaves the memory. A length of zero fits anywhere up to the end.
    [[nodiscard]] std::optional<base::ByteView> read(std::uint32_t offset,
                                                     std::uint32_t length) const;
    // As read(), for writing.
    [[nodiscard]] std::optional<std::span<std::byte>> write(std::uint32_t offset,
                                                            std::uint32_t length);
    // The text from `offset` to the next zero byte, without it. Nothing: the memory, or
    // `limit` bytes, ended first.
    [[nodiscard]] std::optional<std::string_view> c_string(std::uint32_t offset,
                                                           std::uint32_t limit) const;
    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    friend class Engine;
    friend class Sandbox;
    std::byte* data_ = nullptr;
    std::uint64_t size_ = 0;
    std::uint8_t* dirty_ = nullptr;  // One byte for each 4,096; absent without an engine.
};

// A function that contracts may import from module "env".
struct HostFunction {
    std::string name;
    std::vector<ValueType> params;
    std::optional<ValueType> result;
    // Slots are raw 64 bits: i32 zero-extended, floats as their bit patterns; `result` is
    // ignored when there is none. False stops the contract, see Context. Must not throw.
    bool (*call)(Context& context,
                 Memory& memory,
                 Meter& meter,
                 const std::uint64_t* args,
                 std::uint64_t* result) = nullptr;
    // Units, charged before each call. 0: `call` charges by itself, as prices that change need.
    std::uint64_t base_price = 0;
};

// All importable functions. Immutable; may be shared by engines of several threads.
class HostTable {
  public:
    // The names differ from each other, and each has a `call`.
    explicit HostTable(std::vector<HostFunction> functions);

    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view name) const;
    [[nodiscard]] const HostFunction& at(std::uint32_t index) const { return functions_[index]; }
    [[nodiscard]] std::size_t size() const { return functions_.size(); }

  private:
    std::vector<HostFunction> functions_;  // Ordered by name.
};

}  // namespace chain::vm
