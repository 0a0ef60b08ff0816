#include "node/recovery.hpp"

#include "consensus/certificate.hpp"
#include "node/core/recovery_origin.hpp"
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
    const auto verify = [&](const auto& certificate, const auto& schedules) {
        return consensus::verify(certificate, schedules, chain_id);
    };
    if (auto good = genesis::check(*recovery, chain_id, verify); !good) {
        return invalid(good.error().detail);
    }
    return std::optional(*std::move(recovery));
}

base::Result<void> check_origin(const genesis::Recovery& recovery, const chain::StateView& state) {
    const auto invalid = [](const std::string& reason) {
        return base::fail(base::Errc::invalid, "recover-from: the recovery " + reason);
    };
    const auto origin = origin_of(state);
    if (!origin) return base::fail(origin.error());
    for (const genesis::RecoveryMember& member : origin->members) {
        const auto named =
            std::ranges::find(recovery.members, member.name, &genesis::RecoveryMember::name);
        const std::string name = member.name.to_string();
        if (named == recovery.members.end()) return invalid("does not name the member " + name);
        if (named->authority != member.authority) {
            return invalid("has another authority of " + name + " than the chain");
        }
    }
    if (origin->members.size() != recovery.members.size()) {
        return invalid("names somebody who is no member");
    }
    const bool is_of_schedule = !recovery.reset.schedule.entries.empty();
    if (is_of_schedule && origin->replaced != recovery.replaced) {
        return invalid("replaces another schedule than that in force at its block");
    }
    return {};
}

}  // namespace node
