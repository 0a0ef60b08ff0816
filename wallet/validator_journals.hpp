#pragma once

#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/block.hpp"
#include "consensus/safety_journal.hpp"

#include <map>
#include <memory>
#include <string>

namespace wallet {

// What validators' keys in this wallet have promised: a safety journal for each, "KEY.journal" in
// the wallet's directory, in the form and by the rules of the node's own (spec 04). A node that was
// set up twice, or has lost its journal, cannot make such a key sign two headers of a slot, or
// votes that conflict.
//
// It sees no blocks, so where rule R2 asks whether one extends another it assumes that it does not.
// Invariants: a promise is durable before allow_*() gives its consent; nothing but give_up_lock()
// takes one back.
// Thread: that of the keyring.
class ValidatorJournals : base::Pinned {
  public:
    explicit ValidatorJournals(std::string directory);
    ~ValidatorJournals();

    // Whether this is a validator's key: it has a journal.
    [[nodiscard]] bool has(const base::crypto::PublicKey& key) const;
    // Makes the journal of a key that has signed nothing yet. wallet_exception: it has one.
    base::Result<void> create(const base::crypto::PublicKey& key);

    // Whether this may be signed; the promise is durable then. wallet_exception: no, and why;
    // the journal is missing, damaged, or cannot be written.
    base::Result<void> allow_header(const base::crypto::PublicKey& key,
                                    const chain::BlockHeader& header);
    base::Result<void> allow_vote(const base::crypto::PublicKey& key, const chain::VoteData& vote);
    // The key answers a recovery: it signs no header and no vote any more.
    base::Result<void> stop(const base::crypto::PublicKey& key);
    // What a key was locked on, and up to which slot it votes no more.
    struct GivenUp {
        chain::Slot lock_slot = 0;
        base::Hash256 lock;
        chain::Slot up_to = 0;
    };
    // Its operator's word that the block of its lock is lost: votes above all that it has signed
    // need not build on that block. Durable when it answers. wallet_exception: as above; the key
    // is locked on nothing.
    [[nodiscard]] base::Result<GivenUp> give_up_lock(const base::crypto::PublicKey& key);

  private:
    struct Journal;

    [[nodiscard]] std::string path_of(const base::crypto::PublicKey& key) const;
    [[nodiscard]] base::Result<Journal*> open(const base::crypto::PublicKey& key);
    // That of a key which may still sign.
    [[nodiscard]] base::Result<Journal*> open_to_sign(const base::crypto::PublicKey& key);
    // Of a key whose journal is open. Where the file lacks what the journal has made, the journal
    // is closed: its next use reads the file again.
    base::Result<void> write(const base::crypto::PublicKey& key,
                             const consensus::SafetyRecord& record);
    static base::Result<void> compact(Journal& journal);

    std::string directory_;
    std::map<base::crypto::PublicKey, std::unique_ptr<Journal>> journals_;
};

}  // namespace wallet
