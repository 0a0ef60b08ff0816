#include "node/recovery.hpp"

#include "genesis/recovery.hpp"
#include "node/disk/file.hpp"

#include <utility>

namespace node {

base::Result<std::optional<chain::ScheduleReset>> read_reset(const Options& options,
                                                             const genesis::Genesis& genesis) {
    constexpr std::size_t kBytesMax = std::size_t{1} << 20U;
    if (options.recover_from.empty()) return std::optional<chain::ScheduleReset>();
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
    if (auto good = genesis::check(*recovery, genesis); !good) return invalid(good.error().detail);
    return std::optional(std::move(recovery->reset));
}

}  // namespace node
