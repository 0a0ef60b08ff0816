// Checks properties of our own source tree that no compiler checks:
// who may include whom, which names a layer must not utter, and how long files get.
//
//   usage: tidy <repository root>      exit status: number of findings, at most 99
#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string_view>;

constexpr std::size_t kLineColumnsMax = 100;
constexpr std::size_t kFileLinesMax = 600;

struct Ban {
    std::string_view name;
    std::string_view instead;
};

using Bans = std::vector<Ban>;

// Names that make a run depend on anything but its inputs.
const Bans kImpure = {
    {"::now()", "take a Timestamp argument"},
    {"random_device", "take an Rng&"},
    {"std::thread", "threads live in node and transport/*"},
    {"jthread", "threads live in node and transport/*"},
    {"std::mutex", "one owner per object; post an input instead"},
    {"atomic", "one owner per object; post an input instead"},
    {"sleep_for", "emit WakeAt"},
    {"getenv", "take an Options field"},
    {"fstream", "use base::Storage or base::AppendLog"},
    {"<sys/", "the OS lives in node and transport/*"},
    {"std::cout", "use base::Log"},
    {"spdlog", "use base::Log"},
    {"boost/asio", "event loops live in node and transport/*"},
};
// Names whose results may differ between machines or standard libraries.
const Bans kInexact = {
    {"double ", "use integers"},
    {"float ", "use integers"},
    {"unordered_", "use std::map or a sorted vector"},
    {"std::hash", "use base::crypto"},
    {"_distribution", "use Rng::below"},
};

// The architecture, as data.
struct Layer {
    std::string_view path;
    Names may_include;  // Besides itself.
    std::vector<const Bans*> must_not_say;
};

const std::vector<Layer> kLayers = {
    {"base", {}, {&kImpure, &kInexact}},
    {"base/crypto", {"base"}, {&kImpure, &kInexact}},
    {"chain/types", {"base", "base/crypto"}, {&kImpure, &kInexact}},
    {"chain/abi", {"base", "base/crypto", "chain/types"}, {&kImpure}},
    {"chain/vm", {"base", "base/crypto"}, {&kImpure}},
    {"chain/state", {"base", "base/crypto", "chain/types"}, {&kImpure, &kInexact}},
    {"chain/execution",
     {"base", "base/crypto", "chain/types", "chain/abi", "chain/vm", "chain/state"},
     {&kImpure}},
    {"chain",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/abi",
      "chain/vm",
      "chain/state",
      "chain/execution"},
     {&kImpure, &kInexact}},
    {"consensus", {"base", "base/crypto", "chain/types"}, {&kImpure, &kInexact}},
    {"p2p",
     {"base", "base/crypto", "chain/types", "chain/state", "transport"},
     {&kImpure, &kInexact}},
    {"genesis",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/abi",
      "chain/state",
      "chain/execution",
      "chain",
      "consensus"},
     {&kInexact}},
    {"transport", {"base", "base/crypto"}, {}},
    {"transport/link", {"base", "base/crypto", "transport"}, {&kImpure}},
    {"transport/ring", {"base", "base/crypto", "transport"}, {&kInexact}},
    {"transport/ntb", {"base", "base/crypto", "transport", "transport/link", "transport/ring"}, {}},
    {"transport/rdma",
     {"base", "base/crypto", "transport", "transport/link", "transport/ring"},
     {}},
    {"transport/tcp", {"base", "base/crypto", "transport", "transport/link"}, {}},
    {"node/api", {"base", "base/crypto", "chain/types", "chain/abi"}, {&kImpure}},
    {"node/core",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/abi",
      "chain/vm",
      "chain/state",
      "chain/execution",
      "chain",
      "consensus",
      "genesis",
      "transport",
      "p2p",
      "node/api"},
     {&kImpure}},
    {"node/bps/core/codec", {"base"}, {&kImpure, &kInexact}},
    {"node/bps/core",
     {"base", "base/crypto", "chain/types", "node/bps/core/codec"},
     {&kImpure, &kInexact}},
    {"node/bps/ledger",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/state",
      "chain/execution",
      "chain",
      "node/bps/core"},
     {&kImpure, &kInexact}},
    {"node/bps/disk", {"base", "node/bps/core/codec", "node/bps/core", "node/disk"}, {}},
    {"node/bps/server",
     {"base",
      "base/crypto",
      "chain/types",
      "transport/tcp",
      "node/http",
      "node/bps/core/codec",
      "node/bps/core"},
     {}},
    {"node/bps/service",
     {"base",
      "base/crypto",
      "chain/types",
      "node/bps/core/codec",
      "node/bps/core",
      "node/bps/disk",
      "node/bps/server",
      "node/bps/ledger",
      "node/disk"},
     {}},
    {"node/disk", {"base", "base/crypto", "chain/types", "consensus"}, {}},
    {"node/snapshots",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/abi",
      "chain/state",
      "chain/execution",
      "chain",
      "consensus",
      "genesis",
      "node/disk"},
     {}},
    {"node/archive",
     {"base",
      "chain/types",
      "chain/state",
      "chain",
      "consensus",
      "genesis",
      "node/core",
      "node/disk",
      "node/snapshots"},
     {}},
    {"node/machine", {"base", "chain/vm"}, {}},
    {"node/http", {"base", "base/crypto"}, {}},
    {"node",
     {"base",         "base/crypto",     "chain/types",   "chain/abi",       "chain/vm",
      "chain/state",  "chain/execution", "chain",         "consensus",       "genesis",
      "transport",    "transport/link",  "transport/ntb", "transport/rdma",  "transport/tcp",
      "p2p",          "node/api",        "node/core",     "node/disk",       "node/http",
      "node/machine", "node/snapshots",  "node/bps/core", "node/bps/ledger", "node/bps/service"},
     {}},
    {"wallet",
     {"base", "base/crypto", "chain/types", "chain/abi", "consensus", "node/disk", "node/http"},
     {}},
    {"cli",
     {"base",
      "base/crypto",
      "chain/types",
      "chain/abi",
      "chain/state",
      "consensus",
      "wallet",
      "genesis",
      "node/disk",
      "node/snapshots",
      "node/archive",
      "node/bps/core",
      "node/api",
      "chain/vm"},
     {}},
};

// The layer that owns a path relative to the root: the longest prefix wins.
const Layer* layer_of(std::string_view path) {
    const Layer* best = nullptr;
    for (const Layer& layer : kLayers) {
        const bool inside = path.starts_with(layer.path) && path.size() > layer.path.size() &&
                            path[layer.path.size()] == '/';
        if (inside && (best == nullptr || layer.path.size() > best->path.size())) best = &layer;
    }
    return best;
}

// "chain/block.hpp" from `#include "chain/block.hpp"`; empty for any other line.
std::string_view quoted_include(std::string_view line) {
    constexpr std::string_view kPrefix = "#include \"";
    if (!line.starts_with(kPrefix)) return {};
    line.remove_prefix(kPrefix.size());
    return line.substr(0, line.find('"'));
}

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether `code` has `name` other than as the end of a longer name ("index_double ").
bool says(std::string_view code, std::string_view name) {
    for (std::size_t at = code.find(name); at != std::string_view::npos;
         at = code.find(name, at + 1)) {
        const bool longer = at > 0 && is_name_character(code[at - 1]);
        if (!longer || !is_name_character(name.front())) return true;
    }
    return false;
}

// Every reason why `line` may not stand in `layer`.
std::vector<std::string> complaints(const Layer& layer, std::string_view line) {
    std::vector<std::string> found;
    if (line.size() > kLineColumnsMax) found.emplace_back("line longer than 100 columns");
    if (const std::string_view header = quoted_include(line); !header.empty()) {
        const Layer* target = layer_of(header);
        if (target == nullptr) {
            found.emplace_back("include by path from the root: " + std::string(header));
        } else if (target != &layer && std::ranges::count(layer.may_include, target->path) == 0) {
            found.emplace_back(std::string(layer.path) + " must not include " +
                               std::string(target->path));
        }
    }
    const std::string_view code = line.substr(0, line.find("//"));
    for (const Bans* bans : layer.must_not_say) {
        for (const Ban& ban : *bans) {
            if (!says(code, ban.name)) continue;
            found.emplace_back(std::string(layer.path) + " must not use " + std::string(ban.name) +
                               "; " + std::string(ban.instead));
        }
    }
    return found;
}

// Prints the findings of one file; returns how many.
int check_file(const Layer& layer, const fs::path& file) {
    std::ifstream in(file);
    int findings = 0;
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        for (const std::string& complaint : complaints(layer, line)) {
            std::cerr << file.generic_string() << ':' << number << ": " << complaint << '\n';
            ++findings;
        }
    }
    if (number <= kFileLinesMax) return findings;
    std::cerr << file.generic_string() << ": " << number << " lines, more than 600\n";
    return findings + 1;
}

int check_tree(const fs::path& root) {
    int findings = 0;
    for (auto at = fs::recursive_directory_iterator(root); at != fs::recursive_directory_iterator();
         ++at) {
        const fs::directory_entry& entry = *at;
        if (entry.path().filename() == "build" || entry.path().filename() == "node_modules") {
            at.disable_recursion_pending();
            continue;
        }
        const fs::path extension = entry.path().extension();
        if (extension != ".hpp" && extension != ".cpp") continue;
        const Layer* layer = layer_of(fs::relative(entry.path(), root).generic_string());
        if (layer != nullptr) findings += check_file(*layer, entry.path());
    }
    return findings;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return argc == 2 ? std::min(check_tree(argv[1]), 99) : 100;
    } catch (const std::exception& error) {
        std::cerr << "tidy: " << error.what() << '\n';
        return 101;
    }
}
