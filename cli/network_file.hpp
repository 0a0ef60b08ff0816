#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// DIR/network.json: what `network up` started, for the other commands and for scripts.
struct NetworkFile {
    struct Validator {
        std::string name;
        std::string http;  // URL.
        std::string p2p;   // host:port; empty: not served.
        std::int64_t pid = 0;
        std::string data_dir;
        std::string log;
        std::string broker{};  // host:port for Kafka's clients; empty: it has no broker.

        // Path of its Unix socket, where its operator's calls are served.
        [[nodiscard]] std::string socket() const;
    };
    struct Wallet {
        std::string socket;
        std::string name;
        std::string password_file;
        std::int64_t pid = 0;
    };

    // Of a node that joined a chain elsewhere.
    struct Join {
        std::string http;          // URL of the node whose join line it was.
        std::string node_key;      // Of the new node, as text.
        std::uint64_t height = 0;  // Of the line's block.
    };

    std::string chain_id;
    std::uint32_t block_interval_ms = 0;
    std::vector<Validator> validators;
    std::optional<Join>
        join;  // With it: one node, which is no validator, no wallet, no system key.
    Wallet wallet;
    std::string system_public;
    std::string system_private;

    // not_found: there is no such network; says how to make one. malformed: not that file.
    [[nodiscard]] static base::Result<NetworkFile> read(const std::filesystem::path& dir);
    // The same, with the processes as they are now, not as they were started: 0 where none runs.
    [[nodiscard]] static base::Result<NetworkFile> read_running(const std::filesystem::path& dir);
    [[nodiscard]] base::Result<void> write(const std::filesystem::path& dir) const;
};

}  // namespace cli
