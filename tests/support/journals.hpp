#pragma once

#include "consensus/safety_journal.hpp"

#include <array>
#include <map>
#include <vector>

// Safety journals as a disk holds them.
namespace test {

// The bytes of each key's log.
using Logs = std::map<consensus::KeyTag, base::Bytes>;

// The page of a key that has promised nothing yet.
inline consensus::JournalPage first_page(consensus::SafetyJournal& journal) {
    const std::array records{consensus::SafetyRecord{.kind = consensus::RecordKind::base}};
    return journal.append(records);
}

inline consensus::Journals fresh_journals(const std::vector<consensus::KeyTag>& keys) {
    consensus::Journals journals;
    for (const consensus::KeyTag key : keys) {
        consensus::SafetyJournal journal(key);
        (void)first_page(journal);
        journals.emplace(key, journal);
    }
    return journals;
}

inline Logs fresh_logs(const std::vector<consensus::KeyTag>& keys) {
    Logs logs;
    for (const consensus::KeyTag key : keys) {
        consensus::SafetyJournal journal(key);
        logs.emplace(key, first_page(journal).bytes);
    }
    return logs;
}

// A page that is there already, as a write that failed comes again, is not written twice.
inline void write_page(Logs& logs, const consensus::JournalPage& page) {
    base::Bytes& log = logs[page.key];
    const std::size_t size = page.bytes.size();
    const bool is_there =
        log.size() >= size &&
        std::equal(
            page.bytes.begin(), page.bytes.end(), log.end() - static_cast<std::ptrdiff_t>(size));
    if (is_there) return;
    if (page.replaces) log.clear();
    log.insert(log.end(), page.bytes.begin(), page.bytes.end());
}

// Takes the last page of its log away again; not one that replaced it.
inline void lose_page(Logs& logs, const consensus::JournalPage& page) {
    base::Bytes& log = logs[page.key];
    if (page.replaces || log.size() <= page.bytes.size()) return;
    if (std::equal(page.bytes.rbegin(), page.bytes.rend(), log.rbegin())) {
        log.resize(log.size() - page.bytes.size());
    }
}

// Those that are whole, as a node opens them.
inline consensus::Journals read_journals(const Logs& logs) {
    consensus::Journals journals;
    for (const auto& [key, log] : logs) {
        if (log.empty()) continue;
        if (auto journal = consensus::SafetyJournal::read(key, log)) {
            journals.emplace(key, *std::move(journal));
        }
    }
    return journals;
}

}  // namespace test
