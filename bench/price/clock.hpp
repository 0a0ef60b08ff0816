#pragma once

#include <cstdint>
#include <string>
#include <vector>

// What something costs beside its price, on this machine and on the reference machine.
namespace price {

// What something costs beside its price.
struct Result {
    std::string label;
    double nanoseconds = 0;  // Of processor time, for each.
    double units = 0;
};

// Measures rounds of equal work for some 20 ms of processor time, and keeps the fastest: what
// others do on the machine only ever adds.
class Clock {
  public:
    [[nodiscard]] bool wants_more() const { return total_ns_ < kEnough || rounds_ < kRoundsMin; }
    // How often to repeat the work in the next round.
    [[nodiscard]] std::uint64_t batch() const { return batch_; }
    void start();
    void stop(std::uint64_t times);
    void add_units(std::uint64_t units);  // Of the round that was stopped last.
    [[nodiscard]] Result result(const std::string& label) const;

  private:
    static constexpr double kEnough = 20e6;
    static constexpr int kRoundsMin = 3;

    double began_ns_ = 0;
    double total_ns_ = 0;
    double best_ns_ = 0;
    double units_ = 0;
    std::uint64_t batch_ = 1;
    std::uint64_t last_times_ = 1;
    int rounds_ = 0;
    bool is_best_ = false;
};

// What a nanosecond of this machine is on the reference machine, by key recoveries.
[[nodiscard]] double reference_scale();

// The table, worst first.
void print(std::vector<Result> results, double scale);

}  // namespace price
