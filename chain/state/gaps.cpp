#include "chain/state/gaps.hpp"

#include <iterator>

namespace chain {

std::optional<Gaps::Gap> Gaps::around(base::ByteView key) const {
    auto found = gaps_.upper_bound(key);
    if (found == gaps_.begin()) return std::nullopt;
    --found;
    const auto& to = found->second;
    if (to && base::compare(key, *to) >= 0) return std::nullopt;
    return Gap{found->first, to};
}

std::optional<Gaps::Gap> Gaps::ahead_of(base::ByteView key) const {
    auto found = gaps_.lower_bound(key);
    if (found == gaps_.begin()) return std::nullopt;
    --found;
    const auto& to = found->second;
    if (to && base::compare(key, *to) > 0) return std::nullopt;
    return Gap{found->first, to};
}

void Gaps::add(base::ByteView from, const std::optional<base::ByteView>& to) {
    if (to && base::compare(from, *to) >= 0) return;
    base::Bytes first = base::to_bytes(from);
    std::optional<base::Bytes> last;
    if (to) last = base::to_bytes(*to);
    auto next = gaps_.upper_bound(first);
    if (next != gaps_.begin()) {
        const auto before = std::prev(next);
        const bool touches = !before->second || base::compare(*before->second, first) >= 0;
        if (touches) next = before;
    }
    while (next != gaps_.end() && (!last || base::compare(next->first, *last) <= 0)) {
        if (base::compare(next->first, first) < 0) first = next->first;
        if (!next->second || (last && base::compare(*next->second, *last) > 0)) last = next->second;
        next = gaps_.erase(next);
    }
    if (gaps_.size() >= kGapsMax) gaps_.clear();
    gaps_.insert_or_assign(std::move(first), std::move(last));
}

void Gaps::cut(base::ByteView key) {
    const std::optional<Gap> gap = around(key);
    if (!gap) return;
    if (gaps_.size() >= kGapsMax) return gaps_.clear();
    const auto found = gaps_.find(gap->from);
    std::optional<base::Bytes> last = std::move(found->second);
    base::Bytes behind = key_after(key);
    if (base::equal(found->first, key)) {
        gaps_.erase(found);
    } else {
        found->second = base::to_bytes(key);
    }
    if (!last || base::compare(behind, *last) < 0)
        gaps_.emplace(std::move(behind), std::move(last));
}

void Gaps::add_all(const Gaps& other) {
    for (const auto& [from, to] : other.gaps_) {
        add(from, to ? std::optional<base::ByteView>(*to) : std::nullopt);
    }
}

Gaps& TableGaps::of(Table table) {
    for (auto& [each, gaps] : tables_) {
        if (each == table) return gaps;
    }
    return tables_.emplace_back(table, Gaps()).second;
}

void TableGaps::cut(Table table, base::ByteView key) {
    for (auto& [each, gaps] : tables_) {
        if (each == table) gaps.cut(key);
    }
}

void TableGaps::cut(const ChangeSet& changes) {
    for (auto& [table, gaps] : tables_) {
        for (const auto& [key, value] : changes.of(table)) {
            if (gaps.empty()) break;
            if (value) gaps.cut(key);
        }
    }
}

void TableGaps::add_all(const TableGaps& other) {
    for (const auto& [table, gaps] : other.tables_) {
        of(table).add_all(gaps);
    }
}

base::Bytes key_after(base::ByteView key) {
    base::Bytes next;
    next.reserve(key.size() + 1);
    next.assign(key.begin(), key.end());
    next.push_back(std::byte{0});
    return next;
}

}  // namespace chain
