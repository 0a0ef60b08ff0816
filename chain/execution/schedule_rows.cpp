#include "chain/execution/schedule_rows.hpp"

#include "base/crypto/hash.hpp"
#include "chain/state/row_scan.hpp"

#include <utility>

namespace chain {

namespace {

using base::Bytes;
using base::ByteView;
using base::Reader;
using base::Result;
using base::Writer;

constexpr std::string_view kGlobalMisses = "misses";           // Misses by name.
constexpr std::string_view kGlobalFinalRange = "final_range";  // MountainRange

RowKey ready_key(Name producer) {
    return RowKey().raw(base::as_bytes("r")).name(producer);
}

RowKey amnesia_key(Name producer) {
    return RowKey().raw(base::as_bytes("a")).name(producer);
}

RowKey convicted_key(const PublicKey& key) {
    return RowKey().raw(base::as_bytes("b")).raw(base::crypto::sha256(pack(key)).view());
}

RowKey served_key(const PublicKey& key) {
    return RowKey().raw(base::as_bytes("k")).raw(base::crypto::sha256(pack(key)).view());
}

// Keeps the state's digest from moving for nothing.
void put_if_new(StateDelta& state, std::string_view name, Bytes value) {
    const Value old = state.find(Table::global, global_key(name));
    if (old && *old == value) return;
    state.put(Table::global, global_key(name), std::move(value));
}

}  // namespace

Result<ScheduleState> load_schedules(const StateView& state) {
    auto active = load_schedule(state);
    if (!active) return base::fail(std::move(active).error());
    ScheduleState schedules = first_schedules(*std::move(active));
    const Value change = state.find(Table::global, global_key(kGlobalPending));
    if (!change) return schedules;
    Reader in(*change);
    Schedule proposed;
    decode(in, proposed, "schedule");
    schedules.proposed_at = in.u32("proposed_at");
    schedules.pending_since = in.u32("pending_since");
    if (!in.finish()) return corrupt_row("row " + std::string(kGlobalPending));
    schedules.proposed = std::make_shared<const Schedule>(std::move(proposed));
    return schedules;
}

void put_schedules(StateDelta& state, const ScheduleState& schedules) {
    put_if_new(state, kGlobalSchedule, pack(*schedules.active));
    if (schedules.proposed == nullptr) {
        if (state.find(Table::global, global_key(kGlobalPending))) {
            state.erase(Table::global, global_key(kGlobalPending));
        }
        return;
    }
    Writer out;
    encode(out, *schedules.proposed);
    out.u32(schedules.proposed_at);
    out.u32(schedules.pending_since);
    put_if_new(state, kGlobalPending, out.take());
}

Result<std::optional<Schedule>> load_proposed(const StateView& state) {
    auto loaded = load_fixed(state);
    if (!loaded) return base::fail(std::move(loaded).error());
    std::optional<std::vector<ScheduleEntry>> fixed = *std::move(loaded);
    auto schedules = load_schedules(state);
    if (!schedules) return base::fail(std::move(schedules).error());
    const Schedule& newest = schedules->proposed ? *schedules->proposed : *schedules->active;
    if (!fixed || newest.entries == *fixed) return std::optional<Schedule>();
    return std::optional(Schedule{.version = newest.version + 1, .entries = *std::move(fixed)});
}

Result<std::optional<std::vector<ScheduleEntry>>> load_fixed(const StateView& state) {
    const Value row = state.find(Table::global, global_key(kGlobalFixed));
    if (!row) return std::optional<std::vector<ScheduleEntry>>();
    Reader in(*row);
    std::vector<ScheduleEntry> entries;
    decode_list(in, entries, {.count = kProducersMax, .item_bytes_min = 8 + 2 * 34}, "entries");
    if (!in.finish()) return corrupt_row("row " + std::string(kGlobalFixed));
    return std::optional(std::move(entries));
}

void put_fixed(StateDelta& state, const std::vector<ScheduleEntry>& entries) {
    Writer out;
    encode_list(out, entries);
    put_if_new(state, kGlobalFixed, out.take());
}

Result<MountainRange> load_final_range(const StateView& state) {
    const Value row = state.find(Table::global, global_key(kGlobalFinalRange));
    if (!row) return MountainRange{};
    return MountainRange::unpack(*row);
}

void put_final_range(StateDelta& state, const MountainRange& range) {
    state.put(Table::global, global_key(kGlobalFinalRange), range.packed());
}

Result<std::vector<Misses>> load_misses(const StateView& state) {
    const Value row = state.find(Table::global, global_key(kGlobalMisses));
    std::vector<Misses> misses;
    if (!row) return misses;
    Reader in(*row);
    decode_list(in, misses, {.count = kProducersMax, .item_bytes_min = 12}, "misses");
    if (!in.finish()) return corrupt_row("row " + std::string(kGlobalMisses));
    return misses;
}

void put_misses(StateDelta& state, const std::vector<Misses>& misses) {
    if (misses.empty()) {
        if (state.find(Table::global, global_key(kGlobalMisses))) {
            state.erase(Table::global, global_key(kGlobalMisses));
        }
        return;
    }
    Writer out;
    encode_list(out, misses);
    put_if_new(state, kGlobalMisses, out.take());
}

std::optional<Ready> find_ready(const StateView& state, Name producer) {
    const Value row = state.find(Table::producer, ready_key(producer));
    if (!row) return std::nullopt;
    auto ready = unpack<Ready>(*row, "ready");
    return ready ? std::optional(*std::move(ready)) : std::nullopt;
}

void put_ready(StateDelta& state, Name producer, const Ready& ready) {
    state.put(Table::producer, ready_key(producer), pack(ready));
}

std::optional<Amnesia> find_amnesia(const StateView& state, Name producer) {
    const Value row = state.find(Table::producer, amnesia_key(producer));
    if (!row) return std::nullopt;
    auto amnesia = unpack<Amnesia>(*row, "amnesia");
    return amnesia ? std::optional(*std::move(amnesia)) : std::nullopt;
}

void put_amnesia(StateDelta& state, Name producer, const Amnesia& amnesia) {
    state.put(Table::producer, amnesia_key(producer), pack(amnesia));
}

bool is_convicted(const StateView& state, const PublicKey& key) {
    return state.find(Table::producer, convicted_key(key)) != nullptr;
}

void put_convicted(StateDelta& state, const ConvictedKey& convicted) {
    state.put(Table::producer, convicted_key(convicted.key), pack(convicted));
}

std::optional<Name> find_served(const StateView& state, const PublicKey& key) {
    const Value row = state.find(Table::producer, served_key(key));
    if (!row || row->size() != 8) return std::nullopt;
    return Name{decode_u64(*row)};
}

void put_served(StateDelta& state, const Schedule& schedule) {
    for (const ScheduleEntry& entry : schedule.entries) {
        for (const PublicKey& key : {entry.signing_key, entry.vote_key}) {
            if (find_served(state, key)) continue;
            state.put(Table::producer, served_key(key), encode_u64(entry.producer.value));
        }
    }
}

Result<std::vector<ConvictedKey>> convicted_keys(const StateView& state, std::size_t limit) {
    std::vector<ConvictedKey> keys;
    RowScan rows(state, Table::producer, base::as_bytes("b"));
    while (keys.size() < limit) {
        const auto row = rows.next();
        if (!row) break;
        auto convicted = unpack<ConvictedKey>(*row->value, "key");
        if (!convicted) return corrupt_row("row of a convicted key");
        keys.push_back(*std::move(convicted));
    }
    return keys;
}

}  // namespace chain
