#include "chain/execution/apply_context.hpp"
#include "chain/execution/host_groups.hpp"

#include <algorithm>

namespace chain::host {

namespace {

Result<int32_t> read_action_data(const Call& call, Output out) {
    return copy_out(call.context.action().data, out);
}
Result<int32_t> action_data_size(const Call& call) {
    return static_cast<int32_t>(call.context.action().data.size());
}
Result<uint64_t> current_receiver(const Call& call) {
    return call.context.receiver().value;
}
Result<void> set_action_return_value(const Call& call, ExclusiveInput value) {
    return done(call.context.set_return_value(value.bytes));
}

Result<void> require_auth(const Call& call, uint64_t account) {
    return done(call.context.require_authorization(Name{account}));
}
Result<void> require_auth2(const Call& call, uint64_t account, uint64_t permission) {
    return done(
        call.context.require_authorization(PermissionLevel{Name{account}, Name{permission}}));
}
Result<bool> has_auth(const Call& call, uint64_t account) {
    return call.context.has_authorization(Name{account});
}
Result<void> require_recipient(const Call& call, uint64_t account) {
    return done(call.context.require_recipient(Name{account}));
}
Result<bool> is_account(const Call& call, uint64_t account) {
    return call.context.is_account(Name{account});
}

// {varuint32 version, u64 code sequence, hash, u8 vm type, u8 vm version}; all zero but the
// sequence for an account without code, or none.
Result<uint32_t> get_code_hash(const Call& call,
                               uint64_t account,
                               uint32_t /*struct_version: only 0 exists*/,
                               ExclusiveOutput out) {
    const AccountRow* row = call.context.transaction().find_account(Name{account});
    base::Writer packed;
    packed.varuint32(0);
    packed.u64(row == nullptr ? 0 : row->code_sequence);
    packed.hash(row == nullptr ? base::Hash256{} : row->code_hash);
    packed.u8(0);
    packed.u8(0);
    const base::Bytes& bytes = packed.view();
    if (bytes.size() <= out.bytes.size()) std::ranges::copy(bytes, out.bytes.begin());
    return static_cast<uint32_t>(bytes.size());
}

Result<uint64_t> get_sender(const Call& call) {
    return call.context.sender().value;
}

}  // namespace

void add_action(Functions& out) {
    add<&read_action_data, Access::anyone, Cost::copy>(out, "read_action_data");
    add<&action_data_size, Access::anyone, Cost::trivial>(out, "action_data_size");
    add<&current_receiver, Access::anyone, Cost::trivial>(out, "current_receiver");
    add<&set_action_return_value, Access::context_aware, Cost::copy>(out,
                                                                     "set_action_return_value");
    add<&require_auth, Access::context_aware, Cost::authority>(out, "require_auth");
    add<&require_auth2, Access::context_aware, Cost::authority>(out, "require_auth2");
    add<&has_auth, Access::context_aware, Cost::authority>(out, "has_auth");
    add<&require_recipient, Access::context_aware, Cost::notify>(out, "require_recipient");
    add<&is_account, Access::context_aware, Cost::state>(out, "is_account");
    add<&get_code_hash, Access::context_aware, Cost::state>(out, "get_code_hash");
    add<&get_sender, Access::context_aware, Cost::trivial>(out, "get_sender");
}

}  // namespace chain::host
