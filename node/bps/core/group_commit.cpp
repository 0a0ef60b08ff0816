#include "node/bps/core/group_commit.hpp"

#include "base/check.hpp"
#include "node/bps/core/rule.hpp"

#include <utility>

namespace bps {

void GroupCommit::wait(LogId log, std::int64_t end, AnswerId answer) {
    if (is_left_out(Rule::answer_after_sync) || logs_.at(log)->durable_end() >= end) {
        ready_.push_back({.id = answer});
        return;
    }
    waits_[log].emplace(end, answer);
    ++waiting_;
}

std::optional<GroupCommit::Sync> GroupCommit::begin_sync() {
    if (runs_) return std::nullopt;
    for (const auto& [id, answers] : waits_)
        touched_.insert(id);
    Sync sync;
    for (const LogId id : std::exchange(touched_, {})) {
        // A sync that works after one that failed says nothing of what was lost then.
        if (logs_.at(id)->has_failed()) {
            give_up(id, ErrorCode::kafka_storage_error, ready_);
            changed_.insert(id);
            continue;
        }
        Log::SyncPoint point = logs_.at(id)->unsynced();
        if (point.files.empty()) continue;
        sync.parts.push_back({.log = id, .files = point.files});
        in_sync_[id] = std::move(point);
    }
    if (sync.parts.empty()) return std::nullopt;
    runs_ = true;
    return sync;
}

void GroupCommit::on_synced() {
    on_failed({});
}

void GroupCommit::on_failed(const std::vector<LogId>& logs) {
    CHECK(runs_);
    runs_ = false;
    for (const LogId id : logs) {
        if (!logs_.contains(id)) continue;
        logs_.at(id)->on_sync_failed();
        in_sync_.erase(id);
        give_up(id, ErrorCode::kafka_storage_error, ready_);
        changed_.insert(id);
    }
    for (const auto& [id, point] : std::exchange(in_sync_, {})) {
        finish(id, point);
    }
}

void GroupCommit::finish(LogId id, const Log::SyncPoint& point) {
    Log& log = *logs_.at(id);
    const std::int64_t before = log.durable_end();
    // The batches are durable even if what is written beside them is not: the next sync tries anew.
    (void)log.on_synced(point);
    if (log.durable_end() != before) changed_.insert(id);
    const auto at = waits_.find(id);
    if (at == waits_.end()) return;
    auto& answers = at->second;
    while (!answers.empty() && answers.begin()->first <= log.durable_end()) {
        ready_.push_back({.id = answers.begin()->second});
        answers.erase(answers.begin());
        --waiting_;
    }
    if (answers.empty()) waits_.erase(at);
}

void GroupCommit::give_up(LogId id, ErrorCode code, std::vector<Answer>& out) {
    const auto at = waits_.find(id);
    if (at == waits_.end()) return;
    for (const auto& [end, answer] : at->second) {
        out.push_back({.id = answer, .code = code});
        --waiting_;
    }
    waits_.erase(at);
}

std::vector<GroupCommit::Answer> GroupCommit::detach(LogId id, ErrorCode code) {
    std::vector<Answer> answers;
    give_up(id, code, answers);
    in_sync_.erase(id);
    touched_.erase(id);
    changed_.erase(id);
    logs_.erase(id);
    return answers;
}

std::vector<LogId> GroupCommit::take_changed() {
    const std::set<LogId> changed = std::exchange(changed_, {});
    return {changed.begin(), changed.end()};
}

std::vector<GroupCommit::Answer> GroupCommit::take_ready() {
    return std::exchange(ready_, {});
}

}  // namespace bps
