#include "base/check.hpp"
#include "base/crypto/hash.hpp"
#include "chain/execution/rows.hpp"

namespace chain {

namespace {

// Calls `apply` with the key of each index row of the authority.
template <class Apply>
void for_each_authorizer(PermissionLevel level, const Authority& authority, Apply apply) {
    for (const KeyWeight& entry : authority.keys) {
        RowKey key = authorizer_prefix(entry.key);
        apply(key.name(level.actor).name(level.permission));
    }
    for (const PermissionLevelWeight& entry : authority.accounts) {
        RowKey key = authorizer_prefix(entry.permission);
        apply(key.name(level.actor).name(level.permission));
    }
}

}  // namespace

RowKey authorizer_prefix(const PublicKey& key) {
    return RowKey().raw(base::as_bytes("k")).raw(base::crypto::sha256(pack(key)).view());
}

RowKey authorizer_prefix(PermissionLevel level) {
    return authorizer_prefix(level.actor).name(level.permission);
}

RowKey authorizer_prefix(Name actor) {
    return RowKey().raw(base::as_bytes("a")).name(actor);
}

void put_permission(StateDelta& state, PermissionLevel level, const PermissionRow* row) {
    const RowKey key = permission_key(level);
    if (const Value old = state.find(Table::permission, key)) {
        const auto before = decode_row<PermissionRow>(*old);
        CHECK(before);
        if (row != nullptr && before->authority == row->authority) {
            state.put(Table::permission, key, pack(*row));
            return;
        }
        for_each_authorizer(level, before->authority, [&](const RowKey& index) {
            state.erase(Table::authorizer, index);
        });
    }
    if (row == nullptr) {
        state.erase(Table::permission, key);
        return;
    }
    for_each_authorizer(level, row->authority, [&](const RowKey& index) {
        state.put(Table::authorizer, index, {});
    });
    state.put(Table::permission, key, pack(*row));
}

}  // namespace chain
