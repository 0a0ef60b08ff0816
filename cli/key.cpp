#include "base/crypto/keys.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/journal.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// A folder that is made where nobody looks would keep the journal from its node, which would call
// it lost. That of a new node may be missing yet, but not the folder around it.
base::Result<void> check_data_dir(const std::filesystem::path& directory) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::absolute(directory, error)
                                             .lexically_normal()
                                             .append(".")
                                             .parent_path()
                                             .parent_path();
    if (std::filesystem::is_directory(parent, error)) return {};
    return fail(Errc::invalid,
                fmt::format("--journal {}: there is no folder {}; name the node's data directory "
                            "(its option data-dir), or make that folder first",
                            directory.string(),
                            parent.string()));
}

// A wrong path would be found when the node calls its journal lost, and not before.
void tell_if_made(const std::filesystem::path& directory) {
    std::error_code error;
    if (std::filesystem::exists(directory, error)) return;
    fmt::print(stderr,
               "note: there was no folder {0}; it is made, with the journal in it. It must be the "
               "data directory (option data-dir) of the node that gets the key\n",
               directory.string());
}

bool is_of_node(const Arguments& arguments) {
    return arguments.has("vote") || arguments.has("node");
}

// Whether these options fit together, and the file is free.
base::Result<void> check_key_options(const Arguments& arguments) {
    const std::string file = arguments.get("file");
    if (file.empty() && !arguments.has("to-console")) {
        return fail(Errc::invalid,
                    "say where the private key goes: --file FILE, or --to-console to show it");
    }
    if (is_of_node(arguments) && !file.empty() && std::filesystem::exists(file)) {
        return fail(Errc::invalid,
                    file +
                        " exists already, and may be the only copy of a key: name another file, "
                        "or remove it");
    }
    if (!arguments.has("vote") && arguments.has("journal")) {
        return fail(Errc::invalid,
                    "--journal goes with --vote: only a validator's key has a safety journal; add "
                    "--vote, or leave --journal out");
    }
    if (!arguments.has("vote")) return {};
    if (arguments.has("r1")) return fail(Errc::invalid, "vote keys are K1 keys");
    const std::string directory = arguments.get("journal");
    if (directory.empty()) {
        return fail(Errc::invalid, "--vote needs --journal DATA_DIR, the node's data directory");
    }
    if (auto good = check_data_dir(directory); !good) return good;
    // Else the journal would be made for a key that is nowhere.
    return file.empty() ? base::Result<void>() : try_to_write(file);
}

base::Result<void> create_key(const Session& session, const Arguments& arguments) {
    if (auto good = check_key_options(arguments); !good) return good;
    const auto type = arguments.has("r1") ? base::crypto::KeyType::r1 : base::crypto::KeyType::k1;
    const auto key = base::crypto::PrivateKey::generate(type);
    const std::string file = arguments.get("file");
    // The journal is what keeps the key from voting twice: it is born with the key.
    if (arguments.has("vote")) {
        tell_if_made(arguments.get("journal"));
        auto made = make_journal(arguments.get("journal"), key.public_key());
        if (!made) return made;
    }
    if (!file.empty()) {
        const std::string text = is_of_node(arguments)
                                     ? key.to_string() + "\n"
                                     : fmt::format("Private key: {}\nPublic key: {}\n",
                                                   key.to_string(),
                                                   key.public_key().to_string());
        if (auto done = write_file(file, text, Secrecy::secret); !done) return done;
        fmt::print("saved to {}; public key: {}\n", file, key.public_key().to_string());
        return {};
    }
    if (session.json) {
        fmt::print("{{\"private_key\":\"{}\",\"public_key\":\"{}\"}}\n",
                   key.to_string(),
                   key.public_key().to_string());
        return {};
    }
    fmt::print("Private key: {}\nPublic key: {}\n", key.to_string(), key.public_key().to_string());
    return {};
}

const std::vector<Option>& key_options() {
    static const std::vector<Option> kOptions{
        {"r1", 0, "", "a key of the R1 curve"},
        {"k1", 0, "", "a key of the K1 curve (default)"},
        {"file", 'f', "FILE", "write the private key there, mode 0600"},
        {"to-console", 0, "", "print the private key"},
        {"node", 0, "", "a node's key, as p2p-node-key wants it (with --r1)"},
        {"vote", 0, "", "a validator's key, with its safety journal"},
        {"journal", 0, "DATA_DIR", "data directory of the node; with --vote"}};
    return kOptions;
}

}  // namespace

void add_key_commands(std::vector<Command>& commands) {
    commands.push_back({"create key", "Make a key pair", {}, key_options(), create_key});
    commands.push_back({"key create", "Make a key pair", {}, key_options(), create_key});
}

}  // namespace cli
