#pragma once

#include "tests/sim/chance.hpp"

#include <array>
#include <cstddef>
#include <vector>

namespace sim {

// When a message arrives, if at all: loss, duplication, reordering by unequal delays, and links
// that are cut in one direction or both. Knows nothing of messages.
class SimNetwork {
  public:
    struct Weather {
        int loss_percent = 0;
        int duplicate_percent = 0;
        int slow_percent = 0;  // Of messages that take up to `slow_max`.
        base::Duration delay_min = std::chrono::milliseconds(1);
        base::Duration delay_max = std::chrono::milliseconds(20);
        base::Duration slow_max = std::chrono::milliseconds(700);
    };
    // The times after now at which it arrives: none, one or two of them.
    struct Arrivals {
        std::array<base::Duration, 2> after{};
        std::size_t count = 0;
    };

    SimNetwork(std::size_t nodes, Chance& chance)
        : cut_(nodes, std::vector<char>(nodes)), chance_(chance) {}

    void set(const Weather& weather) { weather_ = weather; }
    [[nodiscard]] Arrivals send(std::size_t from, std::size_t to) {
        Arrivals arrivals;
        if (cut_[from][to] != 0 || chance_.percent(weather_.loss_percent)) return arrivals;
        arrivals.after[arrivals.count++] = delay();
        if (chance_.percent(weather_.duplicate_percent)) {
            arrivals.after[arrivals.count++] = delay();
        }
        return arrivals;
    }

    // --- Faults ---
    void heal() {
        for (auto& row : cut_) {
            row.assign(row.size(), 0);
        }
    }
    // Between those on this side and all others.
    void partition(const std::vector<char>& side) {
        heal();
        for (std::size_t a = 0; a < cut_.size(); ++a) {
            for (std::size_t b = 0; b < cut_.size(); ++b) {
                cut_[a][b] = static_cast<char>(side[a] != side[b]);
            }
        }
    }
    // One direction of one link.
    void cut(std::size_t from, std::size_t to) { cut_[from][to] = 1; }
    [[nodiscard]] bool is_cut(std::size_t from, std::size_t to) const {
        return cut_[from][to] != 0;
    }

  private:
    base::Duration delay() {
        if (chance_.percent(weather_.slow_percent)) {
            return chance_.between(weather_.delay_max, weather_.slow_max);
        }
        return chance_.between(weather_.delay_min, weather_.delay_max);
    }

    std::vector<std::vector<char>> cut_;
    Chance& chance_;
    Weather weather_;
};

}  // namespace sim
