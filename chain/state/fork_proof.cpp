#include "chain/state/fork_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Result;

// A certificate's votes under its active schedule.
struct Votes {
    VoteData data;
    std::map<PublicKey, Signature> by;
};

std::optional<Votes> read_votes(const Certificate& certificate, const ForkBranch& branch) {
    const auto schedule =
        std::ranges::find(branch.schedules, certificate.data.schedule_version, &Schedule::version);
    if (schedule == branch.schedules.end() || certificate.bitmaps.empty()) return std::nullopt;
    const base::Bytes& bitmap = certificate.bitmaps[0];
    Votes votes{.data = certificate.data, .by = {}};
    auto signature = certificate.signatures.begin();
    for (std::size_t i = 0; i < schedule->entries.size() && i / 8 < bitmap.size(); ++i) {
        if ((std::to_integer<unsigned>(bitmap[i / 8]) >> (i % 8) & 1U) == 0) continue;
        if (signature == certificate.signatures.end()) break;
        votes.by.emplace(schedule->entries[i].vote_key, *signature++);
    }
    return votes;
}

// The lowest slots first: what is close to the fork needs few headers.
std::vector<Votes> votes_of(const ForkBranch& branch) {
    std::vector<Votes> all;
    if (branch.blocks.empty()) return all;
    const auto add = [&](const Certificate& certificate) {
        // What is below is common to both branches.
        if (certificate.data.height < branch.blocks.front()->header.height) return;
        if (auto votes = read_votes(certificate, branch)) all.push_back(*std::move(votes));
    };
    for (const BlockPtr& block : branch.blocks) {
        if (block->witness.justify) add(*block->witness.justify);
        if (block->witness.finalized) add(*block->witness.finalized);
    }
    for (const Certificate& certificate : branch.certificates)
        add(certificate);
    std::ranges::stable_sort(
        all, {}, [](const Votes& votes) { return std::pair(votes.data.slot, votes.data.kind); });
    return all;
}

// The headers from a block of the branch down to a height. Nothing: not all are there.
std::optional<std::vector<BlockHeader>> headers_down(const ForkBranch& branch,
                                                     Height from,
                                                     Height down_to) {
    const Height first = branch.blocks.front()->header.height;
    if (down_to < first || from - first >= branch.blocks.size()) return std::nullopt;
    if (from - down_to >= kEvidenceHeadersMax) return std::nullopt;
    std::vector<BlockHeader> headers;
    for (Height height = from; height >= down_to; --height)
        headers.push_back(branch.blocks[height - first]->header);
    return headers;
}

class Prosecution {
  public:
    explicit Prosecution(const ChainId& chain_id) : chain_id_(chain_id) {}

    void compare(const Votes& a, const ForkBranch& of_a, const Votes& b, const ForkBranch& of_b) {
        // Most pairs break no rule, whoever signed them.
        if (!find_evidence({a.data, {}, {}}, {b.data, {}, {}})) return;
        for (const auto& [key, signature] : a.by) {
            const auto other = b.by.find(key);
            if (other == b.by.end() || convicted_.contains(key)) continue;
            auto evidence = find_evidence({a.data, key, signature}, {b.data, key, other->second});
            if (!evidence) continue;
            auto* pair = std::get_if<ForbiddenCommit>(&*evidence);
            if (pair != nullptr && pair->notarize.data.height > pair->commit.data.height) {
                auto headers = headers_down(a.data.kind == VoteKind::notarize ? of_a : of_b,
                                            pair->notarize.data.height,
                                            pair->commit.data.height + 1);
                if (!headers) return;
                pair->headers = *std::move(headers);
            }
            add(*std::move(evidence));
        }
    }
    void add(Evidence evidence) {
        const auto key = check(evidence, chain_id_);
        if (key && convicted_.insert(*key).second) evidence_.push_back(std::move(evidence));
    }
    [[nodiscard]] std::vector<Evidence> take() { return std::move(evidence_); }

  private:
    const ChainId& chain_id_;
    std::set<PublicKey> convicted_;
    std::vector<Evidence> evidence_;
};

// Two blocks of one producer and slot.
void compare_headers(const ForkBranch& first, const ForkBranch& second, Prosecution& prosecution) {
    std::map<Slot, const Block*> by_slot;
    for (const BlockPtr& block : first.blocks)
        by_slot.emplace(block->header.slot, block.get());
    for (const BlockPtr& block : second.blocks) {
        const auto other = by_slot.find(block->header.slot);
        if (other == by_slot.end()) continue;
        prosecution.add(TwoHeaders{{other->second->header, other->second->signature},
                                   {block->header, block->signature}});
    }
}

Result<Schedule> check_side(const Proof& proof,
                            const Schedule& schedule,
                            const CertificateCheck& check,
                            std::string_view which) {
    auto good = proof.subject == ProofSubject::block
                    ? verify(proof, schedule, check)
                    : Result<void>(fail(Errc::invalid, "it is not of a block"));
    if (!good) return fail(Errc::invalid, fmt::format("{}: {}", which, good.error().detail));
    return follow(proof.links, schedule, check);
}

const ScheduleEntry* find_key(const Schedule& schedule, const PublicKey& key) {
    const auto entry = std::ranges::find_if(schedule.entries, [&](const ScheduleEntry& each) {
        return each.vote_key == key || each.signing_key == key;
    });
    return entry == schedule.entries.end() ? nullptr : &*entry;
}

}  // namespace

void encode(base::Writer& out, const ForkProof& proof) {
    encode(out, proof.first);
    encode(out, proof.second);
    encode_list(out, proof.evidence);
}

void decode(base::Reader& in, ForkProof& proof, std::string_view /*field*/) {
    constexpr std::size_t kEvidenceBytesMin = 2;
    proof = {};
    decode(in, proof.first, "first");
    decode(in, proof.second, "second");
    decode_list(in, proof.evidence, {kForkEvidenceMax, kEvidenceBytesMin}, "evidence");
}

Result<ForkVerdict> verify(const ForkProof& proof,
                           const Schedule& schedule,
                           const CertificateCheck& check,
                           const ChainId& chain_id) {
    const BlockHeader& a = proof.first.header;
    const BlockHeader& b = proof.second.header;
    if (a.height != b.height || a.previous != b.previous || a.id() == b.id()) {
        return fail(Errc::invalid, "these are not two blocks on one parent");
    }
    auto first = check_side(proof.first, schedule, check, "the first side");
    if (!first) return fail(std::move(first).error());
    auto second = check_side(proof.second, schedule, check, "the second side");
    if (!second) return fail(std::move(second).error());
    ForkVerdict verdict;
    verdict.tolerated = (std::max<std::size_t>(first->entries.size(), 1) - 1) / 3;
    std::set<PublicKey> keys;
    std::set<Name> producers;
    for (const Evidence& evidence : proof.evidence) {
        auto key = chain::check(evidence, chain_id);
        if (!key) return fail(std::move(key).error());
        if (!keys.insert(*key).second) {
            return fail(Errc::invalid, key->to_string() + " is convicted twice");
        }
        const ScheduleEntry* entry = find_key(*first, *key);
        if (entry == nullptr) entry = find_key(*second, *key);
        if (entry != nullptr) producers.insert(entry->producer);
        verdict.convicted.push_back({entry == nullptr ? Name{} : entry->producer, *key});
    }
    verdict.producers = producers.size();
    return verdict;
}

std::vector<Schedule> schedules_of(const Proof& proof, const Schedule& trusted) {
    std::vector<Schedule> schedules{trusted};
    for (const ScheduleLink& link : proof.links) {
        if (link.proposing.schedule_change) schedules.push_back(*link.proposing.schedule_change);
    }
    return schedules;
}

std::vector<Evidence> evidence_between(const ForkBranch& first,
                                       const ForkBranch& second,
                                       const ChainId& chain_id) {
    Prosecution prosecution(chain_id);
    const std::vector<Votes> ours = votes_of(first);
    const std::vector<Votes> theirs = votes_of(second);
    // Two votes of a slot are plain; a COMMIT and a NOTARIZE may need headers.
    for (const bool of_one_kind : {true, false}) {
        for (const Votes& a : ours) {
            for (const Votes& b : theirs) {
                if ((a.data.kind == b.data.kind) != of_one_kind) continue;
                prosecution.compare(a, first, b, second);
            }
        }
    }
    compare_headers(first, second, prosecution);
    return prosecution.take();
}

}  // namespace chain
