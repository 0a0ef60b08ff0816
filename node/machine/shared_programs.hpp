#pragma once

#include "chain/vm/programs.hpp"
#include "chain/vm/vm.hpp"

#include <mutex>

namespace node {

// The compiled contracts of a process: what one thread compiled, all run. Thread: any.
class SharedPrograms final : public chain::vm::Programs {
  public:
    explicit SharedPrograms(std::size_t bytes_max = chain::vm::Engine::kCacheBytes)
        : cache_(bytes_max) {}

    [[nodiscard]] std::uint32_t rules(const chain::vm::Limits& limits,
                                      const chain::vm::Prices& prices) override {
        const std::scoped_lock lock(mutex_);
        return cache_.rules(limits, prices);
    }
    [[nodiscard]] std::shared_ptr<const chain::vm::Prepared> find(const Key& key) override {
        const std::scoped_lock lock(mutex_);
        return cache_.find(key);
    }
    void keep(const Key& key, std::shared_ptr<const chain::vm::Prepared> prepared) override {
        const std::scoped_lock lock(mutex_);
        cache_.keep(key, std::move(prepared));
    }
    [[nodiscard]] std::size_t bytes() const override {
        const std::scoped_lock lock(mutex_);
        return cache_.bytes();
    }
    [[nodiscard]] bool is_full() const override {
        const std::scoped_lock lock(mutex_);
        return cache_.is_full();
    }

  private:
    mutable std::mutex mutex_;
    chain::vm::ProgramCache cache_;
};

}  // namespace node
