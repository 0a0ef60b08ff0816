#pragma once

#include "machine.hpp"
#include "reference.hpp"

#include <optional>

// Engines that run one contract once, behind one interface, for tests that compare them.
namespace oracle {

namespace vm = chain::vm;

constexpr vm::ApplyArgs kArgs{.receiver = 1, .code = 2, .action = 3};

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
    virtual std::optional<Seen> run(const base::Bytes& wasm, std::uint64_t fuel) = 0;
};

class ReferenceEngine final : public Engine {
  public:
    explicit ReferenceEngine(const reference::Rules& rules) : rules_(rules) {}
    std::optional<Seen> run(const base::Bytes& wasm, std::uint64_t fuel) override;

  private:
    reference::Rules rules_;
};

// WABT's interpreter. Has no fuel: for modules that end. It does not know units.
class WabtEngine final : public Engine {
  public:
    std::optional<Seen> run(const base::Bytes& wasm, std::uint64_t fuel) override;
};

// The product's.
class ProductEngine final : public Engine {
  public:
    explicit ProductEngine(vm::Engine& engine) : engine_(engine) {}
    std::optional<Seen> run(const base::Bytes& wasm, std::uint64_t fuel) override;

  private:
    vm::Engine& engine_;
};

// What differs between the reference and an engine that charges by blocks, for the same fuel;
// empty: nothing. See reference::bill_by_blocks().
[[nodiscard]] std::string difference_by_blocks(const Seen& expected,
                                               const Seen& found,
                                               std::uint64_t fuel);

// What differs in results, traps and what is left behind, without units.
[[nodiscard]] std::string difference(const Seen& expected, const Seen& found);

}  // namespace oracle
