// The rows behind Rights, and their indexes.
#include "base/check.hpp"
#include "node/bps/core/rights.hpp"

#include <utility>

namespace bps {

namespace {

// Changes of one block come in any order: what is made again under a name may come before the old
// one goes, and then the entry is the new one's.
template <class Index, class Key>
void erase_entry(Index& index, const Key& key, std::uint64_t id) {
    const auto at = index.find(key);
    if (at != index.end() && at->second == id) index.erase(at);
}

}  // namespace

template <class Row>
base::Result<void> Rights::read_and_set(const RowId& id, base::ByteView value) {
    const auto row = rows::read<Row>(id, value);
    if (!row) return base::fail(row.error());
    erase(id);
    return set(id, *row);
}

base::Result<void> Rights::apply(const RowId& id, std::optional<base::ByteView> value) {
    if (!value) {
        erase(id);
        return {};
    }
    if (id.table == rows::Topic::kTable) return read_and_set<rows::Topic>(id, *value);
    if (id.table == rows::Grant::kTable) return read_and_set<rows::Grant>(id, *value);
    if (id.table == rows::Prefix::kTable) return read_and_set<rows::Prefix>(id, *value);
    if (id.table == rows::Delegation::kTable) return read_and_set<rows::Delegation>(id, *value);
    if (id.table == rows::Cert::kTable) return read_and_set<rows::Cert>(id, *value);
    if (id.table == rows::Revocation::kTable) return read_and_set<rows::Revocation>(id, *value);
    if (id.table == rows::NotBefore::kTable) return read_and_set<rows::NotBefore>(id, *value);
    if (id.table == rows::IdSpace::kTable) return read_and_set<rows::IdSpace>(id, *value);
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Topic& row) {
    if (row.id != id.key || row.partitions > 1'000'000) return rows::misplaced(id);
    topics_[id.key] = row;
    topics_by_name_[row.name] = id.key;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Grant& row) {
    if (row.id != id.key) return rows::misplaced(id);
    rows::Grant& kept = grants_[{id.scope, id.key}] = row;
    grants_by_parties_[{id.scope, row.account}][id.key] = &kept;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Prefix& row) {
    if (row.id != id.key) return rows::misplaced(id);
    prefixes_[id.key] = row;
    prefixes_by_text_[row.prefix] = id.key;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Delegation& row) {
    if (row.account.value != id.key) return rows::misplaced(id);
    delegations_[{id.scope, id.key}] = row;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Cert& row) {
    if (row.id != id.key) return rows::misplaced(id);
    certs_[id.key] = row;
    certs_by_hash_[row.hash] = id.key;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::Revocation& row) {
    if (row.key != id.key) return rows::misplaced(id);
    revocations_[{id.scope, id.key}] = row;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::NotBefore& row) {
    if (row.account.value != id.key) return rows::misplaced(id);
    not_before_[id.key] = row;
    return {};
}

base::Result<void> Rights::set(const RowId& id, const rows::IdSpace& row) {
    if (row.account.value != id.key) return rows::misplaced(id);
    id_spaces_[id.key] = row;
    return {};
}

void Rights::erase(const RowId& id) {
    const Scoped scoped{id.scope, id.key};
    if (id.table == rows::Topic::kTable) {
        const auto old = topics_.extract(id.key);
        if (!old.empty()) erase_entry(topics_by_name_, old.mapped().name, id.key);
    } else if (id.table == rows::Grant::kTable) {
        const auto old = grants_.extract(scoped);
        if (old.empty()) return;
        const auto at = grants_by_parties_.find({id.scope, old.mapped().account});
        CHECK(at != grants_by_parties_.end());
        at->second.erase(id.key);
        if (at->second.empty()) grants_by_parties_.erase(at);
    } else if (id.table == rows::Prefix::kTable) {
        const auto old = prefixes_.extract(id.key);
        if (!old.empty()) erase_entry(prefixes_by_text_, old.mapped().prefix, id.key);
    } else if (id.table == rows::Delegation::kTable) {
        delegations_.erase(scoped);
    } else if (id.table == rows::Cert::kTable) {
        const auto old = certs_.extract(id.key);
        if (!old.empty()) erase_entry(certs_by_hash_, old.mapped().hash, id.key);
    } else if (id.table == rows::Revocation::kTable) {
        revocations_.erase(scoped);
    } else if (id.table == rows::NotBefore::kTable) {
        not_before_.erase(id.key);
    } else if (id.table == rows::IdSpace::kTable) {
        id_spaces_.erase(id.key);
    }
}

void Rights::check_invariants() const {
    for (const auto& [name, id] : topics_by_name_)
        CHECK(topics_.at(id).name == name);
    for (const auto& [text, id] : prefixes_by_text_)
        CHECK(prefixes_.at(id).prefix == text);
    for (const auto& [hash, id] : certs_by_hash_)
        CHECK(certs_.at(id).hash == hash);
    std::size_t grants = 0;
    for (const auto& [parties, of] : grants_by_parties_)
        grants += of.size();
    CHECK(grants == grants_.size());
    for (const auto& [id, row] : grants_)
        CHECK(grants_by_parties_.at({id.first, row.account}).at(id.second) == &row);
}

}  // namespace bps
