#pragma once

#include <cstdint>

namespace chain {

// The checks that keep the agreement safe and alive, one for each place in the code that makes it.
// The simulators leave one out at a time, to see that somebody notices (tests/sim/MUTANTS.md).
enum class Rule : std::uint8_t {
    none,
    // --- Voting (R1 to R3) ---
    notarize_once,
    notarize_above_lock,
    notarize_justify_at_lock,
    notarize_recent,
    notarize_not_syncing,
    past_votes,
    past_vote_of_unknown_block,
    commit_above_lock,
    commit_above_floor,
    commit_above_final,
    commit_in_time,
    vote_as_member,
    vote_of_its_block,
    vote_not_ahead,
    // --- Certificates and their quorums (R5) ---
    tally_quorum,
    tally_joint_quorum,
    certificate_version,
    certificate_bitmaps,
    certificate_bitmap_length,
    certificate_members,
    certificate_quorum,
    certificate_joint_quorum,
    certificate_signature_count,
    certificate_signatures,
    certificate_of_its_block,
    certificate_schedules,
    voters_of_the_block,
    proof_needs_path,
    // --- Schedules ---
    change_by_headers,
    change_pending_when_final,
    change_active_when_final,
    change_alone,
    change_in_new_period,
    change_version,
    // --- Headers and witnesses ---
    header_slot,
    header_version,
    header_producer,
    header_justify_grows,
    header_final_grows,
    header_final_below_justify,
    header_justify_ancestor,
    header_final_ancestor,
    header_empty_without_final,
    witness_only_where_needed,
    witness_where_needed,
    witness_of_the_named_block,
    witness_form,
    produced_final_below_justify,
    // --- Evidence ---
    evidence_votes_of_one_slot,
    evidence_later_notarize,
    evidence_older_justify,
    evidence_not_extending,
    evidence_headers_of_one_slot,
    evidence_headers_differ,
    evidence_headers_of_one_key,
    evidence_vote_signature,
    evidence_of_votes,
    evidence_of_headers,
    // --- Own keys ---
    header_once,
    lost_key_votes_later,
    lost_key_produces_later,
    lost_key_waits_for_certified,
    lost_key_regains_later,
    own_vote_seen,
    hear_others_first,
    answered_key_is_silent,
    twin_key_is_silent,
    unchecked_below,
    // --- Safety journal ---
    journal_settled,
    journal_beside_its_rows,
    journal_beside_a_snapshot,
    journal_of_this_life,
    journal_without_hole,
    journal_record_checksum,
    journal_certificate_checksum,
    journal_floor,
    journal_follows_written,
    journal_torn_replaced,
    journal_keeps_votes,
    journal_keeps_answer,
    lock_with_certificate,
    // --- Barriers ---
    promise_durable,
    promise_written,
    lock_block_durable,
    final_durable,
    // --- Digests and signatures ---
    state_digest,
    vote_binds_chain,
    header_binds_chain,
    vote_signature,
    block_signature,
    // --- Clocks ---
    block_not_too_early,
    sync_block_not_too_early,
    block_not_before_its_slot,
    produce_in_time,
    quorum_of_clocks,
    above_start_floor,
    // --- Blocks of one slot ---
    two_of_a_slot,
    third_below_certified,
    third_below_another,
    // --- How much is held ---
    bound_keeps_newest,
    bound_keeps_others,
    forgotten_is_told,
    // --- Elections ---
    votes_to_enter,
    absent_gives_place,
    // --- What is passed on ---
    two_headers_go_on,
    few_votes_of_key_go_on,
    few_blocks_go_on,
    // --- Snapshots ---
    snapshot_digest,
    snapshot_chunk_lanes,
    snapshot_agreement,
    replaced_state_keeps_marks,
    count,
};

// Whether this check is to be left out. Never, in anything but the simulators' build of mutants:
// the check is then there as if nobody had asked.
#ifdef BOR_MUTANTS
[[nodiscard]] bool is_left_out(Rule rule);
#else
[[nodiscard]] consteval bool is_left_out(Rule /*rule*/) {
    return false;
}
#endif

}  // namespace chain
