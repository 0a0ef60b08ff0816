#include "node/recovery.hpp"

#include "consensus/certificate.hpp"
#include "node/disk/file.hpp"

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

}  // namespace node
