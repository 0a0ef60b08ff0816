#pragma once

#include "base/pinned.hpp"
#include "chain/vm/compiler.hpp"
#include "chain/vm/module.hpp"
#include "chain/vm/wabt_adapter.hpp"

#include <memory>
#include <vector>

namespace chain::vm {

// The linear memory of compiled code and the way back from contract to host functions.
// One per engine. Thread: the engine's.
class Sandbox : base::Pinned {
  public:
    Sandbox(const HostTable& hosts, std::uint32_t max_pages);

    // The initial contents of a module's memory.
    struct Image {
        base::Bytes bytes;               // From offset 0 to the end of the data.
        std::uint64_t memory_bytes = 0;  // Initial size.
    };

    // Runs in compiled code, or in the interpreter. `fuel` is what may be used.
    [[nodiscard]] Trap run(NativeCode& code, const Image& image, const ApplyArgs& args);
    [[nodiscard]] Trap run(WabtInstance& instance, const Image& image, const ApplyArgs& args);

    // Sets for whom the next run is. The meter is charged by host functions and, at the end
    // of a run, with what the contract's own instructions used.
    void attach(Context& context, Meter& meter, std::uint64_t stack);

    // Forget which image the memory holds: the module that it belonged to is gone.
    void forget_image() { loaded_ = nullptr; }

    // Called by host functions' trampolines.
    static bool call_interpreted(void* self,
                                 std::uint32_t host,
                                 const std::uint64_t* args,
                                 std::uint64_t* result);

  private:
    static int call_native(void* self,
                           std::uint32_t host,
                           const std::uint64_t* args,
                           std::uint64_t* result);
    static void resized(void* self, std::uint64_t bytes);
    bool call(std::uint32_t host,
              std::uint64_t& fuel,
              const std::uint64_t* args,
              std::uint64_t* result);
    void reserve();
    void restore(const Image& image);
    [[nodiscard]] Trap settle(Trap trap,
                              std::uint64_t fuel,
                              std::uint32_t code,
                              std::uint64_t stack);

    const HostTable& hosts_;
    std::uint64_t reserved_ = 0;  // Bytes of memory mapped.
    struct Free {
        void operator()(std::byte* memory) const;
    };
    std::unique_ptr<std::byte, Free> arena_;
    std::vector<std::uint8_t> dirty_;  // Per 4,096 bytes of the arena.
    const Image* loaded_ = nullptr;    // What the clean parts of the arena hold, or null.
    std::uint64_t loaded_bytes_ = 0;   // How far an image was put there.
    std::uint64_t used_bytes_ = 0;     // Size of the memory of the last run.
    NativeHost host_{};
    Memory memory_;
    Context* context_ = nullptr;
    Meter* meter_ = nullptr;
    std::uint64_t granted_ = 0;  // Fuel last given to the contract.
    std::uint64_t stack_ = 0;
    std::uint64_t* native_fuel_ = nullptr;
    WabtInstance* interpreter_ = nullptr;
    bool stopped_by_host_ = false;
};

}  // namespace chain::vm
