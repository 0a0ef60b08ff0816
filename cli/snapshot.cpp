#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/recoveries.hpp"
#include "cli/web_source.hpp"
#include "node/disk/file.hpp"
#include "node/snapshots/snapshot_load.hpp"
#include "node/snapshots/stopped_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>

// Snapshots: made and listed by the node that runs, or in the data directory of one that does not;
// checked and loaded by this program itself.

namespace cli {

namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;

// A large state takes its time.
constexpr auto kCreatePatience = std::chrono::hours(1);

// Warnings of what lies in a data directory.
class ErrorSink final : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level level) const override {
        return level >= base::Level::warn;
    }
    void write(base::Level /*level*/,
               std::string_view /*component*/,
               std::string_view line) override {
        fmt::print(stderr, "bor-cli: {}\n", line);
    }
};

base::Log error_log() {
    static ErrorSink sink;
    return {sink, "snapshot"};
}

Json to_json(const genesis::SnapshotHead& head) {
    return {{"block_num", head.height},
            {"block_id", base::to_hex(head.block.view())},
            {"chain_id", base::to_hex(head.chain_id.view())},
            {"format", head.format},
            {"rules_version", head.rules_version},
            {"rows", head.rows},
            {"bytes", head.bytes}};
}

Json to_json(const node::SnapshotStore::Listed& listed) {
    return {{"name", listed.name},
            {"block_num", listed.head.height},
            {"block_id", base::to_hex(listed.head.block.view())},
            {"manifest_id", base::to_hex(listed.id.view())},
            {"rows", listed.head.rows},
            {"bytes", listed.head.bytes},
            {"bytes_on_disk", listed.packed_bytes},
            {"kept", listed.is_kept}};
}

// --- Made and kept by a node --------------------------------------------------------------

base::Result<void> create(const Session& session, const Arguments& arguments) {
    if (arguments.has("data-dir")) {
        const fs::path data_dir = arguments.get("data-dir");
        const auto made = node::create_snapshot(data_dir, error_log());
        if (!made) return fail(made.error());
        if (session.json) return print_json(to_json(*made));
        fmt::print("snapshot of block {}: {}\n",
                   made->head.height,
                   (node::snapshots_in(data_dir) / made->name).string());
        return {};
    }
    const auto made =
        operator_call(session, "/v1/producer/create_snapshot", Json(), kCreatePatience);
    if (!made) return fail(made.error());
    if (session.json) return print_json(*made);
    fmt::print("snapshot of block {}: {}\n",
               shown(*made, "head_block_num"),
               shown(*made, "snapshot_name"));
    return {};
}

void print_listed(const Json& each) {
    fmt::print(
        "{:<28} {:>10} {:>12} {:>10} {:>10}  {}\n",
        shown(each, "name"),
        shown(each, "block_num"),
        shown(each, "rows"),
        number_of(each, "bytes") >> 10U,
        number_of(each, "bytes_on_disk") >> 10U,
        shown(each, "kept") == "true" ? "until it is removed" : "while it is among the newest");
}

base::Result<Json> listed(const Session& session, const Arguments& arguments) {
    if (!arguments.has("data-dir")) {
        auto told = operator_call(session, "/v1/bor/snapshots", Json());
        if (told || told.error().code != base::Errc::not_found) return told;
        return fail(base::Errc::not_found,
                    "the node serves the list of its snapshots on its Unix socket (--dir DIR or "
                    "--url unix:///PATH), and over TCP where http-category-address names snapshot");
    }
    const fs::path data_dir = arguments.get("data-dir");
    const auto all = node::list_snapshots(data_dir, error_log());
    if (!all) return fail(all.error());
    Json list = Json::array();
    for (const node::SnapshotStore::Listed& each : *all)
        list.push_back(to_json(each));
    return Json{{"directory", node::snapshots_in(data_dir).string()},
                {"snapshots", std::move(list)}};
}

base::Result<void> list(const Session& session, const Arguments& arguments) {
    const auto answer = listed(session, arguments);
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    fmt::print("in {}\n", shown(*answer, "directory"));
    if (list_of(*answer, "snapshots").empty()) {
        fmt::print("none yet: 'bor-cli snapshot create' makes one\n");
        return {};
    }
    fmt::print(
        "{:<28} {:>10} {:>12} {:>10} {:>10}  kept\n", "name", "block", "rows", "KiB", "KiB disk");
    for (const Json& each : list_of(*answer, "snapshots"))
        print_listed(each);
    return {};
}

base::Result<void> remove(const Session& session, const Arguments& arguments) {
    const std::string name = arguments.at("name");
    if (arguments.has("data-dir")) {
        return node::remove_snapshot(arguments.get("data-dir"), name, error_log());
    }
    const auto done = operator_call(session, "/v1/bor/remove_snapshot", Json{{"name", name}});
    if (!done) return fail(done.error());
    return {};
}

// --- Folders ------------------------------------------------------------------------------

base::Result<void> info(const Session& session, const Arguments& arguments) {
    const auto folder = node::SnapshotFolder::open(arguments.at("path"));
    if (!folder) return fail(folder.error());
    const auto packed = folder->packed_bytes();
    if (!packed) return fail(packed.error());
    Json json = to_json(folder->head());
    json["manifest_id"] = base::to_hex(folder->id().view());
    json["chunks"] = folder->manifest().chunks.size();
    json["bytes_on_disk"] = *packed;
    if (session.json) return print_json(json);
    for (const auto& [name, value] : json.items())
        fmt::print("{:<14} {}\n", name, shown(json, name));
    fmt::print("'bor-cli snapshot verify' checks that it is what it says\n");
    return {};
}

// Once a second.
void show_progress(const node::ChunkProgress& done) {
    const auto passed = static_cast<std::uint64_t>(done.passed.count());
    fmt::print(stderr,
               "{} of {} chunks, {} of {}, {}/s\n",
               done.chunks,
               done.chunks_all,
               size_text(done.bytes),
               size_text(done.bytes_all),
               size_text(passed > 0 ? done.bytes * 1000 / passed : 0));
}

Json to_json(const node::GoodSnapshot& good) {
    Json json = to_json(good.head);
    json["final_time"] = good.freshness.time.to_string();
    json["behind_seconds"] = good.freshness.behind_seconds;
    json["stale"] = good.freshness.is_stale();
    return json;
}

base::Result<node::LoadOptions> load_options(const Arguments& arguments) {
    node::LoadOptions how;
    how.data_dir = arguments.get("data-dir");
    how.genesis_json = arguments.get("genesis");
    how.show = show_progress;
    if (arguments.has("checkpoint")) {
        const auto checkpoint = genesis::checkpoint_from(arguments.get("checkpoint"));
        if (!checkpoint) return fail(checkpoint.error());
        how.checkpoint = *checkpoint;
    }
    auto recoveries = recoveries_of(arguments);
    if (!recoveries) return fail(recoveries.error());
    how.recoveries = std::move(recoveries->ids);
    how.recovery_files = std::move(recoveries->files);
    return how;
}

base::Result<node::GoodSnapshot> load(const std::string& place, const node::LoadOptions& how) {
    if (!is_web_address(place)) return node::load_snapshot(place, how);
    const auto source = WebSource::open(place);
    if (!source) return fail(source.error());
    const auto folder = node::fetch_snapshot(**source, how);
    if (!folder) return fail(folder.error());
    auto good = node::load_snapshot(*folder, how);
    // Else the next attempt would find the same.
    const bool stays = !good && good.error().code == Errc::unavailable;
    if (!stays) (void)node::remove_tree(folder->string());
    if (good) return good;
    return fail(good.error().code,
                fmt::format("{}, from {}", good.error().detail, (*source)->place_of("")));
}

base::Result<void> load(const Session& session, const Arguments& arguments) {
    if (!arguments.has("data-dir")) {
        return fail(Errc::invalid, "--data-dir DIR is needed: the node's, which does not run");
    }
    const auto how = load_options(arguments);
    if (!how) return fail(how.error());
    const auto good = load(arguments.at("place"), *how);
    if (!good) return fail(good.error());
    if (session.json) return print_json(to_json(*good));
    fmt::print("loaded: {} begins at block {}, {}\n{}\n",
               how->data_dir.string(),
               good->head.height,
               base::to_hex(good->head.block.view()),
               node::describe(good->freshness));
    return {};
}

base::Result<void> verify(const Session& session, const Arguments& arguments) {
    const auto folder = node::SnapshotFolder::open(arguments.at("path"));
    if (!folder) return fail(folder.error());
    if (!arguments.has("genesis") && !arguments.has("data-dir")) {
        return fail(Errc::invalid,
                    "--genesis FILE is needed, or --data-dir of a node: it says which chain");
    }
    const auto how = load_options(arguments);
    if (!how) return fail(how.error());
    const auto good = node::verify_snapshot(*folder, *how);
    if (!good) return fail(good.error());
    if (session.json) return print_json(to_json(*good));
    fmt::print("good: the state after block {}, {}, final by the schedules since genesis\n{}\n",
               good->head.height,
               base::to_hex(good->head.block.view()),
               node::describe(good->freshness));
    return {};
}

base::Result<void> export_to(const Session& /*session*/, const Arguments& arguments) {
    const auto folder = node::SnapshotFolder::open(arguments.at("path"));
    if (!folder) return fail(folder.error());
    return node::export_snapshot(*folder, arguments.at("to"));
}

}  // namespace

void add_snapshot_commands(std::vector<Command>& commands) {
    const Positional path{"path", "folder of the snapshot"};
    const Positional place{"place", "folder of the snapshot, or its address: http(s)://HOST/PATH"};
    const Option stopped{
        "data-dir", 0, "DIR", "of a node that does not run; else the one that does"};
    const Option target{"data-dir", 0, "DIR", "of the node, which does not run"};
    const Option genesis{"genesis", 0, "FILE", "genesis file; none: that of the data directory"};
    const Option checkpoint{"checkpoint",
                            0,
                            "HEIGHT:ID",
                            "of a block that the history must have, from somebody trusted"};
    std::vector<Option> checked{genesis, target, checkpoint};
    std::ranges::copy(recovery_options(), std::back_inserter(checked));
    checked.back().help = "of one that set the time back; none: recovery.txt of the data directory";
    commands.push_back(
        {"snapshot create", "Make a snapshot of the newest final block", {}, {stopped}, create});
    commands.push_back({"snapshot list", "Show the node's snapshots", {}, {stopped}, list});
    commands.push_back({"snapshot info", "Show what a snapshot says of itself", {path}, {}, info});
    commands.push_back({"snapshot verify", "Check all of a snapshot", {path}, checked, verify});
    commands.push_back({"snapshot export",
                        "Copy a snapshot, for a web server or another disk",
                        {path, {"to", "folder to make"}},
                        {},
                        export_to});
    commands.push_back(
        {"snapshot load", "Begin an empty data directory with a snapshot", {place}, checked, load});
    commands.push_back({"snapshot remove",
                        "Remove a snapshot of the node",
                        {{"name", "as 'snapshot list' shows it"}},
                        {stopped},
                        remove});
}

}  // namespace cli
