#include "chain/state/proof.hpp"

#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Result;

void encode_path(base::Writer& out, const MerkleProof& path) {
    out.bytes(encode_merkle_proof(path));
}

void decode_path(base::Reader& in, MerkleProof& path, std::string_view field) {
    constexpr std::size_t kPathBytesMax = 8 + 8 + 1 + 40 * 32;
    const base::ByteView bytes = in.bytes(field, kPathBytesMax);
    if (!in.ok()) return;
    auto decoded = decode_merkle_proof(bytes);
    if (!decoded) return in.set_error(decoded.error());
    path = *std::move(decoded);
}

tl::unexpected<base::Error> refuse(const BlockHeader& header, std::string_view why) {
    return fail(Errc::invalid, fmt::format("proof, block {}: {}", header.height, why));
}

// Whether the certificate speaks of this very header.
Result<void> check_subject(const VoteData& data, const BlockHeader& header) {
    if (data.kind != VoteKind::commit) return refuse(header, "its certificate is no COMMIT");
    const bool same = data.block_id == header.id() && data.height == header.height &&
                      data.slot == header.slot && data.justify_slot == header.justify.slot &&
                      data.schedule_version == header.schedule_version;
    if (!same) return refuse(header, "its certificate is of another block");
    return {};
}

Result<void> check_item(const Proof& proof) {
    const BlockHeader& header = proof.header;
    if (proof.subject == ProofSubject::block) return {};
    const bool is_transaction = proof.subject == ProofSubject::transaction;
    if (is_transaction ? !proof.transaction : !proof.action) {
        return refuse(header, "the receipt is missing");
    }
    const Digest leaf = is_transaction ? proof.transaction->digest() : proof.action->digest();
    const Digest& root = is_transaction ? header.transaction_root : header.action_root;
    if (verify(proof.path, leaf, root)) return {};
    return refuse(header,
                  is_transaction ? "no path leads from the receipt to its transaction_root"
                                 : "no path leads from the receipt to its action_root");
}

}  // namespace

std::uint64_t ids_below(const BlockHeader& header) {
    // Zero until the first certificate: no block is named final, genesis neither.
    return height_of(header.finalized.id);
}

std::uint32_t version_of(const Link& link) {
    if (const auto* recovery = std::get_if<RecoveryLink>(&link)) {
        return recovery->reset.schedule.version;
    }
    const auto& change = std::get<ScheduleLink>(link).proposing.schedule_change;
    return change ? change->version : 0;
}

Result<void> check_certified(const FinalityProof& proof,
                             const Schedule& schedule,
                             const CertificateCheck& check) {
    const BlockHeader& certified = proof.certified;
    if (auto same = check_subject(proof.certificate.data, certified); !same) return same;
    if (certified.schedule_version != schedule.version) {
        return refuse(certified,
                      fmt::format("it is under schedule {}, {} is the one that is trusted",
                                  certified.schedule_version,
                                  schedule.version));
    }
    return check(proof.certificate, first_schedules(schedule));
}

Result<void> check_finality(const BlockHeader& header,
                            const FinalityProof& proof,
                            const Schedule& schedule,
                            const CertificateCheck& check) {
    if (auto good = check_certified(proof, schedule, check); !good) return good;
    const BlockHeader& certified = proof.certified;
    if (!proof.ancestor) {
        if (is_left_out(Rule::proof_needs_path) && header == certified) return {};
        return refuse(header,
                      fmt::format("no path leads there from a certified header above it, and votes "
                                  "for block {} do not prove that one: another schedule may be "
                                  "pending there; ask for the proof again after the next block is "
                                  "final",
                                  certified.height));
    }
    const MerkleProof& path = *proof.ancestor;
    if (header.height == 0 || path.index != header.height - 1 ||
        path.count != ids_below(certified)) {
        return refuse(header, "the path to the certified block is of another height");
    }
    if (verify(path, header.id(), certified.finality_root)) return {};
    return refuse(header, "no path leads to the certified block's finality_root");
}

void encode(base::Writer& out, const FinalityProof& proof) {
    encode(out, proof.certified);
    encode(out, proof.certificate);
    out.boolean(proof.ancestor.has_value());
    if (proof.ancestor) encode_path(out, *proof.ancestor);
}

void encode(base::Writer& out, const Proof& proof) {
    encode_list(out, proof.links);
    encode(out, proof.header);
    encode(out, proof.finality);
    out.u8(static_cast<std::uint8_t>(proof.subject));
    if (proof.subject == ProofSubject::block) return;
    if (proof.subject == ProofSubject::transaction) {
        encode(out, *proof.transaction);
    } else {
        encode(out, *proof.action);
    }
    encode_path(out, proof.path);
}

void decode(base::Reader& in, FinalityProof& proof, std::string_view field) {
    proof = {};
    decode(in, proof.certified, field);
    decode(in, proof.certificate, field);
    if (in.ok() && proof.certificate.bitmaps.size() != 1) {
        in.set_error(field, "a certificate in a proof has one bitmap");
    }
    if (in.boolean(field)) decode_path(in, proof.ancestor.emplace(), field);
}

void decode(base::Reader& in, Proof& proof, std::string_view /*field*/) {
    proof = {};
    decode_list(in, proof.links, {kProofLinksMax, 2 * kHeaderBytesMin}, "links");
    decode(in, proof.header, "header");
    decode(in, proof.finality, "finality");
    const std::uint8_t subject = in.u8("subject");
    if (!in.ok()) return;
    if (subject > 2) return in.set_error("subject", "is neither 0, 1 nor 2");
    proof.subject = static_cast<ProofSubject>(subject);
    if (proof.subject == ProofSubject::block) return;
    if (proof.subject == ProofSubject::transaction) {
        decode(in, proof.transaction.emplace(), "transaction");
    } else {
        decode(in, proof.action.emplace(), "action");
    }
    decode_path(in, proof.path, "path");
}

void encode(base::Writer& out, const RecoveryLink& link) {
    encode(out, link.from);
    encode(out, link.reset.schedule);
    out.boolean(link.reset.gives_up_final);
    out.bytes(link.reset.record);
}

void decode(base::Reader& in, RecoveryLink& link, std::string_view field) {
    link = {};
    decode(in, link.from, field);
    decode(in, link.reset.schedule, field);
    link.reset.gives_up_final = in.boolean(field);
    link.reset.record = base::to_bytes(in.bytes(field, kRecoveryRecordBytesMax));
    if (in.ok()) link.reset.from = link.from.id();
}

void encode(base::Writer& out, const Link& link) {
    out.u8(static_cast<std::uint8_t>(link.index()));
    std::visit([&](const auto& each) { encode(out, each); }, link);
}

void decode(base::Reader& in, Link& link, std::string_view field) {
    const std::uint8_t kind = in.u8(field);
    if (!in.ok()) return;
    if (kind > 1) return in.set_error(field, "is neither 0 nor 1");
    if (kind == 0) {
        decode(in, link.emplace<ScheduleLink>(), field);
    } else {
        decode(in, link.emplace<RecoveryLink>(), field);
    }
}

Result<void> check_link(const ScheduleLink& link,
                        const Schedule& schedule,
                        const CertificateCheck& check) {
    if (auto final = check_finality(link.proposing, link.finality, schedule, check); !final) {
        return final;
    }
    const auto& change = link.proposing.schedule_change;
    if (change && change->version == schedule.version + 1) return {};
    return fail(Errc::invalid,
                fmt::format("proof, block {}: it does not propose schedule {}",
                            link.proposing.height,
                            schedule.version + 1));
}

Result<Schedule> follow(const std::vector<ScheduleLink>& links,
                        const Schedule& schedule,
                        const CertificateCheck& check) {
    Schedule last = schedule;
    for (const ScheduleLink& link : links) {
        if (auto good = check_link(link, last, check); !good) return fail(std::move(good).error());
        last = *link.proposing.schedule_change;
    }
    return last;
}

Result<void> verify(const Proof& proof, const Schedule& schedule, const CertificateCheck& check) {
    auto last = follow(proof.links, schedule, check);
    if (!last) return fail(std::move(last).error());
    if (auto final = check_finality(proof.header, proof.finality, *last, check); !final) {
        return final;
    }
    return check_item(proof);
}

Certificate active_part(const Certificate& certificate) {
    Certificate part = certificate;
    part.bitmaps.resize(1);
    std::size_t votes = 0;
    for (const std::byte bits : part.bitmaps[0]) {
        votes += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(bits)));
    }
    part.signatures.resize(std::min(votes, part.signatures.size()));
    return part;
}

}  // namespace chain
