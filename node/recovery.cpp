#include "node/recovery.hpp"

#include "chain/state/proof_store.hpp"
#include "node/snapshots/recovery_file.hpp"

#include <filesystem>
#include <system_error>
#include <utility>

namespace node {

base::Result<std::vector<base::Hash256>> confirmed_recoveries(const Options& options) {
    std::vector<base::Hash256> ids;
    for (const std::string& text : options.recover_from) {
        if (text.empty()) continue;  // "recover-from =" in a file: none.
        const auto id = recovery_id_from(text);
        if (!id) return base::fail(id.error());
        ids.push_back(*id);
    }
    return ids;
}

base::Result<std::optional<genesis::Recovery>> read_recovery(const Options& options,
                                                             const chain::ChainId& chain_id) {
    const auto confirmed = confirmed_recoveries(options);
    if (!confirmed) return base::fail(confirmed.error());
    if (confirmed->empty()) return std::optional<genesis::Recovery>();
    const auto path = options.data_dir / genesis::kRecoveryFile;
    const auto invalid = [&](const std::string& why) {
        return base::fail(base::Errc::invalid,
                          "recover-from = " + base::to_hex(confirmed->back().view()) + ": " + why);
    };
    auto recovery = read_recovery_file(path, *confirmed, chain_id);
    if (!recovery) return invalid(recovery.error().detail);
    // With the file of an earlier one the node would go on where the last gives it up.
    const base::Hash256 id = recovery->id();
    if (id == confirmed->back()) return std::optional(*std::move(recovery));
    return invalid(path.string() + ": is recovery " + base::to_hex(id.view()) +
                   ", which 'recover-from' names before the last; put the file of the last there");
}

std::optional<chain::ScheduleReset> reset_of(const std::optional<genesis::Recovery>& recovery) {
    return recovery ? genesis::reset_of(*recovery) : std::nullopt;
}

base::Result<p2p::RecoveryPoint> newest_recovery(const std::optional<genesis::Recovery>& confirmed,
                                                 const base::StorageView& storage) {
    p2p::RecoveryPoint newest;
    if (confirmed) newest = {confirmed->id(), confirmed->reset.from};
    const auto links = chain::stored_recoveries(storage);
    if (!links) return base::fail(links.error());
    for (const chain::RecoveryLink& link : *links) {
        if (chain::height_of(link.reset.from) <= chain::height_of(newest.from)) continue;
        const auto stored = genesis::recovery_from_text(base::as_text(link.reset.record));
        if (!stored) return base::fail(base::Errc::corrupt, stored.error().detail);
        newest = {stored->id(), link.reset.from};
    }
    return newest;
}

void tell_recovery(const Options& options,
                   const std::optional<genesis::Recovery>& recovery,
                   const base::Log& log) {
    if (recovery) {
        log.info("this chain goes on from block {} by recovery {}",
                 chain::height_of(recovery->reset.from),
                 base::to_hex(recovery->id().view()));
        return;
    }
    const auto path = options.data_dir / genesis::kRecoveryFile;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) return;
    log.warn(
        "{} is not followed: set recover-from to its ID, which 'bor-cli recover check' tells, "
        "or remove the file",
        path.string());
}

}  // namespace node
