#include "chain/types/evidence.hpp"

#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::crypto::PublicKey;

base::Result<void> check_headers(const TwoHeaders& two) {
    const BlockHeader& first = two.first.header;
    const BlockHeader& second = two.second.header;
    if (first.slot != second.slot || first.producer != second.producer) {
        return fail(Errc::invalid, "evidence: the headers differ in slot or producer");
    }
    if (first.id() == second.id()) {
        return fail(Errc::invalid, "evidence: both headers are the same");
    }
    return {};
}

base::Result<void> check_votes(const TwoVotes& two) {
    const VoteData& first = two.first.data;
    const VoteData& second = two.second.data;
    if (two.first.key != two.second.key || first.kind != second.kind || first.slot != second.slot) {
        return fail(Errc::invalid, "evidence: the votes differ in key, kind or slot");
    }
    if (first == second) return fail(Errc::invalid, "evidence: both votes are the same");
    return {};
}

bool is_forbidden(const VoteData& commit, const VoteData& notarize) {
    return commit.kind == VoteKind::commit && notarize.kind == VoteKind::notarize &&
           (is_left_out(Rule::evidence_later_notarize) || notarize.slot > commit.slot) &&
           (is_left_out(Rule::evidence_older_justify) || notarize.justify_slot < commit.slot);
}

base::Result<void> check_commit(const ForbiddenCommit& pair) {
    const VoteData& commit = pair.commit.data;
    const VoteData& notarize = pair.notarize.data;
    if (pair.commit.key != pair.notarize.key || !is_forbidden(commit, notarize)) {
        return fail(Errc::invalid,
                    "evidence: not a COMMIT and a later NOTARIZE with an older justify of one key");
    }
    if (notarize.height <= commit.height) {
        if (pair.headers.empty()) return {};
        return fail(Errc::invalid, "evidence: headers where the heights already decide");
    }
    const std::size_t needed = notarize.height - commit.height;
    if (pair.headers.size() != needed) {
        return fail(Errc::invalid,
                    fmt::format("evidence: {} headers, {} lead from the NOTARIZE to the COMMIT",
                                pair.headers.size(),
                                needed));
    }
    BlockId expected = notarize.block_id;
    for (const BlockHeader& header : pair.headers) {
        if (header.id() != expected) {
            return fail(
                Errc::invalid,
                fmt::format("evidence: header of height {} is not the next", header.height));
        }
        expected = header.previous;
    }
    if (!is_left_out(Rule::evidence_not_extending) && expected == commit.block_id) {
        return fail(Errc::invalid, "evidence: the block of the NOTARIZE extends the COMMIT's");
    }
    return {};
}

base::Result<void> check_signature(const Vote& vote, const base::Hash256& chain_id) {
    if (is_left_out(Rule::evidence_vote_signature)) return {};
    if (base::crypto::verify(vote.key, vote.signature, vote.data.digest(chain_id))) return {};
    return fail(
        Errc::invalid,
        fmt::format("evidence: the vote of slot {} is not signed by its key", vote.data.slot));
}

base::Result<PublicKey> convict(const Vote& a, const Vote& b, const base::Hash256& chain_id) {
    for (const Vote* vote : {&a, &b}) {
        if (auto good = check_signature(*vote, chain_id); !good) return fail(good.error());
    }
    return a.key;
}

base::Result<PublicKey> convict(const TwoHeaders& two, const base::Hash256& chain_id) {
    const auto signer = [&](const SignedHeader& one) {
        return base::crypto::recover(one.signature, one.header.signing_digest(chain_id));
    };
    auto first = signer(two.first);
    if (!first) return fail(std::move(first).error());
    auto second = signer(two.second);
    if (!second) return fail(std::move(second).error());
    if (*first != *second) {
        return fail(Errc::invalid, "evidence: the headers are signed by different keys");
    }
    return *std::move(first);
}

}  // namespace

std::optional<Evidence> find_evidence(const Vote& a, const Vote& b) {
    if (a.data.kind == b.data.kind) {
        const bool is_one_slot = a.data.slot == b.data.slot;
        if (!is_left_out(Rule::evidence_votes_of_one_slot) && !is_one_slot) return std::nullopt;
        if (a.data == b.data || a.key != b.key) return std::nullopt;
        return TwoVotes{a, b};
    }
    const bool a_commits = a.data.kind == VoteKind::commit;
    const Vote& commit = a_commits ? a : b;
    const Vote& notarize = a_commits ? b : a;
    if (!is_forbidden(commit.data, notarize.data) || a.key != b.key) return std::nullopt;
    return ForbiddenCommit{commit, notarize, {}};
}

base::Result<void> check_form(const Evidence& evidence) {
    if (const auto* headers = std::get_if<TwoHeaders>(&evidence)) return check_headers(*headers);
    if (const auto* votes = std::get_if<TwoVotes>(&evidence)) return check_votes(*votes);
    return check_commit(std::get<ForbiddenCommit>(evidence));
}

base::Result<PublicKey> check(const Evidence& evidence, const base::Hash256& chain_id) {
    if (auto good = check_form(evidence); !good) return fail(std::move(good).error());
    if (const auto* headers = std::get_if<TwoHeaders>(&evidence))
        return convict(*headers, chain_id);
    if (const auto* votes = std::get_if<TwoVotes>(&evidence)) {
        return convict(votes->first, votes->second, chain_id);
    }
    const auto& pair = std::get<ForbiddenCommit>(evidence);
    return convict(pair.commit, pair.notarize, chain_id);
}

void encode(base::Writer& out, const Evidence& evidence) {
    out.u8(static_cast<std::uint8_t>(evidence.index()));
    std::visit([&out](const auto& kind) { encode(out, kind); }, evidence);
}

void decode(base::Reader& in, Evidence& evidence, std::string_view field) {
    const std::uint8_t kind = in.u8(field);
    if (!in.ok()) return;
    if (kind == 0) {
        decode(in, evidence.emplace<TwoHeaders>(), field);
    } else if (kind == 1) {
        decode(in, evidence.emplace<TwoVotes>(), field);
    } else if (kind == 2) {
        decode(in, evidence.emplace<ForbiddenCommit>(), field);
    } else {
        in.set_error(field, "kind of evidence is neither 0, 1 nor 2");
    }
}

}  // namespace chain
