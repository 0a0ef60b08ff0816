#pragma once

#include "chain/types/block.hpp"
#include "p2p/seen.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

namespace p2p {

// The blocks that valid certificates name and that are not here, each with those below it as far
// as they are known. An id covers the header and so the parent's id: whoever sends the blocks,
// nothing but what the certificate stands for gets in.
//
// Bounded in branches and in blocks of each; the oldest branch gives way.
class CertifiedBranches {
  public:
    static constexpr std::size_t kBranchesMax = 4;
    static constexpr std::size_t kBlocksMax = 3'600;  // As many as are kept above the final one.

    struct Branch {
        std::vector<chain::BlockId> ids;         // Downwards, from the one that is certified.
        std::optional<chain::BlockId> parent{};  // Of the last, if it is here.
        PeerSet holders{};                       // Who sent the certificate.
        base::Timestamp again{};                 // When to ask for what is missing.
    };

    // A certificate names this block, which is not here.
    void add(const chain::BlockId& id, PeerSlot holder);
    // This peer, too, sent a certificate of this block.
    void note_holder(const chain::BlockId& id, PeerSlot holder);
    // The last of the branch builds on this block, which is not here: it is the last now, or
    // another branch, which has it, goes on below.
    void extend(Branch& branch, const chain::BlockId& id);
    // Whether it is certified, or one above it is.
    [[nodiscard]] bool contains(const chain::BlockId& id) const;
    [[nodiscard]] std::deque<Branch>& branches() { return branches_; }
    template <class Pred>
    void erase_if(Pred pred) {
        std::erase_if(branches_, pred);
    }
    void forget(PeerSlot slot);

  private:
    std::deque<Branch> branches_;
};

}  // namespace p2p
