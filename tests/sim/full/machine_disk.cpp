#include "base/check.hpp"
#include "tests/sim/full/machine.hpp"

// What happens to the disk of a machine besides power cuts.

namespace sim::full {

void Machine::lose_journal() {
    logs_.clear();
}

void Machine::replace_disk() {
    const auto first = node::Core::first_batch(genesis_);
    CHECK(first.has_value());
    storage_.replace(*first);
    logs_.clear();
    in_flight_.clear();
    is_broken_ = false;
}

void Machine::copy_disk() {
    if (!has_bad_disk()) copy_ = Copy{storage_.rows(), logs_};
}

bool Machine::put_back_copy() {
    if (!copy_) return false;
    storage_.replace(copy_->rows);
    logs_ = copy_->logs;
    in_flight_.clear();
    is_broken_ = false;
    return true;
}

void Machine::flip_bit(Chance& chance) {
    if (logs_.empty() || chance.percent(50)) return storage_.damage(chance.below(SIZE_MAX / 2));
    const auto chosen =
        std::next(logs_.begin(), static_cast<std::ptrdiff_t>(chance.below(logs_.size())));
    base::Bytes& log = chosen->second;
    if (!log.empty()) log[chance.below(log.size())] ^= std::byte{1} << chance.below(8);
}

void Machine::break_disk() {
    is_broken_ = true;
    storage_.fail_reads(base::Error{base::Errc::unavailable, kBrokenDisk});
}

}  // namespace sim::full
