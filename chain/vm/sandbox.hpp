#pragma once

#include "base/pinned.hpp"
#include "chain/vm/host.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/wabt_adapter.hpp"

#include <memory>
#include <vector>

namespace chain::vm {

// The way between a contract and its host functions.
// One per engine. Thread: the engine's.
class Sandbox : base::Pinned {
  public:
    explicit Sandbox(const HostTable& hosts) : hosts_(hosts) {}

    // The initial contents of a module's memory.
    struct Image {
        base::Bytes bytes;               // From offset 0 to the end of the data.
        std::uint64_t memory_bytes = 0;  // Initial size.
    };

    // Runs apply.
    [[nodiscard]] Trap run(WabtInstance& instance, const Image& image, const ApplyArgs& args);

    // Sets for whom the next run is. The meter is charged by host functions and, at the end
    // of a run, with what the contract's own instructions used.
    void attach(Context& context, Meter& meter, std::uint64_t stack);

    // Called by host functions' trampolines.
    static bool call_interpreted(void* self,
                                 std::uint32_t host,
                                 const std::uint64_t* args,
                                 std::uint64_t* result);

  private:
    bool call(std::uint32_t host,
              std::uint64_t& fuel,
              const std::uint64_t* args,
              std::uint64_t* result);
    [[nodiscard]] Trap settle(Trap trap,
                              std::uint64_t fuel,
                              std::uint32_t code,
                              std::uint64_t stack);

    const HostTable& hosts_;
    Memory memory_;
    Context* context_ = nullptr;
    Meter* meter_ = nullptr;
    std::uint64_t granted_ = 0;  // Fuel last given to the contract.
    std::uint64_t stack_ = 0;
    WabtInstance* interpreter_ = nullptr;
    bool stopped_by_host_ = false;
};

}  // namespace chain::vm
