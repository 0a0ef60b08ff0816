#pragma once

#include "genesis/recovery.hpp"
#include "node/api/diagnosis.hpp"
#include "node/calls.hpp"
#include "node/signer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace node {

// What this node was started as, and with.
struct OwnStart {
    std::vector<std::string> producer_names;
    std::vector<std::string> storage_losses;            // RocksDbStorage::losses().
    std::shared_ptr<const SigningFailures> failures;    // Of the keys of this node.
    std::optional<genesis::Recovery> recovery{};        // That the operator confirms.
    std::optional<base::crypto::PublicKey> node_key{};  // Null: it has no peers.
};

// What this node sees of the agreement at this moment. Any thread; fails where the state cannot be
// read.
[[nodiscard]] base::Result<api::AgreementView> agreement_of(const ApiContext& context,
                                                            const Published& view,
                                                            const OwnStart& own);

// What is wrong at this moment, as `bor-cli doctor` would say; nothing where the state cannot be
// read. Any thread.
[[nodiscard]] std::vector<api::Finding> find_wrong(const ApiContext& context, const OwnStart& own);

}  // namespace node
