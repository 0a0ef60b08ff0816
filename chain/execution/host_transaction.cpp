#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"

#include <algorithm>

namespace chain::host {

namespace {

Result<Action> unpack_action(const Call& call, base::ByteView bytes) {
    if (bytes.size() >= call.context.transaction().config().max_inline_action_size) {
        return fail(Exception::inline_action_too_big, "inline action too big");
    }
    return unpack_start<Action>(bytes, "action");
}

Result<void> send_inline(const Call& call, Input packed) {
    Result<Action> action = unpack_action(call, packed.bytes);
    if (!action) return base::fail(std::move(action).error());
    return done(call.context.send_inline(*action));
}

Result<void> send_context_free_inline(const Call& call, Input packed) {
    Result<Action> action = unpack_action(call, packed.bytes);
    if (!action) return base::fail(std::move(action).error());
    return done(call.context.send_context_free_inline(*action));
}

// There are no deferred transactions: it does nothing, as in Leap with
// DISABLE_DEFERRED_TRXS_STAGE_1, on which contracts rely.
Result<void> send_deferred(const Call&, In<Uint128>, uint64_t, Input, uint32_t) {
    return {};
}
Result<bool> cancel_deferred(const Call&, In<Uint128>) {
    return false;
}

Result<int32_t> read_transaction(const Call& call, Output out) {
    return copy_out(call.context.transaction().packed_transaction(), out);
}
Result<int32_t> transaction_size(const Call& call) {
    return static_cast<int32_t>(call.context.transaction().packed_transaction().size());
}
Result<int32_t> expiration(const Call& call) {
    return static_cast<int32_t>(call.context.transaction().transaction().expiration.seconds);
}
Result<int32_t> tapos_block_num(const Call& call) {
    return call.context.transaction().transaction().ref_block_num;
}
Result<int32_t> tapos_block_prefix(const Call& call) {
    return static_cast<int32_t>(call.context.transaction().transaction().ref_block_prefix);
}

// Type 0: context-free actions, 1: actions. Unlike others it copies all or nothing.
Result<int32_t> get_action(const Call& call, uint32_t type, uint32_t index, Output out) {
    if (type > 1) return fail(Exception::action_not_found_exception, "action is not found");
    const Transaction& transaction = call.context.transaction().transaction();
    const std::vector<Action>& actions =
        type == 0 ? transaction.context_free_actions : transaction.actions;
    if (index >= actions.size()) return -1;
    // Packed only into room that was paid for.
    const std::size_t size = packed_bytes(actions[index]);
    if (size <= out.bytes.size()) std::ranges::copy(pack(actions[index]), out.bytes.begin());
    return static_cast<int32_t>(size);
}

Result<int32_t> get_context_free_data(const Call& call, uint32_t index, Output out) {
    const std::vector<base::Bytes>& entries =
        call.context.transaction().decoded().content.context_free_data;
    if (index >= entries.size()) return -1;
    return copy_out(entries[index], out);
}

}  // namespace

void add_transaction(Functions& out) {
    add<&send_inline, Access::context_aware, Cost::send>(out, "send_inline");
    add<&send_context_free_inline, Access::context_aware, Cost::send>(out,
                                                                      "send_context_free_inline");
    add<&send_deferred, Access::context_aware, Cost::trivial>(out, "send_deferred");
    add<&cancel_deferred, Access::context_aware, Cost::trivial>(out, "cancel_deferred");
    add<&read_transaction, Access::anyone, Cost::transaction_read>(out, "read_transaction");
    add<&transaction_size, Access::anyone, Cost::transaction_read>(out, "transaction_size");
    add<&expiration, Access::anyone, Cost::trivial>(out, "expiration");
    add<&tapos_block_num, Access::anyone, Cost::trivial>(out, "tapos_block_num");
    add<&tapos_block_prefix, Access::anyone, Cost::trivial>(out, "tapos_block_prefix");
    add<&get_action, Access::anyone, Cost::transaction_read>(out, "get_action");
    add<&get_context_free_data, Access::context_free, Cost::copy>(out, "get_context_free_data");
}

}  // namespace chain::host
