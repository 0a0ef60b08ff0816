#pragma once

#include "chain/types/block.hpp"
#include "chain/types/vote.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace chain {

// Headers that one piece of evidence may hold.
inline constexpr std::size_t kEvidenceHeadersMax = 1'024;

// Two headers of one producer in one slot.
struct TwoHeaders {
    SignedHeader first;
    SignedHeader second;

    friend bool operator==(const TwoHeaders&, const TwoHeaders&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.first, self.second); }
};

// Two votes of one key, one kind and one slot.
struct TwoVotes {
    Vote first;
    Vote second;

    friend bool operator==(const TwoVotes&, const TwoVotes&) = default;
    static void each_field(auto& self, auto&& visit) { visit(self.first, self.second); }
};

// COMMIT(A) and NOTARIZE(V) of one key that R2 forbids together: slot(V) > slot(A),
// justify_slot(V) < slot(A), and V does not extend A. That is plain when height(V) <= height(A);
// else `headers` shows it: V's, its parent's and so on, down to the one at height(A) + 1, whose
// parent is another block than A.
struct ForbiddenCommit {
    Vote commit;
    Vote notarize;
    std::vector<BlockHeader> headers;

    friend bool operator==(const ForbiddenCommit&, const ForbiddenCommit&) = default;
    static void each_field(auto& self, auto&& visit) {
        visit(self.commit,
              self.notarize,
              Limited{self.headers, {kEvidenceHeadersMax, kHeaderBytesMin}});
    }
};

// A proof that the owner of a key broke a rule which no honest validator breaks (spec 04).
using Evidence = std::variant<TwoHeaders, TwoVotes, ForbiddenCommit>;

// Whether two votes of one key break a rule together. If they do, the evidence: complete for
// TwoVotes; for ForbiddenCommit without headers, which are needed if the NOTARIZE's block is the
// higher one and then decide.
[[nodiscard]] std::optional<Evidence> find_evidence(const Vote& a, const Vote& b);

// Whether it shows what it says, its signatures apart. invalid: names what does not.
[[nodiscard]] base::Result<void> check_form(const Evidence& evidence);

// The key that it convicts: check_form(), and the signatures. Needs no state.
[[nodiscard]] base::Result<base::crypto::PublicKey> check(const Evidence& evidence,
                                                          const base::Hash256& chain_id);

// Strict: the kind as u8 (0 headers, 1 votes, 2 commit) and its fields in order.
void encode(base::Writer& out, const Evidence& evidence);
void decode(base::Reader& in, Evidence& evidence, std::string_view field);

}  // namespace chain
