#pragma once

#include "base/bytes.hpp"
#include "tests/sim/chance.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

namespace sim {

// A disk to which operations are written in order. What is not synced survives a crash of the
// process; of a power cut only the first part of it does.
//
// State: what is applied to it with `apply(state, operation)`; it is what a restart finds.
template <class State, class Operation>
class SimDisk {
  public:
    void write(Operation operation) { unsynced_.push_back(std::move(operation)); }
    // How much was written so far: what to sync up to.
    [[nodiscard]] std::size_t position() const { return synced_ + unsynced_.size(); }
    void sync(std::size_t position) {
        while (synced_ < position && !unsynced_.empty()) {
            apply_first();
        }
    }
    // The process dies: the kernel keeps what was written.
    void kill() { sync(position()); }
    // The power goes. Returns the operation that was being written, which may be torn.
    template <class Torn>
    void cut_power(Chance& chance, Torn torn) {
        const std::size_t kept = chance.below(unsynced_.size() + 1);
        for (std::size_t i = 0; i < kept; ++i) {
            apply_first();
        }
        if (!unsynced_.empty()) torn(state_, unsynced_.front());
        synced_ += unsynced_.size();
        unsynced_.clear();
    }
    [[nodiscard]] const State& state() const { return state_; }
    [[nodiscard]] State& state() { return state_; }

  private:
    void apply_first() {
        apply(state_, std::move(unsynced_.front()));
        unsynced_.pop_front();
        ++synced_;
    }

    State state_;
    std::deque<Operation> unsynced_;
    std::size_t synced_ = 0;
};

// The first part of a page: what a power cut leaves of a write. The parts are smaller than a
// sector, which would hold all that most pages say: those would never be torn.
[[nodiscard]] inline base::Bytes torn_page(const base::Bytes& page, Chance& chance) {
    constexpr std::size_t kPart = 64;
    const auto blank = std::find_if(
        page.rbegin(), page.rend(), [](std::byte byte) { return byte != std::byte{0}; });
    const auto used = static_cast<std::size_t>(page.rend() - blank);
    base::Bytes torn(page.size());
    std::copy_n(page.begin(), chance.below(used / kPart + 1) * kPart, torn.begin());
    return torn;
}

}  // namespace sim
