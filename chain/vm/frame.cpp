#include "chain/vm/frame.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace chain::vm {

namespace {

// Registers of locals: those that no single instruction demands.
constexpr std::array<Register, 6> kIntegerHomes{3, 5, 12, 9, 10, 11};
constexpr Register kFirstFloatHome = 8;
// Below so much use, saving and restoring the register costs more than it gains.
constexpr std::uint32_t kWorthwhile = 3;

}  // namespace

void Frame::begin(const Locals& locals, std::uint32_t parameters, const Plan& plan) {
    locals_ = &locals;
    parameters_ = parameters;
    height_max_ = plan.height_max;
    if (homes_.size() < locals.count()) homes_.resize(locals.count());
    ++stamp_;
    saved_count_ = 0;
    choose(Bank::integer, plan);
    choose(Bank::floating, plan);
    std::uint32_t held = 0;
    for (const Saved& each : saved())
        held += each.local >= parameters ? 1 : 0;
    in_memory_ = locals.count() - parameters - held;
    CHECK(bytes() + 8 <= counted_bytes());
    for (const Saved& each : saved())
        home(each.local).reg = each.reg;
}

// The most used ones; of equals the first.
void Frame::choose(Bank bank, const Plan& plan) {
    candidates_.clear();
    for (const LocalUse& use : plan.uses) {
        if (use.weight >= kWorthwhile && bank_of(locals_->type(use.local)) == bank) {
            candidates_.push_back(use);
        }
    }
    const std::size_t many =
        std::min(candidates_.size(), bank == Bank::floating ? kFloats : kIntegers);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(many);
    std::partial_sort(candidates_.begin(),
                      end,
                      candidates_.end(),
                      [](const LocalUse& left, const LocalUse& right) {
                          if (left.weight != right.weight) return left.weight > right.weight;
                          return left.local < right.local;
                      });
    for (std::size_t i = 0; i < many; ++i) {
        const Register reg =
            bank == Bank::floating ? static_cast<Register>(kFirstFloatHome + i) : kIntegerHomes[i];
        saved_[saved_count_++] = {bank, reg, candidates_[i].local};
    }
}

void Frame::find(std::uint32_t local, Home& home) {
    home = {stamp_, locals_->type(local), kNone, 0, -1};
    if (local < parameters_) {
        home.place = static_cast<std::int32_t>(bytes() + 8 + 8 * (parameters_ - 1 - local));
        return;
    }
    std::uint32_t rank = local - parameters_;
    for (const Saved& each : saved())
        rank -= each.local >= parameters_ && each.local < local ? 1 : 0;
    home.place = static_cast<std::int32_t>(8 * (height_max_ + rank));
}

}  // namespace chain::vm
