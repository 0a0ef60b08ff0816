#include "node/broker_plugin.hpp"

#include "genesis/join_line.hpp"
#include "node/bps/ledger/final_rows.hpp"
#include "node/disk/secret_file.hpp"

#include <utility>

namespace node {

namespace {

using base::Errc;
using base::crypto::KeyType;
using base::crypto::PrivateKey;
using base::crypto::PublicKey;

base::Result<PrivateKey> read_account_key(const std::filesystem::path& file) {
    auto key = read_key_file(file.string());
    if (key) return key;
    return base::fail(Errc::invalid,
                      "bps-account-key = " + file.string() + ": " + key.error().detail);
}

// Of both kinds of listeners the one that there is; who may come without login is told nothing of
// SASL.
std::string protocol_of(const BrokerSettings& settings) {
    if (settings.has_tls()) return "SASL_SSL";
    return settings.anonymous.empty() ? "SASL_PLAINTEXT" : "PLAINTEXT";
}

bps::Rights::Settings rights_of(const BrokerSettings& settings,
                                chain::Name contract,
                                const chain::PermissionLevel& self) {
    bps::Rights::Settings rights{.contract = contract,
                                 .broker = static_cast<std::int32_t>(settings.id),
                                 .broker_account = self.actor,
                                 .anonymous = std::nullopt};
    if (!settings.anonymous.empty()) {
        const auto who = *principal_from(settings.anonymous);
        rights.anonymous = bps::Principal{.account = who.actor, .permission = who.permission};
    }
    return rights;
}

bps::Service::Options options_of(const BrokerSettings& settings,
                                 const BrokerPlugin::World& world,
                                 const PrivateKey& key) {
    const chain::Name contract = *chain::Name::from_string(settings.contract);
    const chain::PermissionLevel self = *principal_from(settings.account);
    const genesis::HostPort told = *genesis::HostPort::from_string(settings.told_address());
    const std::string protocol = protocol_of(settings);
    bps::ListenerOptions listener;
    listener.listen = {{.address = settings.listen, .is_tls = settings.has_tls()}};
    listener.certificate_file = settings.tls_cert.string();
    listener.key_file = settings.tls_key.string();
    // Nobody reaches the broker of a node without peers over them: any key says so.
    const PublicKey node_key =
        world.node_key.value_or(PrivateKey::generate(KeyType::r1).public_key());
    return {.directory = (world.data_dir / settings.directory).string(),
            .listener = std::move(listener),
            .gateway = {.protocol_of_tls = protocol, .protocol_of_plain = protocol},
            .rights = rights_of(settings, contract, self),
            .groups = {},
            .chain = {.chain = world.chain, .contract = contract, .authorization = self},
            .key = key,
            .node_key = node_key,
            .listeners = {{.protocol = protocol, .host = told.host, .port = told.port}},
            .cluster_id = base::to_hex(world.chain.view())};
}

}  // namespace

BrokerPlugin::BrokerPlugin(chain::Name contract, const World& world)
    : contract_(contract), world_(world), permissions_(world.runtime) {}

base::Result<std::unique_ptr<BrokerPlugin>> BrokerPlugin::open(const BrokerSettings& settings,
                                                               const World& world,
                                                               base::Log log) {
    const auto key = read_account_key(settings.key_file);
    if (!key) return base::fail(key.error());
    if (settings.has_tls()) {
        if (auto good = check_secret_file(settings.tls_key.string()); !good) {
            return base::fail(base::Errc::invalid, "bps-tls-key: " + good.error().detail);
        }
    }
    const auto options = options_of(settings, world, *key);
    std::unique_ptr<BrokerPlugin> made(new BrokerPlugin(options.chain.contract, world));
    BrokerPlugin& self = *made;
    auto service =
        bps::Service::open(options,
                           {.submit =
                                [&self](chain::PackedTransaction transaction,
                                        std::function<void(base::Result<void>)> answered) {
                                    return self.submit(std::move(transaction), std::move(answered));
                                },
                            .all_rows = [&self] { return self.all_rows(); },
                            .permissions = self.permissions_},
                           log);
    if (service) {
        self.service_ = *std::move(service);
        return made;
    }
    if (service.error().code == base::Errc::invalid) return base::fail(service.error());
    log.error("the node goes on without its broker: {}", service.error().detail);
    self.absent_.broker = options.rights.broker;
    self.absent_.trouble = service.error().detail;
    return made;
}

void BrokerPlugin::stop() {
    if (service_) service_->stop();
}

std::vector<std::string> BrokerPlugin::addresses() const {
    return service_ ? service_->addresses() : std::vector<std::string>();
}

bps::Figures BrokerPlugin::figures() {
    return service_ ? service_->figures() : absent_;
}

base::Result<void> BrokerPlugin::start() {
    if (!service_) return {};
    auto started = service_->start();
    if (started) return started;
    return base::fail(started.error().code,
                      "bps-listen-endpoint, bps-tls-cert: " + started.error().detail);
}

void BrokerPlugin::on_finalized(const effect::Finalized& finalized) {
    if (!service_) return;
    const chain::ExecutedBlock& block = *finalized.block;
    service_->on_final(
        bps::rows_of_block(block, world_.times.time_of(block.block->header.slot), contract_));
}

bps::FinalRows BrokerPlugin::all_rows() const {
    const auto view = world_.runtime.published();
    const chain::Block& block = *view->finalized;
    return bps::rows_of_state(
        *view->final_state, block, world_.times.time_of(block.header.slot), contract_);
}

// No sender: the node answers for what it says itself.
base::Result<void> BrokerPlugin::submit(chain::PackedTransaction transaction,
                                        std::function<void(base::Result<void>)> answered) {
    return world_.runtime.submit(
        std::move(transaction), "", [answered = std::move(answered)](effect::Answer answer) {
            answered(answer.outcome ? base::Result<void>()
                                    : base::Result<void>(base::fail(answer.outcome.error())));
        });
}

}  // namespace node
