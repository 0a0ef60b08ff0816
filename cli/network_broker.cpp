#include "cli/network_broker.hpp"

#include "chain/types/name.hpp"
#include "cli/account_actions.hpp"
#include "cli/bps_contract.hpp"
#include "cli/certificates.hpp"
#include "cli/files.hpp"
#include "cli/network_run.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"
#include "node/bps/core/duties.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace cli {

using base::Errc;
using base::fail;

namespace {

constexpr std::uint16_t kKafkaPort = 9092;
constexpr int kBroker = 1;
constexpr const char* kContract = "bps";
constexpr const char* kAccount = "broker1";
constexpr const char* kKeyFile = "broker.key";
constexpr const char* kAuthorityKeyFile = "ca.key";
constexpr const char* kCertificateFile = "broker.pem";
constexpr const char* kCertificateKeyFile = "broker-tls.key";
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kRestartPatience = std::chrono::seconds(10);
constexpr auto kLookAgainAfter = std::chrono::milliseconds(100);

// Beside the programs: of a build, or of the package.
base::Result<std::filesystem::path> contract_folder() {
    const std::filesystem::path above = program_path("").parent_path().parent_path();
    for (const char* const each : {"contracts", "share/bor/contracts"}) {
        const std::filesystem::path folder = above / each / kContract;
        std::error_code error;
        if (std::filesystem::exists(folder / "bps.wasm", error)) return folder;
    }
    return fail(Errc::not_found,
                fmt::format("the broker's contract is neither in {0}/contracts/bps nor in "
                            "{0}/share/bor/contracts/bps: build the target 'contracts', or install "
                            "the package",
                            above.string()));
}

// Until it succeeds: on a busy machine a large contract may not fit into what is left of a slot.
base::Result<void> until_done(const std::string& what,
                              const std::function<base::Result<void>()>& act) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
        auto done = act();
        if (done) return {};
        if (std::chrono::steady_clock::now() >= deadline) {
            return fail(
                Errc::unavailable,
                fmt::format("{} within {} s: {}", what, kPatience.count(), done.error().detail));
        }
        std::this_thread::sleep_for(kLookAgainAfter);
    }
}

std::vector<chain::PermissionLevel> active_of(std::string_view account) {
    return {{*chain::Name::from_string(account), *chain::Name::from_string("active")}};
}

// What belongs into one transaction: all of it, or nothing.
class Actions {
  public:
    void add(base::Result<chain::Action> action) {
        if (!action) {
            if (good_) good_ = fail(action.error());
            return;
        }
        made_.push_back(*std::move(action));
    }
    base::Result<void> send(const Session& session, const std::string& key) && {
        if (!good_) return good_;
        return send_quietly(session, Json::array({key}), std::move(made_));
    }

  private:
    std::vector<chain::Action> made_;
    base::Result<void> good_;
};

base::Result<void> make_accounts(const Session& session,
                                 const LocalBroker& broker,
                                 const std::string& system_key) {
    if (call(session.url, "/v1/chain/get_account", {{"account_name", kContract}})) return {};
    const std::string broker_key = broker.key.public_key().to_string();
    Actions actions;
    for (const NewAccount& each : {NewAccount{kContract, system_key, system_key},
                                   NewAccount{kAccount, system_key, broker_key},
                                   NewAccount{broker.anonymous, system_key, system_key}}) {
        actions.add(new_account_action(session, "eosio", each, active_of("eosio")));
    }
    actions.add(make_action(session,
                            "eosio",
                            "setpriv",
                            Json{{"account", kContract}, {"is_priv", 1}},
                            active_of("eosio")));
    return std::move(actions).send(session, system_key);
}

base::Result<void> set_contract(const Session& session, const std::string& system_key) {
    if (bps_rows(session, {}, "brokers")) return {};
    const auto folder = contract_folder();
    if (!folder) return fail(folder.error());
    const auto wasm = read_file(*folder / "bps.wasm");
    if (!wasm) return fail(wasm.error());
    Actions actions;
    actions.add(set_code_action(session, kContract, *wasm, active_of(kContract)));
    actions.add(
        set_abi_action(session, kContract, (*folder / "bps.abi").string(), active_of(kContract)));
    return std::move(actions).send(session, system_key);
}

base::Result<void> add_broker(const Session& session, const std::string& system_key) {
    const auto brokers = bps_rows(session, {}, "brokers");
    if (!brokers) return fail(brokers.error());
    if (!brokers->empty()) return {};
    const auto by_contract = active_of(kContract);
    Actions actions;
    actions.add(make_action(session,
                            kContract,
                            "addbroker",
                            Json{{"broker", kBroker}, {"account", kAccount}},
                            by_contract));
    // Where groups are kept.
    actions.add(make_action(session,
                            kContract,
                            "delegate",
                            Json{{"owner", kContract},
                                 {"broker", kBroker},
                                 {"actions", Json::array({"createtopic"})},
                                 {"prefix", bps::kOffsetsTopic},
                                 {"until", delegated_until(kDelegatedDays)}},
                            by_contract));
    return std::move(actions).send(session, system_key);
}

// Its start is on the chain, whether it is final or not.
base::Result<void> find_started(const Session& session) {
    const auto brokers = bps_rows(session, {}, "brokers");
    if (!brokers) return fail(brokers.error());
    const bool is_up = std::ranges::any_of(
        *brokers, [](const Json& each) { return number_of(each, "boot") != 0; });
    if (is_up) return {};
    return fail(Errc::unavailable, "the contract has no start of it; see the node's log");
}

// Neither serves, nor says why not: it was started, and the chain has to say so, too.
bool is_starting(const std::string& node) {
    const auto broker = call(node, "/v1/bor/broker", Json());
    return broker && !member_of(*broker, "broker").is_null() &&
           member_of(*broker, "boot").is_null() && text_of(*broker, "trouble").empty();
}

}  // namespace

std::string LocalBroker::address() const {
    const bool is_bare = host.find(':') != std::string::npos;
    if (is_bare) return fmt::format("[{}]:{}", host, port);
    return fmt::format("{}:{}", host.empty() ? "127.0.0.1" : host, port);
}

base::Result<LocalBroker> plan_broker(const std::string& account,
                                      const std::string& host,
                                      std::set<std::uint16_t>& taken) {
    if (account.empty() || !chain::Name::from_string(account)) {
        return fail(Errc::invalid,
                    fmt::format("--broker {}: no account name: up to 12 of the letters a to z, the "
                                "digits 1 to 5 and '.'",
                                account));
    }
    constexpr std::array<std::string_view, 3> kOwn = {kContract, kAccount, "eosio"};
    if (std::ranges::find(kOwn, account) != kOwn.end()) {
        return fail(
            Errc::invalid,
            fmt::format("--broker {}: this account is there already; give a new one, of who "
                        "comes from this machine without login",
                        account));
    }
    if (!host.empty() && !is_host(host)) {
        return fail(Errc::invalid,
                    fmt::format("--broker-host {}: no address, and no name of a host, such as "
                                "broker.example.org; the port is chosen here",
                                host));
    }
    LocalBroker broker{.anonymous = account, .host = host, .port = kKafkaPort};
    if (is_free_port(kKafkaPort) && taken.insert(kKafkaPort).second) return broker;
    const auto port = another_port(taken);
    if (!port) return fail(port.error());
    broker.port = *port;
    return broker;
}

base::Result<void> write_broker(const LocalBroker& broker,
                                const std::filesystem::path& network,
                                const std::filesystem::path& node) {
    const std::string key = broker.key.to_string() + "\n";
    if (auto done = write_file(node / kKeyFile, key, Secrecy::secret);
        !done || broker.host.empty()) {
        return done;
    }
    const auto made = make_broker_certificates({broker.host, "localhost", "127.0.0.1", "::1"});
    if (!made) return fail(made.error());
    const auto& [authority, own] = *made;
    if (auto done = write_file(network / kAuthorityFile, authority.certificate); !done) return done;
    auto done = write_file(network / kAuthorityKeyFile, authority.key, Secrecy::secret);
    if (done) done = write_file(node / kCertificateFile, own.certificate);
    if (done) done = write_file(node / kCertificateKeyFile, own.key, Secrecy::secret);
    return done;
}

std::string broker_lines(const LocalBroker& broker, const std::filesystem::path& node) {
    std::string text = fmt::format(
        "plugin = bps\n"
        "bps-broker = {}\n"
        "bps-account = {}\n"
        "bps-account-key = {}\n"
        "bps-anonymous = {}@active\n",
        kBroker,
        kAccount,
        (node / kKeyFile).string(),
        broker.anonymous);
    if (broker.host.empty())
        return text + fmt::format("bps-listen-endpoint = {}\n", broker.address());
    return text + fmt::format(
                      "bps-listen-endpoint = 0.0.0.0:{}\n"
                      "bps-advertised-endpoint = {}\n"
                      "bps-tls-cert = {}\n"
                      "bps-tls-key = {}\n",
                      broker.port,
                      broker.address(),
                      (node / kCertificateFile).string(),
                      (node / kCertificateKeyFile).string());
}

base::Result<void> set_up_broker(const Session& session,
                                 const LocalBroker& broker,
                                 const std::string& system_key) {
    auto done = until_done("the broker's accounts were not made",
                           [&] { return make_accounts(session, broker, system_key); });
    if (done) {
        done = until_done("the broker's contract was not set",
                          [&] { return set_contract(session, system_key); });
    }
    if (done) {
        done = until_done("the broker was not added to its contract",
                          [&] { return add_broker(session, system_key); });
    }
    if (done) done = until_done("the broker did not start", [&] { return find_started(session); });
    return done;
}

void wait_for_brokers(const NetworkFile& file) {
    const auto deadline = std::chrono::steady_clock::now() + kRestartPatience;
    for (const NetworkFile::Validator& validator : file.validators) {
        if (!is_running(static_cast<pid_t>(validator.pid), "bor-node")) continue;
        while (is_starting(validator.http)) {
            if (std::chrono::steady_clock::now() >= deadline) {
                fmt::print(
                    stderr,
                    "the broker of {} serves nobody yet: 'bor-cli --url {} doctor' says why\n",
                    validator.name,
                    validator.http);
                break;
            }
            std::this_thread::sleep_for(kLookAgainAfter);
        }
    }
}

}  // namespace cli
