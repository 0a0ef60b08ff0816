#include "base/check.hpp"
#include "chain/types/evidence.hpp"
#include "chain/types/schedule_state.hpp"

#include <cstdint>

// Evidence comes from anybody, in an action: what decodes is packed back to the same bytes, and
// whatever it says, checking it ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const base::ByteView bytes = std::as_bytes(std::span(data, size));
    if (const auto evidence = chain::unpack<chain::Evidence>(bytes, "evidence")) {
        CHECK(base::equal(chain::pack(*evidence), bytes));
        (void)chain::check(*evidence, {});
    }
    if (const auto state = chain::unpack<chain::ScheduleState>(bytes, "schedules")) {
        CHECK(base::equal(chain::pack(*state), bytes));
    }
    return 0;
}
