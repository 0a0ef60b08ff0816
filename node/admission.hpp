#pragma once

#include "base/pinned.hpp"
#include "chain/types/transaction.hpp"

#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace node {

// Who this node refuses to execute transactions for, whatever the chain allows: the lists of
// /v1/producer/set_whitelist_blacklist. Looks at the actions of the transaction itself, not at
// those that contracts send.
struct AdmissionLists {
    std::set<chain::Name> actor_whitelist;
    std::set<chain::Name> actor_blacklist;
    std::set<chain::Name> contract_whitelist;
    std::set<chain::Name> contract_blacklist;
    std::set<std::pair<chain::Name, chain::Name>> action_blacklist;
    // Keys that newaccount and updateauth may not give to an authority.
    std::set<chain::PublicKey> key_blacklist;
};

// What an operator may change while the node runs. Kept in memory only, as nodeos does.
//
// Thread: any.
class ProducerSettings : base::Pinned {
  public:
    // nodeos' runtime options. Nothing is billed subjectively here, so that only the first has
    // an effect: on dry runs.
    struct RuntimeOptions {
        std::int32_t max_transaction_time = 150;  // Milliseconds; -1: no limit.
        std::int32_t max_irreversible_block_age = -1;
        std::int32_t produce_block_offset_ms = 0;
        std::int32_t subjective_cpu_leeway_us = 0;
        std::uint32_t greylist_limit = 1000;
    };

    [[nodiscard]] AdmissionLists lists() const;
    void set_lists(AdmissionLists lists);
    [[nodiscard]] RuntimeOptions runtime_options() const;
    void set_runtime_options(const RuntimeOptions& options);
    [[nodiscard]] std::set<chain::Name> greylist() const;
    void set_greylist(std::set<chain::Name> accounts);

    // Errors 3130001 to 3130006 with nodeos' texts.
    [[nodiscard]] base::Result<void> admit(const chain::DecodedTransaction& transaction) const;

  private:
    mutable std::mutex mutex_;
    AdmissionLists lists_;
    RuntimeOptions options_;
    std::set<chain::Name> greylist_;
};

}  // namespace node
