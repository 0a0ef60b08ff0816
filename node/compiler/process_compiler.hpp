#pragma once

#include "base/log.hpp"
#include "chain/vm/compiler.hpp"

#include <filesystem>
#include <memory>

namespace node {

// Tier two of the contract VM (spec 03, "Contracts"): compiles in child processes, first with
// tcc, if there is one, within milliseconds, then with gcc -O2, and keeps the results on disk.
//
// Thread: any. Has one thread of its own, which ends with the object; a child that runs then
// is killed.
class ProcessCompiler final : public chain::vm::Compiler {
  public:
    struct Options {
        std::filesystem::path directory;  // Made if absent; only this user may write there.
        // The program that does the work; empty: bor-wasm-compile beside this executable.
        std::filesystem::path helper;
        std::filesystem::path quick = "/usr/bin/tcc";
        std::filesystem::path optimised = "/usr/bin/gcc";
    };

    // Compiles and runs a small contract with each compiler, which takes about a tenth of a
    // second; available() tells the outcome.
    ProcessCompiler(const Options& options, const base::Log& log);
    ~ProcessCompiler() override;

    [[nodiscard]] bool available() const override;
    [[nodiscard]] std::string reason() const override;
    void request(const base::Hash256& key, base::ByteView module) override;
    [[nodiscard]] std::uint64_t generation() const override;
    [[nodiscard]] std::unique_ptr<chain::vm::NativeCode> load(const base::Hash256& key,
                                                              chain::vm::Tier than) override;

    // Blocks until no work is left. For tests and `bor-node` commands that prepare a cache.
    void wait_idle();

  private:
    class State;
    std::unique_ptr<State> state_;
};

}  // namespace node
