#pragma once

#include "base/bytes.hpp"
#include "chain/vm/vm.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// WebAssembly's own suite (https://github.com/WebAssembly/testsuite), read by WABT's wast2json
// and run by any engine of ours.
namespace suite {

// What an engine must be able to do for the suite.
class Engine {
  public:
    // A module that was loaded; its memory, globals and table stay from call to call.
    class Instance {
      public:
        virtual ~Instance() = default;

        struct Answer {
            chain::vm::Trap trap{};               // none: it returned.
            std::optional<std::uint64_t> result;  // Raw bits, zero-extended.
        };
        // Nothing: no function is exported under this name.
        virtual std::optional<Answer> invoke(const std::string& name,
                                             std::span<const std::uint64_t> args) = 0;
        // Raw bits. Nothing: no global is exported under this name.
        virtual std::optional<std::uint64_t> global(const std::string& name) = 0;
    };

    enum class Refusal {
        none,
        invalid,      // Malformed, or breaks a rule of WebAssembly.
        unlinkable,   // An import of "spectest" is not there; a segment lies outside.
        trapped,      // The start function did.
        unsupported,  // Valid, but not for this engine: `reason` says what it needs.
    };
    struct Loaded {
        std::unique_ptr<Instance> instance;  // Null when refused.
        Refusal refusal = Refusal::none;
        std::string reason;
    };

    virtual ~Engine() = default;
    // Reads and links a module, and calls its start function. Functions of "spectest" may be
    // imported, see spectest(); whatever else a module imports makes it unsupported.
    virtual Loaded load(base::ByteView wasm) = 0;
    // Whether load() finds what is invalid. If not, the suite's invalid modules are skipped.
    [[nodiscard]] virtual bool validates() const = 0;
};

// print, print_i32 and so on, which do nothing.
[[nodiscard]] const chain::vm::HostTable& spectest();

struct Report {
    std::uint64_t passed = 0;
    std::vector<std::string> failures;             // "f32.wast:77: what differs"
    std::map<std::string, std::uint64_t> skipped;  // By reason.

    void add(const Report& other);
};

// Runs one .wast file. `scratch` is a directory that exists; files in it are overwritten.
[[nodiscard]] Report run_file(const std::filesystem::path& wast,
                              const std::filesystem::path& scratch,
                              Engine& engine);

}  // namespace suite
