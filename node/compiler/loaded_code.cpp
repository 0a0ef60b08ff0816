#include "node/compiler/loaded_code.hpp"

#include <dlfcn.h>
#include <filesystem>
#include <system_error>

namespace node {

namespace {

namespace vm = chain::vm;

// runtime.h numbers its traps like this.
static_assert(static_cast<int>(vm::Trap::unreachable) == 1);
static_assert(static_cast<int>(vm::Trap::memory_out_of_bounds) == 2);
static_assert(static_cast<int>(vm::Trap::divide_by_zero) == 3);
static_assert(static_cast<int>(vm::Trap::integer_overflow) == 4);
static_assert(static_cast<int>(vm::Trap::invalid_conversion) == 5);
static_assert(static_cast<int>(vm::Trap::indirect_call) == 6);
static_assert(static_cast<int>(vm::Trap::host_stop) == 10);

struct Functions {
    std::uint32_t (*version)() = nullptr;
    void (*load)() = nullptr;
    void (*reset)(const vm::NativeHost*, std::uint64_t) = nullptr;
    int (*apply)(std::uint64_t, std::uint64_t, std::uint64_t) = nullptr;
    std::uint64_t* (*fuel)() = nullptr;
    std::uint64_t* (*stack)() = nullptr;
    std::uint32_t* (*trapped)() = nullptr;
};

class LoadedCode final : public vm::NativeCode {
  public:
    LoadedCode(void* library, vm::Tier tier) : library_(library), tier_(tier) {}
    ~LoadedCode() override { dlclose(library_); }

    bool bind() {
        const bool complete =
            find("bor_version", functions_.version) && find("bor_load", functions_.load) &&
            find("bor_reset", functions_.reset) && find("bor_apply", functions_.apply) &&
            find("bor_fuel", functions_.fuel) && find("bor_stack", functions_.stack) &&
            find("bor_trapped", functions_.trapped);
        if (!complete || functions_.version() != vm::kNativeVersion) return false;
        functions_.load();
        fuel_ = functions_.fuel();
        stack_ = functions_.stack();
        trap_ = functions_.trapped();
        return true;
    }

    [[nodiscard]] vm::Tier tier() const override { return tier_; }
    void reset(const vm::NativeHost& host, std::uint64_t memory_bytes) override {
        functions_.reset(&host, memory_bytes);
    }
    [[nodiscard]] vm::Trap apply(const vm::ApplyArgs& args) override {
        return static_cast<vm::Trap>(functions_.apply(args.receiver, args.code, args.action));
    }
    [[nodiscard]] std::uint64_t& fuel() override { return *fuel_; }
    [[nodiscard]] std::uint64_t& stack() override { return *stack_; }
    [[nodiscard]] std::uint32_t& trap() override { return *trap_; }

  private:
    template <class Function>
    bool find(const char* name, Function& out) {
        out = reinterpret_cast<Function>(dlsym(library_, name));
        return out != nullptr;
    }

    void* library_;
    vm::Tier tier_;
    Functions functions_;
    std::uint64_t* fuel_ = nullptr;
    std::uint64_t* stack_ = nullptr;
    std::uint32_t* trap_ = nullptr;
};

}  // namespace

base::Result<std::unique_ptr<vm::NativeCode>> load_code(const std::string& path,
                                                        const std::string& copy,
                                                        vm::Tier tier) {
    std::error_code failed;
    std::filesystem::copy_file(path, copy, failed);
    if (failed) return base::fail(base::Errc::not_found, path + ": " + failed.message());
    void* library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::filesystem::remove(copy, failed);
    if (library == nullptr) {
        const char* why = dlerror();
        return base::fail(base::Errc::corrupt, why == nullptr ? path : why);
    }
    auto out = std::make_unique<LoadedCode>(library, tier);
    if (!out->bind()) return base::fail(base::Errc::corrupt, path + " is not of this version");
    return out;
}

}  // namespace node
