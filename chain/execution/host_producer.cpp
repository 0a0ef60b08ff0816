#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"

namespace chain::host {

namespace {

using base::Result;
using std::int32_t;

// nodeos takes the length for a number of names, and copies as many bytes at most.
Result<int32_t> get_active_producers(const Call& call, OutputItems<sizeof(Name)> out) {
    const Result<Schedule> schedule = load_schedule(call.context.state());
    if (!schedule) return base::fail(schedule.error());
    base::Writer names;
    for (const ScheduleEntry& entry : schedule->entries) {
        names.u64(entry.producer.value);
    }
    const std::size_t room = out.bytes.size() / sizeof(Name);
    return copy_out(names.view(), Output{out.bytes.first(room)});
}

}  // namespace

void add_producer(Functions& out) {
    add<&get_active_producers, Access::context_aware, kSchedule>(out, "get_active_producers");
}

}  // namespace chain::host
