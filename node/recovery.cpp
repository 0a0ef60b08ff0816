#include "node/recovery.hpp"

#include "chain/execution/membership.hpp"
#include "chain/execution/rows.hpp"
#include "node/disk/file.hpp"

#include <algorithm>
#include <utility>

namespace node {

base::Result<std::optional<genesis::Recovery>> read_recovery(const Options& options,
                                                             const chain::ChainId& chain_id) {
    constexpr std::size_t kBytesMax = std::size_t{1} << 20U;
    if (options.recover_from.empty()) return std::optional<genesis::Recovery>();
    const std::string path = (options.data_dir / genesis::kRecoveryFile).string();
    const auto invalid = [&](const std::string& reason) {
        return base::fail(base::Errc::invalid,
                          "recover-from = " + options.recover_from + ": " + path + ": " + reason);
    };
    auto bytes = read_file(path, kBytesMax);
    if (!bytes) return invalid(bytes.error().detail);
    auto recovery = genesis::recovery_from_text(base::as_text(*bytes));
    if (!recovery) return invalid(recovery.error().detail);
    const std::string id = base::to_hex(recovery->id().view());
    if (id != options.recover_from) return invalid("is recovery " + id);
    if (auto good = genesis::check(*recovery, chain_id); !good) return invalid(good.error().detail);
    return std::optional(*std::move(recovery));
}

base::Result<void> check_members(const genesis::Recovery& recovery, const chain::StateView& state) {
    const auto invalid = [](const std::string& reason) {
        return base::fail(base::Errc::invalid, "recover-from: the recovery " + reason);
    };
    const std::vector<chain::MemberEntry> members = chain::members(state);
    for (const chain::MemberEntry& member : members) {
        const auto named =
            std::ranges::find(recovery.members, member.name, &genesis::RecoveryMember::name);
        const std::string name = member.name.to_string();
        if (named == recovery.members.end()) return invalid("does not name the member " + name);
        const chain::Value row =
            state.find(chain::Table::permission,
                       chain::permission_key({member.name, *chain::Name::from_string("active")}));
        if (!row) return invalid("names " + name + ", which has no active permission");
        auto permission = chain::decode_row<chain::PermissionRow>(*row);
        if (!permission) return base::fail(std::move(permission).error());
        if (permission->authority != named->authority) {
            return invalid("has another authority of " + name + " than the chain");
        }
    }
    if (members.size() == recovery.members.size()) return {};
    return invalid("names somebody who is no member");
}

}  // namespace node
