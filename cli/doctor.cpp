#include "cli/doctor.hpp"

#include "chain/types/time.hpp"
#include "cli/network_file.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace cli {

namespace {

using base::fail;

constexpr auto kWatch = std::chrono::seconds(2);
constexpr std::uint64_t kLagMillisecondsMax = 10'000;
constexpr std::uint64_t kFreeBytesMin = std::uint64_t{1} << 30U;

std::string for_people(std::int64_t seconds) {
    constexpr std::int64_t kMinute = 60;
    if (seconds < 3 * kMinute) return fmt::format("{} s", seconds);
    const std::int64_t minutes = seconds / kMinute;
    return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

// By the node's clock; nothing: it does not tell, or that clock is wrong.
std::optional<std::int64_t> seconds_since_final(const Json& finality) {
    if (member_of(finality, "own_clock_off_ms").is_number()) return std::nullopt;
    const auto now = chain::TimePoint::from_string(text_of(finality, "time"));
    const auto dated =
        chain::TimePoint::from_string(text_of(member_of(finality, "final"), "timestamp"));
    if (!now || !dated) return std::nullopt;
    // A final block that is dated ahead tells nothing about since when.
    if (*now < *dated) return std::nullopt;
    return (now->microseconds - dated->microseconds) / 1'000'000;
}

// Where the node stands towards its peers, and how long until it is at their head.
Finding check_sync(const Json& sync) {
    const Json& snapshot = member_of(sync, "snapshot");
    const bool is_stuck =
        !text_of(sync, "waiting_for").empty() || !text_of(snapshot, "waiting_for").empty();
    if (is_stuck) return {"sync", false, fmt::format("The node waits: {}.", sync_text(sync))};
    if (is_at_head(sync)) {
        return {
            "sync",
            true,
            fmt::format("The node has what its {} peers have as final.", number_of(sync, "peers"))};
    }
    if (text_of(sync, "mode") == "none") return {"sync", true, "The node has no peers."};
    return {"sync", true, fmt::format("The node catches up: {}.", sync_text(sync))};
}

// "since TIME (35 s)": of the last final block, by the node's clock.
std::string since_final(const Json& finality) {
    const std::string dated = text_of(member_of(finality, "final"), "timestamp");
    const auto seconds = seconds_since_final(finality);
    if (!seconds) return "since " + dated;
    return fmt::format("since {} ({})", dated, for_people(*seconds));
}

// Who could make it go on, as far as this node sees.
std::string why_head_stays(const Json& finality) {
    if (shown(finality, "paused") == "true") {
        return "the producer of this node is paused (POST /v1/producer/resume on its Unix socket "
               "lets it go on)";
    }
    if (std::string trouble = text_of(finality, "trouble"); !trouble.empty()) return trouble;
    const Json& validators = list_of(finality, "validators");
    std::size_t here = 0;
    for (const Json& each : validators) {
        if (shown(each, "own") == "true" || shown(each, "connected") == "true") ++here;
    }
    return fmt::format(
        "{} of {} validators can be reached, the clocks of {} were heard, and {} "
        "must agree{}",
        here,
        validators.size(),
        number_of(finality, "clocks_heard"),
        number_of(finality, "quorum"),
        here < number_of(finality, "quorum")
            ? ""
            : "; see the log of this node, and of the validators named below");
}

Finding check_head(const Session& session, const Json& before) {
    const std::uint64_t first = number_of(before, "head_block_num");
    std::this_thread::sleep_for(kWatch);
    const auto after = call(session.url, "/v1/chain/get_info", Json());
    if (!after) return {"head", false, after.error().detail};
    const std::uint64_t second = number_of(*after, "head_block_num");
    if (second > first) {
        return {"head",
                true,
                fmt::format("The head advances: block {}, {} new ones in {} s.",
                            second,
                            second - first,
                            kWatch.count())};
    }
    const auto sync = call(session.url, "/v1/bor/sync", Json());
    if (sync && member_of(*sync, "snapshot").is_object()) {
        return {"head",
                true,
                fmt::format("The head stays at block {} while a snapshot comes.", second)};
    }
    const auto finality = call(session.url, "/v1/bor/finality", Json());
    if (!finality) return {"head", false, finality.error().detail};
    return {"head",
            false,
            fmt::format("The head stays at block {}, and nothing becomes final {}: {}.",
                        second,
                        since_final(*finality),
                        why_head_stays(*finality))};
}

// What stops this node comes first; a key that went on without its journal stops nothing.
std::string why_not_final(const Json& finality) {
    if (std::string trouble = text_of(finality, "trouble"); !trouble.empty()) return trouble + ".";
    if (std::string waiting = text_of(finality, "waiting"); !waiting.empty()) return waiting;
    for (const Json& each : list_of(finality, "findings"))
        if (text_of(each, "kind") != "amnesia") return text_of(each, "text");
    return "'bor-cli net peers' and the log of this node may say why; or its disk is too slow.";
}

Finding check_finality(const Json& finality, bool at_head) {
    const std::uint64_t blocks = number_of(finality, "lag_blocks");
    const std::uint64_t milliseconds = number_of(finality, "lag_ms");
    // A chain that stands still has no lag, and a node that catches up no newer block yet.
    const auto seconds = seconds_since_final(finality);
    const bool halted =
        at_head && seconds && *seconds * 1'000 > static_cast<std::int64_t>(kLagMillisecondsMax);
    const bool good = milliseconds <= kLagMillisecondsMax && !halted;
    const std::string why = why_not_final(finality);
    if (halted) {
        return {"finality",
                false,
                fmt::format("Nothing has become final {}, after block {}: {}",
                            since_final(finality),
                            number_of(member_of(finality, "final"), "block_num"),
                            why)};
    }
    return {"finality",
            good,
            fmt::format("The final block is {} blocks ({} ms) behind the head{}",
                        blocks,
                        milliseconds,
                        good ? "." : ": " + why)};
}

Finding check_producer(const Json& finality) {
    const std::string trouble = text_of(finality, "trouble");
    if (!trouble.empty()) {
        return {"producer", false, fmt::format("The node is in trouble: {}.", trouble)};
    }
    if (shown(finality, "paused") == "true") {
        return {"producer",
                false,
                "The producer is paused; POST /v1/producer/resume on its Unix socket lets it go "
                "on."};
    }
    return {"producer", true, "The producer is neither paused nor in trouble."};
}

// What was lost when the node started is there again once it is where its peers are.
void check_storage(const Json& finality, bool at_head, std::vector<Finding>& out) {
    for (const Json& each : list_of(finality, "storage_losses")) {
        const std::string text = shown(each);
        out.push_back({"storage",
                       at_head,
                       fmt::format("At this start {}; {}. Check the disk.",
                                   text,
                                   at_head ? "what was missing came from its peers"
                                           : "what is missing is fetched from its peers")});
    }
}

// What the node itself finds wrong with the validators, one finding each.
void check_validators(const Json& finality, std::vector<Finding>& out) {
    const Json& wrong = list_of(finality, "findings");
    for (const Json& each : wrong)
        out.push_back({text_of(each, "kind"), false, text_of(each, "text")});
    if (!wrong.empty()) return;
    const std::size_t count = list_of(finality, "validators").size();
    out.push_back(
        {"agreement",
         true,
         fmt::format("{} can be reached, {} in time, and vote{}.",
                     count == 1 ? "The one validator" : fmt::format("All {} validators", count),
                     count == 1 ? "is" : "are",
                     count == 1 ? "s" : "")});
}

std::string on_one_line(const base::Error& error) {
    std::string text;
    for (const char c : error.detail) {
        const bool is_blank = c == '\n' || c == ' ';
        if (!is_blank) text += c;
        if (is_blank && !text.empty() && text.back() != ' ') text += ' ';
    }
    return text;
}

Finding check_disk(const Session& session) {
    const auto size = operator_call(session, "/v1/db_size/get", Json());
    if (!size && size.error().code == base::Errc::not_found) {
        return {"disk",
                true,
                "How much space is left is not told (plugin db_size_api_plugin is not on)."};
    }
    // Only the node's operator is told.
    if (!size) {
        return {"disk",
                true,
                fmt::format("How much space is left is not told: {}", on_one_line(size.error())),
                true};
    }
    const std::uint64_t free = number_of(*size, "free_bytes");
    const bool good = free >= kFreeBytesMin;
    return {"disk",
            good,
            fmt::format("The data directory has {} MiB free{}",
                        free >> 20U,
                        good ? "." : ": make room before blocks stop.")};
}

std::string joined(const Json& texts, std::string_view between) {
    std::string all;
    for (const Json& each : texts) {
        if (!all.empty()) all += between;
        all += shown(each);
    }
    return all;
}

void check_broker(const Session& session, std::vector<Finding>& out) {
    const auto broker = call(session.url, "/v1/bor/broker", Json());
    if (!broker || member_of(*broker, "broker").is_null()) return;
    const std::string name = "Broker " + shown(*broker, "broker");
    const std::string trouble = text_of(*broker, "trouble");
    if (!trouble.empty()) {
        out.push_back({"broker", false, fmt::format("{} serves nobody: {}.", name, trouble)});
        return;
    }
    if (member_of(*broker, "boot").is_null()) {
        out.push_back({"broker",
                       false,
                       name + " serves nobody yet: its start is not in a final block; ask again in "
                              "some seconds."});
        return;
    }
    if (shown(*broker, "disk_low") == "true") {
        out.push_back({"broker",
                       false,
                       name + " takes no records: less than 5 % of its disk is free; make room."});
        return;
    }
    if (const std::uint64_t unserved = number_of(*broker, "unserved"); unserved > 0) {
        out.push_back({"broker",
                       false,
                       fmt::format("{} does not serve {} of its partitions: {}.",
                                   name,
                                   unserved,
                                   joined(list_of(*broker, "unserved_reasons"), "; "))});
        return;
    }
    out.push_back({"broker",
                   true,
                   fmt::format("{} serves {} clients at {}, and leads {} of its {} partitions.",
                               name,
                               number_of(*broker, "connections"),
                               joined(list_of(*broker, "listen"), ", "),
                               number_of(*broker, "led"),
                               number_of(*broker, "partitions"))});
}

// Whose keys vote: of it, too, when it keeps still.
bool is_validator(const Session& session) {
    const auto finality = call(session.url, "/v1/bor/finality", Json());
    return finality && std::ranges::any_of(list_of(*finality, "validators"), [](const Json& each) {
               return shown(each, "own") == "true";
           });
}

// A validator's keys may be in the wallet; another node needs it for nothing. A node that does not
// answer may be either. Where nothing names a wallet the keys may be elsewhere: a node whose key is
// in one that does not answer says so itself.
Finding check_wallet(const Session& session, bool has_votes) {
    const auto wallets = call(session.wallet_url, "/v1/wallet/list_wallets", Json());
    if (!wallets && (!has_votes || !session.names_wallet)) {
        const std::string_view why = has_votes ? "no --wallet-url names one"
                                               : "this node, which is no validator, needs none";
        return {"wallet",
                true,
                fmt::format("No wallet daemon answers, and {}; commands that sign need one: {}",
                            why,
                            wallets.error().detail),
                true};
    }
    if (!wallets) {
        return {"wallet",
                false,
                fmt::format("The wallet daemon does not answer: {}", wallets.error().detail)};
    }
    std::size_t unlocked = 0;
    for (const Json& name : *wallets) {
        if (name.is_string() && name.get<std::string>().ends_with('*')) ++unlocked;
    }
    return {
        "wallet",
        true,
        fmt::format(
            "The wallet daemon answers: {} wallets open, {} unlocked.", wallets->size(), unlocked)};
}

// " (FILE)": of a node of the local network.
std::string log_named(const Session& session) {
    const auto file = NetworkFile::read(session.dir);
    if (!file) return {};
    const auto of = std::ranges::find(file->validators, session.url, &NetworkFile::Validator::http);
    return of == file->validators.end() ? "" : " (" + of->log + ")";
}

}  // namespace

std::vector<Finding> examine_node(const Session& session) {
    std::vector<Finding> findings;
    const auto info = call(session.url, "/v1/chain/get_info", Json());
    if (info) {
        findings.push_back({"node",
                            true,
                            fmt::format("The node at {} answers, chain {}, version {}.",
                                        session.url,
                                        text_of(*info, "chain_id").substr(0, 12),
                                        text_of(*info, "server_version_string"))});
        findings.push_back(check_head(session, *info));
        const auto sync = call(session.url, "/v1/bor/sync", Json());
        findings.push_back(sync ? check_sync(*sync) : Finding{"sync", false, sync.error().detail});
        // Alone it has nobody to catch up with.
        const bool at_head = sync && (is_at_head(*sync) || text_of(*sync, "mode") == "none");
        if (const auto finality = call(session.url, "/v1/bor/finality", Json())) {
            findings.push_back(check_finality(*finality, at_head));
            check_storage(*finality, at_head, findings);
            check_validators(*finality, findings);
            findings.push_back(check_producer(*finality));
        } else {
            findings.push_back({"finality", false, finality.error().detail});
        }
        findings.push_back(check_disk(session));
        check_broker(session, findings);
    } else {
        findings.push_back(
            {"node",
             false,
             fmt::format(
                 "The node does not answer: {}. If it has stopped, the end of its log{} says why",
                 info.error().detail,
                 log_named(session))});
    }
    return findings;
}

namespace {

base::Result<void> doctor(const Session& session, const Arguments& /*arguments*/) {
    std::vector<Finding> findings = examine_node(session);
    const bool answers = findings.front().good;
    findings.push_back(check_wallet(session, !answers || is_validator(session)));
    std::size_t bad = 0;
    Json json = Json::array();
    for (const Finding& finding : findings) {
        if (!finding.good) ++bad;
        json.push_back({{"check", finding.name}, {"good", finding.good}, {"text", finding.text}});
        if (session.json) continue;
        const std::string_view verdict = !finding.good       ? "BAD "
                                         : finding.is_remark ? "note"
                                                             : "good";
        fmt::print("{}  {:<9} {}\n", verdict, finding.name, finding.text);
    }
    if (session.json) (void)print_json(json);
    if (bad == 0) return {};
    return fail(base::Errc::unavailable,
                fmt::format("{} of {} checks failed", bad, findings.size()));
}

}  // namespace

void add_doctor_commands(std::vector<Command>& commands) {
    commands.push_back({"doctor", "Say what is wrong with a node and its wallet", {}, {}, doctor});
}

}  // namespace cli
