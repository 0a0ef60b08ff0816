#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"
#include "chain/execution/native_types.hpp"
#include "chain/execution/schedule_proposal.hpp"

namespace chain::host {

namespace {

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

Result<void> check_count(std::size_t count) {
    if (count <= kProducersMax) return {};
    return fail(Exception::wasm_execution_error,
                "Producer schedule exceeds the maximum producer count for this chain");
}

constexpr std::uint64_t kKeyUnits = 10'000;  // A root tells whether a key is on its curve.

// A varuint32 count and {name, key}: one key for blocks and votes.
Result<std::vector<ScheduleEntry>> unpack_keys(const Call& call, base::ByteView packed) {
    base::Reader in(packed);
    const std::size_t count = in.count("producers", packed.size(), 42);
    if (auto fits = check_count(count); !fits) return base::fail(fits.error());
    if (auto paid = call.charge(kKeyUnits * count); !paid) return base::fail(paid.error());
    std::vector<ScheduleEntry> entries(count);
    for (ScheduleEntry& entry : entries) {
        decode(in, entry.producer, "producer_name");
        decode(in, entry.signing_key, "block_signing_key");
        entry.vote_key = entry.signing_key;
        if (!in.ok()) break;
        if (base::crypto::is_on_curve(entry.signing_key)) continue;
        return fail(Exception::wasm_execution_error, "producer schedule includes an invalid key");
    }
    if (auto status = in.status(); !status) return base::fail(std::move(status).error());
    return entries;
}

// A varuint32 count and {name, authority}, of which only those of one key are taken.
Result<std::vector<ScheduleEntry>> unpack_authorities(base::ByteView packed) {
    auto schedule = unpack_start<SetProds>(packed, "producers");
    if (!schedule) return base::fail(std::move(schedule).error());
    if (schedule->single_keys) return std::move(schedule->entries);
    return fail(Exception::wasm_execution_error,
                "a producer's authority must be one key whose weight reaches the threshold: a "
                "block is signed with one key");
}

Result<int64_t> propose(const Call& call, Result<std::vector<ScheduleEntry>> entries) {
    if (!entries) return base::fail(std::move(entries).error());
    const auto version = propose_schedule(call.context, *std::move(entries));
    if (!version) return base::fail(done(false).error());
    return *version;
}

Result<int64_t> set_proposed_producers(const Call& call, Input packed) {
    if (auto allowed = must_write(call, "set_proposed_producers"); !allowed) {
        return base::fail(allowed.error());
    }
    return propose(call, unpack_keys(call, packed.bytes));
}

Result<int64_t> set_proposed_producers_ex(const Call& call, uint64_t format, Input packed) {
    if (auto allowed = must_write(call, "set_proposed_producers_ex"); !allowed) {
        return base::fail(allowed.error());
    }
    if (format > 1) {
        return fail(Exception::wasm_execution_error, "Producer schedule is in an unknown format!");
    }
    return propose(
        call, format == 0 ? unpack_keys(call, packed.bytes) : unpack_authorities(packed.bytes));
}

}  // namespace

void add_producer(Functions& out) {
    add<&get_active_producers, Access::context_aware, Cost::schedule>(out, "get_active_producers");
    add<&set_proposed_producers, Access::privileged, Cost::schedule>(out, "set_proposed_producers");
    add<&set_proposed_producers_ex, Access::privileged, Cost::schedule>(
        out, "set_proposed_producers_ex");
}

}  // namespace chain::host
