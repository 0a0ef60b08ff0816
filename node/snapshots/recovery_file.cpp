#include "node/snapshots/recovery_file.hpp"

#include "consensus/certificate.hpp"
#include "node/disk/file.hpp"

#include <algorithm>
#include <utility>

namespace node {

using base::Errc;
using base::fail;

base::Result<base::Hash256> recovery_id_from(std::string_view text) {
    if (const auto bytes = base::from_hex(text)) {
        if (const auto id = base::to_hash<32>(*bytes)) return *id;
    }
    return fail(Errc::invalid,
                "recover-from = " + std::string(text) +
                    ": expected the 64 hexadecimal digits of the id of a recovery");
}

base::Result<genesis::Recovery> read_recovery_file(const std::filesystem::path& path,
                                                   const std::vector<base::Hash256>& recoveries,
                                                   const chain::ChainId& chain_id,
                                                   FileCalls& calls) {
    constexpr std::size_t kBytesMax = std::size_t{16} << 20U;  // As bor-cli reads and writes.
    const auto bytes = read_file(path.string(), kBytesMax, calls);
    if (!bytes) return fail(bytes.error());
    const auto invalid = [&](const std::string& reason) {
        return fail(Errc::invalid, path.string() + ": " + reason);
    };
    auto recovery = genesis::recovery_from_text(base::as_text(*bytes));
    if (!recovery) return invalid(recovery.error().detail);
    const base::Hash256 id = recovery->id();
    if (std::ranges::find(recoveries, id) == recoveries.end()) {
        return invalid("is recovery " + base::to_hex(id.view()) +
                       ", which 'recover-from' does not name");
    }
    const auto verify = [&](const auto& certificate, const auto& schedules) {
        return consensus::verify(certificate, schedules, chain_id);
    };
    if (auto good = genesis::check(*recovery, chain_id, verify); !good) {
        return invalid(good.error().detail);
    }
    return recovery;
}

base::Result<void> take_recovery_files(genesis::Trust& trust,
                                       const std::vector<std::filesystem::path>& paths,
                                       FileCalls& calls) {
    const std::vector<base::Hash256> named = trust.recoveries;
    for (const std::filesystem::path& path : paths) {
        const auto recovery = read_recovery_file(path, named, trust.chain_id, calls);
        if (!recovery) return fail(recovery.error());
        // Each has all of the chain up to it.
        if (recovery->retimes.size() > trust.retimes.size()) trust.retimes = recovery->retimes;
        if (recovery->reset.schedule.entries.empty()) {
            std::erase(trust.recoveries, recovery->id());
        }
    }
    return {};
}

}  // namespace node
