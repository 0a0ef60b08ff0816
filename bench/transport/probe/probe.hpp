#pragma once

#include <filesystem>
#include <string>
#include <vector>

// What a machine offers for transports, read from its files only.
namespace probe {

// What the program that asks was built with, and what it has tried.
struct Build {
    bool has_rdma = false;
    bool has_windows = false;
    std::string no_shared_memory{};  // Why two processes here can't share any; empty: they can.
};

// One thing that a transport needs or profits from.
struct Finding {
    std::string name{};
    bool is_usable = false;
    std::string found{};                 // One sentence.
    std::vector<std::string> details{};  // Devices, ports, addresses.
    std::string remedy{};                // What to do; empty: nothing.
    std::string instead{};               // What is used without it; empty: nothing is missing.
};

struct Report {
    std::vector<Finding> findings{};
    std::string same_host{};    // The kind that is used between nodes of this host.
    std::string other_hosts{};  // And to others.
};

// `root`: "/" but in tests, where it is a folder with a `sys`, a `proc` and a `dev`.
[[nodiscard]] Report look(const std::filesystem::path& root, const Build& build);

[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace probe
