#pragma once

#include "chain/state/proof.hpp"
#include "chain/types/evidence.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace chain {

// A proof that two blocks of one height were both final, which can be only where more validators
// than a schedule tolerates broke the rules, and the evidence that convicts them (spec 04).
struct ForkProof {
    Proof first;                     // Of a block,
    Proof second;                    // and of another one with the same parent.
    std::vector<Evidence> evidence;  // Each of another key.

    friend bool operator==(const ForkProof&, const ForkProof&) = default;
};

// What one proof may hold: of each producer of two schedules a vote key and a signing key.
inline constexpr std::size_t kForkEvidenceMax = 4 * kProducersMax;

void encode(base::Writer& out, const ForkProof& proof);
// Strict, with the limits above. Checks the form only.
void decode(base::Reader& in, ForkProof& proof, std::string_view field);

struct ForkVerdict {
    struct Convicted {
        Name producer;  // Empty: in neither schedule.
        PublicKey key;

        friend bool operator==(const Convicted&, const Convicted&) = default;
    };
    std::vector<Convicted> convicted;  // In the order of the evidence.
    std::size_t producers = 0;         // Different ones among them, of the schedules.
    std::size_t tolerated = 0;         // f of the schedule under which the first block is final.
};

// What follows if `schedule` is trusted: both proofs hold, the blocks conflict, and each piece of
// evidence convicts a key of its own. invalid: names what does not hold. Pure; any thread.
[[nodiscard]] base::Result<ForkVerdict> verify(const ForkProof& proof,
                                               const Schedule& schedule,
                                               const CertificateCheck& check,
                                               const ChainId& chain_id);

// What is known of one side of a fork, as a stranger told it.
struct ForkBranch {
    std::vector<BlockPtr> blocks;           // From the first height of its own on, ascending.
    std::vector<Certificate> certificates;  // Besides those of the blocks' witnesses.
    std::vector<Schedule> schedules;        // That certificates here name.
};

// The schedules that a proof leads through, the trusted one first. None is checked.
[[nodiscard]] std::vector<Schedule> schedules_of(const Proof& proof, const Schedule& trusted);

// Evidence against each key that broke a rule between the two branches, which share no block.
// Whatever is in them, nobody is accused who did not sign what the evidence says.
[[nodiscard]] std::vector<Evidence> evidence_between(const ForkBranch& first,
                                                     const ForkBranch& second,
                                                     const ChainId& chain_id);

}  // namespace chain
