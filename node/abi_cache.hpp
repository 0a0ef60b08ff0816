#pragma once

#include "base/pinned.hpp"
#include "chain/abi/serializer.hpp"
#include "chain/state/state.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace node {

// Serializers of the ABIs that were used lately.
//
// Thread: any. Bounded by the number of ABIs kept; when full all are forgotten.
class AbiCache : base::Pinned {
  public:
    // Null: the account has no ABI, or one that nobody can use.
    [[nodiscard]] chain::abi::SerializerPtr find(const chain::StateView& state,
                                                 chain::Name account);
    // Looks into `state`, which it keeps.
    [[nodiscard]] chain::abi::Resolver resolver(std::shared_ptr<const chain::StateView> state);

  private:
    struct Entry {
        chain::Value bytes;  // Of the row; null: the native ABI of eosio.
        chain::abi::SerializerPtr serializer;
    };
    static constexpr std::size_t kEntriesMax = 256;

    std::mutex mutex_;
    std::map<chain::Name, Entry> entries_;
};

}  // namespace node
