#include "base/crypto/keys.hpp"
#include "cli/files.hpp"
#include "cli/journal.hpp"
#include "cli/output.hpp"
#include "cli/secret.hpp"

#include <fmt/format.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

std::string wallet_name(const Arguments& arguments) {
    return arguments.get("name", "default");
}

// Calls the wallet; prints the answer with -j, else `text`.
base::Result<void> tell(const Session& session,
                        std::string_view path,
                        const Json& body,
                        const std::string& text) {
    const auto answer = call(session.wallet_url, path, body);
    if (!answer) return fail(answer.error());
    if (session.json) return print_json(*answer);
    fmt::print("{}\n", text);
    return {};
}

base::Result<void> create(const Session& session, const Arguments& arguments) {
    const std::string file = arguments.get("file");
    if (file.empty() == !arguments.has("to-console")) {
        return fail(Errc::invalid,
                    "say where the password goes: --file FILE, or --to-console to show it");
    }
    if (std::error_code error; !file.empty() && std::filesystem::exists(file, error)) {
        return fail(Errc::invalid, fmt::format("{} exists; name another file", file));
    }
    const std::string name = wallet_name(arguments);
    const auto password = call(session.wallet_url, "/v1/wallet/create", Json(name));
    if (!password) return fail(password.error());
    if (!file.empty()) {
        auto written = write_file(file, password->get<std::string>() + "\n", Secrecy::secret);
        if (!written) return written;
        fmt::print("wallet '{}' is made and unlocked; its password is in {}\n", name, file);
        return {};
    }
    if (session.json) return print_json(*password);
    fmt::print("wallet '{}' is made and unlocked; keep its password, nothing else opens it:\n{}\n",
               name,
               password->get<std::string>());
    return {};
}

base::Result<void> open(const Session& session, const Arguments& arguments) {
    const std::string name = wallet_name(arguments);
    return tell(session, "/v1/wallet/open", Json(name), fmt::format("opened: {}", name));
}

base::Result<void> lock(const Session& session, const Arguments& arguments) {
    const std::string name = wallet_name(arguments);
    return tell(session, "/v1/wallet/lock", Json(name), fmt::format("locked: {}", name));
}

base::Result<void> lock_all(const Session& session, const Arguments& /*arguments*/) {
    return tell(session, "/v1/wallet/lock_all", Json(), "all wallets are locked");
}

base::Result<void> unlock(const Session& session, const Arguments& arguments) {
    const std::string name = wallet_name(arguments);
    const auto password = read_secret(arguments, "password-file", "password");
    if (!password) return fail(password.error());
    return tell(session,
                "/v1/wallet/unlock",
                Json::array({name, *password}),
                fmt::format("unlocked: {}", name));
}

base::Result<void> import_key(const Session& session, const Arguments& arguments) {
    const auto text = read_secret(arguments, "private-key-file", "private key");
    if (!text) return fail(text.error());
    const auto key = base::crypto::PrivateKey::from_string(*text);
    if (!key) return fail(Errc::invalid, "that is no private key (5..., PVT_K1_... or PVT_R1_...)");
    const std::string name = wallet_name(arguments);
    return tell(session,
                "/v1/wallet/import_key",
                Json::array({name, *text}),
                fmt::format("imported: {}", key->public_key().to_string()));
}

base::Result<void> remove_key(const Session& session, const Arguments& arguments) {
    const auto password = read_secret(arguments, "password-file", "password");
    if (!password) return fail(password.error());
    const std::string key = arguments.at("key");
    return tell(session,
                "/v1/wallet/remove_key",
                Json::array({wallet_name(arguments), *password, key}),
                fmt::format("removed: {}", key));
}

base::Result<void> give_up_lock(const Session& session, const Arguments& arguments) {
    const auto password = read_secret(arguments, "password-file", "password");
    if (!password) return fail(password.error());
    const std::string key = arguments.at("key");
    const auto given_up = call(session.wallet_url,
                               "/v1/wallet/give_up_lock",
                               Json::array({wallet_name(arguments), *password, key}));
    if (!given_up) return fail(given_up.error());
    if (session.json) return print_json(*given_up);
    const std::uint64_t votes_above = number_of(*given_up, "votes_above");
    fmt::print(
        "{} is not locked on slot {} (block {}) any more: it votes for slots above {}, where its "
        "node wants it to.\n"
        "Votes that it signed before may be evidence against it now. When blocks are final again, "
        "give its validator a new key: 'bor-cli system regproducer NAME NEWKEY'.\n",
        key,
        number_of(*given_up, "lock_slot"),
        text_of(*given_up, "lock"),
        votes_above);
    return {};
}

base::Result<void> create_key(const Session& session, const Arguments& arguments) {
    const std::string type = arguments.at("type");
    const std::string name = wallet_name(arguments);
    if (arguments.has("vote") && !type.empty() && type != "K1") {
        return fail(base::Errc::invalid, "vote keys are K1 keys");
    }
    if (arguments.has("journal") && !arguments.has("vote")) {
        return fail(base::Errc::invalid, "--journal is for a validator's key: add --vote");
    }
    const auto key = arguments.has("vote")
                         ? call(session.wallet_url, "/v1/wallet/create_validator_key", Json(name))
                         : call(session.wallet_url,
                                "/v1/wallet/create_key",
                                Json::array({name, type.empty() ? "K1" : type}));
    if (!key) return fail(key.error());
    if (arguments.has("journal")) {
        const auto made = base::crypto::PublicKey::from_string(key->get<std::string>());
        if (!made) return fail(made.error());
        if (auto done = make_journal(arguments.get("journal"), *made); !done) return done;
    }
    if (session.json) return print_json(*key);
    fmt::print("made a key whose public key is: {}\n", key->get<std::string>());
    return {};
}

base::Result<void> print_lines(const Session& session, const Json& list) {
    if (session.json) return print_json(list);
    for (const Json& item : list)
        fmt::print("{}\n", item.get<std::string>());
    return {};
}

base::Result<void> list(const Session& session, const Arguments& /*arguments*/) {
    const auto wallets = call(session.wallet_url, "/v1/wallet/list_wallets", Json());
    if (!wallets) return fail(wallets.error());
    return print_lines(session, *wallets);
}

base::Result<void> keys(const Session& session, const Arguments& /*arguments*/) {
    const auto keys = call(session.wallet_url, "/v1/wallet/get_public_keys", Json());
    if (!keys) return fail(keys.error());
    return print_lines(session, *keys);
}

base::Result<void> private_keys(const Session& session, const Arguments& arguments) {
    const auto password = read_secret(arguments, "password-file", "password");
    if (!password) return fail(password.error());
    const auto keys = call(session.wallet_url,
                           "/v1/wallet/list_keys",
                           Json::array({wallet_name(arguments), *password}));
    if (!keys) return fail(keys.error());
    if (session.json) return print_json(*keys);
    for (const Json& pair : *keys) {
        fmt::print("{} {}\n", pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
    }
    return {};
}

base::Result<void> stop(const Session& session, const Arguments& /*arguments*/) {
    return tell(session, "/v1/keosd/stop", Json(), "the wallet daemon stops");
}

}  // namespace

void add_wallet_commands(std::vector<Command>& commands) {
    const Option name{"name", 'n', "NAME", "the wallet (default: default)"};
    const Option password =
        secret_option("password-file", "file with the password (default: typed, or stdin)");
    commands.push_back({"wallet create",
                        "Make a wallet",
                        {},
                        {name,
                         {"file", 'f', "FILE", "write its password there, mode 0600"},
                         {"to-console", 0, "", "print its password"}},
                        create});
    commands.push_back({"wallet open", "Open a wallet's file, locked", {}, {name}, open});
    commands.push_back({"wallet lock", "Lock a wallet", {}, {name}, lock});
    commands.push_back({"wallet lock_all", "Lock every wallet", {}, {}, lock_all});
    commands.push_back({"wallet unlock", "Unlock a wallet", {}, {name, password}, unlock});
    commands.push_back(
        {"wallet import",
         "Put a private key into a wallet",
         {},
         {name, secret_option("private-key-file", "file with it (default: typed, or stdin)")},
         import_key});
    commands.push_back({"wallet remove_key",
                        "Delete a private key from a wallet",
                        {{"key", "its public key"}},
                        {name, password},
                        remove_key});
    commands.push_back({"wallet give_up_lock",
                        "Free a validator's key of a lock that its node has given up "
                        "(--accept-amnesia)",
                        {{"key", "its public key"}},
                        {name, password},
                        give_up_lock});
    commands.push_back(
        {"wallet create_key",
         "Make a key inside a wallet",
         {{"type", "K1 (default) or R1", true}},
         {name,
          {"vote", 0, "", "a validator's key: it signs each header and vote once"},
          {"journal", 0, "DATA_DIR", "data directory of the node that is to use it"}},
         create_key});
    commands.push_back(
        {"wallet list", "Show the open wallets; * marks unlocked ones", {}, {}, list});
    commands.push_back(
        {"wallet keys", "Show the public keys of all unlocked wallets", {}, {}, keys});
    commands.push_back({"wallet private_keys",
                        "Show the private keys of an unlocked wallet",
                        {},
                        {name, password},
                        private_keys});
    commands.push_back({"wallet stop", "Stop the wallet daemon", {}, {}, stop});
}

}  // namespace cli
