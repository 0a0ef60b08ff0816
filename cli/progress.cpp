#include "cli/progress.hpp"

#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

namespace {

std::string peers_text(const Json& json) {
    const std::uint64_t count = number_of(json, "peers");
    return fmt::format("{} peer{}", count, count == 1 ? "" : "s");
}

// What is known of the end, and why nothing moves.
std::string rest_of(const Json& json) {
    constexpr double kSecond = 1000;
    std::string text;
    const Json& left = member_of(json, "eta_ms");
    if (left.is_number()) text = fmt::format(", {:.0f} s left", left.get<double>() / kSecond);
    const std::string waiting = text_of(json, "waiting_for");
    if (!waiting.empty()) text += "; " + waiting;
    return text;
}

std::string snapshot_text(const Json& snapshot) {
    const std::string stage = text_of(snapshot, "stage");
    // None is chosen.
    if (stage == "idle") return "a snapshot is needed" + rest_of(snapshot);
    std::string text =
        fmt::format("snapshot of block {}, {}", number_of(snapshot, "block_num"), stage);
    if (number_of(snapshot, "chunks_all") > 0) {
        text += fmt::format(
            ": {} of {} chunks", number_of(snapshot, "chunks"), number_of(snapshot, "chunks_all"));
    }
    return text + fmt::format(", {}/s, {}{}",
                              size_text(number_of(snapshot, "bytes_per_second")),
                              peers_text(snapshot),
                              rest_of(snapshot));
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20U;
    constexpr std::uint64_t kManyMebibytes = 10;
    if (bytes < kManyMebibytes * kMebibyte) return fmt::format("{} KiB", (bytes + 1023) >> 10U);
    return fmt::format("{} MiB", bytes >> 20U);
}

std::string sync_text(const Json& sync) {
    const Json& snapshot = member_of(sync, "snapshot");
    if (snapshot.is_object()) return snapshot_text(snapshot);
    const std::uint64_t height = number_of(sync, "block_num");
    return fmt::format("block {} of {}, {} blocks/s, {}/s, {}{}",
                       height,
                       std::max(height, number_of(sync, "target")),
                       number_of(sync, "blocks_per_second"),
                       size_text(number_of(sync, "bytes_per_second")),
                       peers_text(sync),
                       rest_of(sync));
}

bool is_at_head(const Json& sync) {
    return number_of(sync, "peers") > 0 && !member_of(sync, "snapshot").is_object() &&
           text_of(sync, "mode") != "last_irr_catch_up" &&
           number_of(sync, "block_num") >= number_of(sync, "target");
}

}  // namespace cli
