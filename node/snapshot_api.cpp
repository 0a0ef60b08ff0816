#include "node/operator_api.hpp"
#include "node/snapshot_service.hpp"
#include "node/snapshots/needed_snapshot.hpp"

#include <algorithm>
#include <utility>

namespace node {

namespace {

constexpr const char* kCategory = "snapshot";
constexpr unsigned kCreated = 201;

Json to_json(const SnapshotStore::Listed& listed) {
    return {{"name", listed.name},
            {"block_num", listed.head.height},
            {"block_id", base::to_hex(listed.head.block.view())},
            {"manifest_id", base::to_hex(listed.id.view())},
            {"rows", chain::abi::json_integer(listed.head.rows)},
            {"bytes", chain::abi::json_integer(listed.head.bytes)},
            {"bytes_on_disk", chain::abi::json_integer(listed.packed_bytes)},
            {"kept", listed.is_kept}};
}

// As nodeos says it: the head is the block whose state it is.
Answer created(const ApiContext& context,
               const SnapshotService& service,
               const SnapshotStore::Listed& listed) {
    auto block = chain::BlockReader(*context.history.storage().snapshot()).at(listed.head.height);
    if (!block) return refuse(block.error());
    if (*block == nullptr) {
        return refuse({base::Errc::not_found,
                       "the block of snapshot " + listed.name + " is not stored any more"});
    }
    const chain::TimePoint time = context.times().time_of((*block)->header.slot);
    return Json{{"head_block_id", base::to_hex(listed.head.block.view())},
                {"head_block_num", listed.head.height},
                {"head_block_time", time.to_string()},
                {"version", listed.head.format},
                {"snapshot_name", service.store().path_of(listed).string()}};
}

Answer schedule(const ApiContext& context, SnapshotService& service, Params& params) {
    SnapshotRequest request;
    request.spacing = params.u32("block_spacing", 0);
    const chain::Height head = context.runtime.published()->head->header.height;
    request.start = params.u32("start_block_num", head + 1);
    request.end = params.u32("end_block_num", UINT32_MAX);
    request.description = params.text("snapshot_description");
    if (!params.ok()) return refuse(params.error());
    const auto added = service.schedule().add(std::move(request));
    if (!added) return refuse(added.error());
    return to_json(*added);
}

Answer unschedule(SnapshotService& service, Params& params) {
    const std::uint32_t id = params.u32("snapshot_request_id", 0);
    if (!params.ok()) return refuse(params.error());
    const auto removed = service.schedule().remove(id);
    if (!removed) return refuse(removed.error());
    return to_json(*removed);
}

Answer get_requests(const SnapshotService& service) {
    Json list = Json::array();
    for (const SnapshotRequest& each : service.schedule().list()) {
        Json request = to_json(each);
        request["pending_snapshots"] = Json::array();
        list.push_back(std::move(request));
    }
    return Json{{"snapshot_requests", std::move(list)}};
}

Answer get_snapshots(const SnapshotService& service) {
    Json list = Json::array();
    for (const SnapshotStore::Listed& each : service.store().list())
        list.push_back(to_json(each));
    const SnapshotService::Counters counters = service.counters();
    return Json{{"directory", service.store().directory().string()},
                {"snapshots", std::move(list)},
                {"made", chain::abi::json_integer(counters.made)},
                {"failed", chain::abi::json_integer(counters.failed)},
                {"skipped_busy", chain::abi::json_integer(counters.skipped_busy)},
                {"skipped_syncing", chain::abi::json_integer(counters.skipped_syncing)},
                {"making_ms", chain::abi::json_integer(counters.making_ms)}};
}

Answer remove_snapshot(const ApiContext& context, SnapshotService& service, Params& params) {
    const std::string name = params.text("name");
    if (!params.ok()) return refuse(params.error());
    auto free = check_removal(service.store(), name, context.history.storage());
    if (!free) return refuse(free.error());
    if (auto removed = service.store().remove(name); !removed) return refuse(removed.error());
    return Json{{"result", "ok"}};
}

}  // namespace

void add_snapshot_calls(Calls& calls, SnapshotService& service) {
    const ApiContext& context = calls.context();
    const auto options = [](const char* path, Need need, unsigned status) {
        return Calls::Options{path, need, kCategory, status, Calls::Reach::operators};
    };
    calls.later(options("/v1/producer/create_snapshot", Need::none, kCreated),
                [&service](const ApiContext& asked, Asked, const Respond& reply) {
                    service.create([&asked, &service, reply](const auto& made) {
                        const Answer answer =
                            made ? created(asked, service, *made) : refuse(made.error());
                        reply(answer ? json_response(*answer, kCreated)
                                     : error_response(answer.error(), asked.verbose_errors));
                    });
                });
    calls.plain(
        options("/v1/producer/schedule_snapshot", Need::required, kCreated),
        [&context, &service](Params& params) { return schedule(context, service, params); });
    calls.plain(options("/v1/producer/unschedule_snapshot", Need::required, kCreated),
                [&service](Params& params) { return unschedule(service, params); });
    calls.plain(options("/v1/producer/get_snapshot_requests", Need::none, kCreated),
                [&service](Params&) { return get_requests(service); });
    // Who may list them may be many, and each asks much.
    calls.plain({"/v1/bor/snapshots", Need::none, kCategory, 200, Calls::Reach::listed},
                [&service](Params&) { return get_snapshots(service); });
    calls.plain(
        options("/v1/bor/remove_snapshot", Need::required, 200),
        [&context, &service](Params& params) { return remove_snapshot(context, service, params); });
}

}  // namespace node
