#include "node/recovery.hpp"

#include "node/snapshots/recovery_file.hpp"

#include <utility>

namespace node {

base::Result<std::vector<base::Hash256>> confirmed_recoveries(const Options& options) {
    if (options.recover_from.empty()) return std::vector<base::Hash256>();
    const auto id = recovery_id_from(options.recover_from);
    if (!id) return base::fail(id.error());
    return std::vector{*id};
}

base::Result<std::optional<genesis::Recovery>> read_recovery(const Options& options,
                                                             const chain::ChainId& chain_id) {
    const auto confirmed = confirmed_recoveries(options);
    if (!confirmed) return base::fail(confirmed.error());
    if (confirmed->empty()) return std::optional<genesis::Recovery>();
    auto recovery =
        read_recovery_file(options.data_dir / genesis::kRecoveryFile, *confirmed, chain_id);
    if (recovery) return std::optional(*std::move(recovery));
    return base::fail(base::Errc::invalid,
                      "recover-from = " + options.recover_from + ": " + recovery.error().detail);
}

}  // namespace node
