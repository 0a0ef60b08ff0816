#pragma once

#include "base/rng.hpp"
#include "base/time.hpp"

#include <cstdint>
#include <vector>

namespace sim {

// Everything that a run leaves to chance, from one seed.
class Chance {
  public:
    explicit Chance(std::uint64_t seed) : rng_(seed) {}

    // Uniform in [0, bound); bound > 0.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(rng_.below(bound)); }
    // Uniform in [low, high].
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low +
               static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1)));
    }
    base::Duration between(base::Duration low, base::Duration high) {
        return base::Duration(between(low.count(), high.count()));
    }
    bool percent(int share) { return between(0, 99) < share; }
    template <class T>
    void shuffle(std::vector<T>& items) {
        for (std::size_t i = items.size(); i > 1; --i) {
            std::swap(items[i - 1], items[below(i)]);
        }
    }
    template <class T>
    T& pick(std::vector<T>& items) {
        return items[below(items.size())];
    }

  private:
    base::Rng rng_;
};

// A hash of all that happened: equal runs have equal hashes.
class Trace {
  public:
    void note(std::uint64_t value) {
        hash_ ^= value + 0x9E3779B97F4A7C15ULL + (hash_ << 6U) + (hash_ >> 2U);
        hash_ *= 0xBF58476D1CE4E5B9ULL;
        hash_ ^= hash_ >> 31U;
    }
    [[nodiscard]] std::uint64_t hash() const { return hash_; }

  private:
    std::uint64_t hash_ = 0x1234567;
};

}  // namespace sim
