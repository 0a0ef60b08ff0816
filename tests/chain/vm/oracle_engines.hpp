#pragma once

#include "base/rng.hpp"
#include "machine.hpp"
#include "reference.hpp"

#include <optional>

// Engines that run one contract once, behind one interface, for tests that compare them.
namespace oracle {

namespace vm = chain::vm;

// One run of a contract.
struct Call {
    std::uint64_t fuel = 0;
    vm::ApplyArgs args{.receiver = 1, .code = 2, .action = 3};
    std::uint64_t seed = 0;  // Of what hosts answer by chance.
};

// The host's side of a run.
struct Context : machine::Recorder {
    explicit Context(std::uint64_t seed) : rng(seed) {}
    base::Rng rng;
};

// Functions for all that the module imports, which answer by chance: the same to the same calls.
// They see a context of type Context.
[[nodiscard]] vm::HostTable chance_hosts(const reference::Module& module);

// What can be seen of a run, from inside the chain or from outside.
struct Seen {
    vm::Outcome::Kind kind{};
    vm::Trap trap{};
    std::uint64_t used = 0;           // Units.
    std::vector<std::uint64_t> told;  // To the host, in order.
    base::Hash256 digest;             // Of the memory, when the contract last asked the host.
    // Of the whole memory, and globals' raw bits, where the engine shows them.
    std::optional<base::Bytes> memory{};
    std::optional<std::vector<std::uint64_t>> globals{};
    std::uint64_t rest = 0;  // The reference's: see reference::End.
};

class Engine {
  public:
    virtual ~Engine() = default;
    // Nothing: the engine cannot say, because it reached a limit that others have not.
    virtual std::optional<Seen> run(const base::Bytes& wasm, const Call& call) = 0;
};

class ReferenceEngine final : public Engine {
  public:
    // `hosts` outlives it.
    ReferenceEngine(const vm::HostTable& hosts, const reference::Rules& rules)
        : hosts_(hosts), rules_(rules) {}
    std::optional<Seen> run(const base::Bytes& wasm, const Call& call) override;

  private:
    const vm::HostTable& hosts_;
    reference::Rules rules_;
};

// WABT's interpreter. Has no fuel: for modules that end. It does not know units.
class WabtEngine final : public Engine {
  public:
    // `hosts` outlives it.
    explicit WabtEngine(const vm::HostTable& hosts) : hosts_(hosts) {}
    std::optional<Seen> run(const base::Bytes& wasm, const Call& call) override;

  private:
    const vm::HostTable& hosts_;
};

// The product's.
class ProductEngine final : public Engine {
  public:
    explicit ProductEngine(vm::Engine& engine) : engine_(engine) {}
    std::optional<Seen> run(const base::Bytes& wasm, const Call& call) override;

  private:
    vm::Engine& engine_;
};

// What differs between the reference and an engine that charges by blocks, for the same fuel;
// empty: nothing. See reference::bill_by_blocks().
[[nodiscard]] std::string difference_by_blocks(const Seen& expected,
                                               const Seen& found,
                                               std::uint64_t fuel);

// Compares so with all of the call's fuel, with half of what was used, with what is needed to the
// last unit, and with one unit less.
[[nodiscard]] std::string difference_at_fuels(Engine& reference,
                                              Engine& by_blocks,
                                              const base::Bytes& wasm,
                                              Call call);

// Whether an engine without fuel and limits of ours would come to this end.
[[nodiscard]] bool is_of_the_module(vm::Trap trap);

// What differs in results, traps and what is left behind, without units.
[[nodiscard]] std::string difference(const Seen& expected, const Seen& found);

}  // namespace oracle
