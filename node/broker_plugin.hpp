#pragma once

#include "base/log.hpp"
#include "base/result.hpp"
#include "chain/types/time.hpp"
#include "node/bps/service/service.hpp"
#include "node/broker_settings.hpp"
#include "node/final_permissions.hpp"
#include "node/plugin.hpp"
#include "node/runtime.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace node {

// The broker of this node (plugin = bps): it is handed what becomes final, and what it asks of its
// contract is submitted like anybody's transaction.
//
// Threads: those of Plugin; the rest is main's.
class BrokerPlugin final : public Plugin {
  public:
    struct World {
        Runtime& runtime;  // Outlives this.
        chain::ChainId chain;
        chain::SlotTimes times;
        std::filesystem::path data_dir;
        std::optional<base::crypto::PublicKey> node_key;  // Absent: this node has no peers.
    };
    // Reads the key and opens the directory of the logs. invalid: names the option or the
    // directory, and what to do. With a damaged directory the node goes on without its broker: the
    // log and the figures say why.
    [[nodiscard]] static base::Result<std::unique_ptr<BrokerPlugin>> open(
        const BrokerSettings& settings, const World& world, base::Log log);

    // After the runtime's. unavailable: the address cannot be served.
    base::Result<void> start();
    // Before the runtime's.
    void stop();
    // Empty: it serves nobody.
    [[nodiscard]] std::vector<std::string> addresses() const;

    [[nodiscard]] bps::Figures figures();

    void on_finalized(const effect::Finalized& finalized) override;

  private:
    BrokerPlugin(chain::Name contract, const World& world);

    [[nodiscard]] bps::FinalRows all_rows() const;
    [[nodiscard]] base::Result<void> submit(chain::PackedTransaction transaction,
                                            std::function<void(base::Result<void>)> answered);

    const chain::Name contract_;
    const World world_;
    FinalPermissions permissions_;
    bps::Figures absent_;                    // Those of a broker that is not there.
    std::unique_ptr<bps::Service> service_;  // Null: its directory could not be opened.
};

}  // namespace node
