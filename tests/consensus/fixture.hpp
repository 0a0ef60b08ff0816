#pragma once

#include "consensus/consensus.hpp"
#include "tests/support/journals.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

// Four validators, of which we are one; blocks, votes and certificates of the others are made by
// hand. Consensus checks no signature, so there are none.
namespace test {

namespace effect = consensus::effect;
namespace input = consensus::input;

inline base::crypto::PublicKey key(unsigned tag) {
    base::crypto::PublicKey key;
    key.point[0] = std::byte{2};
    key.point[31] = static_cast<std::byte>(tag >> 8U);
    key.point[32] = static_cast<std::byte>(tag);
    return key;
}
inline base::crypto::PublicKey signing(unsigned member) {
    return key(2 * member);
}
inline base::crypto::PublicKey voting(unsigned member) {
    return key(2 * member + 1);
}

// Members 1 to n, in this order.
inline chain::Schedule schedule_of(const std::vector<unsigned>& members,
                                   std::uint32_t version = 0) {
    chain::Schedule schedule{.version = version, .entries = {}};
    for (const unsigned member : members) {
        schedule.entries.push_back({chain::Name{member}, signing(member), voting(member)});
    }
    return schedule;
}

class Validator {
  public:
    explicit Validator(unsigned own = 1, const std::vector<unsigned>& members = {1, 2, 3, 4})
        : own_(own), schedules_(chain::first_schedules(schedule_of(members))) {
        options_.times = {.initial = {1'000'000'000'000'000}, .interval_milliseconds = 500};
        options_.own_keys = {signing(own), voting(own)};
        options_.started = at(0);
        options_.schedule_period = 10;
        chain::BlockHeader header;
        header.height = 1;
        genesis_ = chain::make_block({header, {}}, {}, {});
        restart(fresh_journals());
    }

    [[nodiscard]] consensus::KeyTag signing_tag() const {
        return consensus::key_tag(signing(own_));
    }
    [[nodiscard]] consensus::KeyTag voting_tag() const { return consensus::key_tag(voting(own_)); }
    [[nodiscard]] consensus::Journals fresh_journals() const {
        return test::fresh_journals({signing_tag(), voting_tag()});
    }
    // Their storage has seen so many records of each.
    [[nodiscard]] consensus::Journals lost_journals(std::uint64_t last_sequence) const {
        using consensus::SafetyJournal;
        const SafetyJournal::Mark rows{.sequence = last_sequence};
        return {{signing_tag(), SafetyJournal::lost(signing_tag(), rows)},
                {voting_tag(), SafetyJournal::lost(voting_tag(), rows)}};
    }
    // From genesis, with nothing in memory.
    void restart(consensus::Journals journals) {
        consensus_ = std::make_unique<consensus::Consensus>(
            options_, consensus::TreeBase{genesis_, schedules_}, std::move(journals));
        has_heard_clocks_ = false;
    }
    // From now on the clocks of others are said by the test alone.
    void hear_no_clocks() { has_heard_clocks_ = true; }

    [[nodiscard]] base::Timestamp at(chain::Slot slot, int milliseconds = 0) const {
        return options_.times.time_of(slot).to_timestamp() +
               std::chrono::milliseconds(milliseconds);
    }

    // --- Making ---
    struct Shape {
        chain::BlockPtr justify = nullptr;    // A certificate of it in the witness.
        chain::BlockPtr finalized = nullptr;  // The same.
        unsigned variant = 0;                 // To make siblings differ.
        std::optional<chain::Schedule> change = std::nullopt;
    };
    [[nodiscard]] chain::BlockPtr block(chain::Slot slot,
                                        const chain::BlockPtr& parent,
                                        const Shape& shape) const {
        chain::BlockHeader header;
        header.slot = slot;
        header.height = parent->header.height + 1;
        header.previous = parent->id;
        header.justify = parent->header.justify;
        header.finalized = parent->header.finalized;
        header.state_digest.bytes[0] = static_cast<std::byte>(shape.variant);
        header.schedule_change = shape.change;
        const auto& schedule = *schedules_.active;
        header.producer = schedule.producer_of(slot, options_.repetitions).producer;
        chain::Witness witness;
        if (shape.justify != nullptr) {
            header.justify = {shape.justify->header.slot, shape.justify->id};
            witness.justify = certificate(chain::VoteKind::notarize, shape.justify);
        }
        if (shape.finalized != nullptr) {
            header.finalized = {shape.finalized->header.slot, shape.finalized->id};
            witness.finalized = certificate(chain::VoteKind::commit, shape.finalized);
        }
        return chain::make_block({header, {}}, {}, witness);
    }
    [[nodiscard]] chain::BlockPtr block(chain::Slot slot, const chain::BlockPtr& parent) const {
        return block(slot, parent, Shape());
    }
    [[nodiscard]] static chain::VoteData data(chain::VoteKind kind, const chain::BlockPtr& block) {
        return {.kind = kind,
                .schedule_version = block->header.schedule_version,
                .slot = block->header.slot,
                .height = block->header.height,
                .block_id = block->id,
                .justify_slot = block->header.justify.slot};
    }
    [[nodiscard]] static chain::Vote vote(chain::VoteKind kind,
                                          const chain::BlockPtr& block,
                                          unsigned member) {
        return {data(kind, block), voting(member), {}};
    }
    // Signed by all of the first schedule.
    [[nodiscard]] chain::Certificate certificate(chain::VoteKind kind,
                                                 const chain::BlockPtr& block) const {
        const std::size_t entries = schedules_.active->entries.size();
        chain::Certificate made;
        made.data = data(kind, block);
        base::Bytes bitmap((entries + 7) / 8);
        for (std::size_t i = 0; i < entries; ++i) {
            bitmap[i / 8] |= std::byte{1} << (i % 8);
        }
        made.bitmaps = {bitmap};
        made.signatures.resize(entries);
        return made;
    }

    // --- Happening ---
    consensus::Effects step(base::Timestamp now, const consensus::Input& what) {
        now_ = std::max(now_, now);
        consensus::Effects out;
        if (!std::exchange(has_heard_clocks_, true)) hear_clocks(options_.started, out);
        consensus_->step(now_, what, out);
        return out;
    }
    consensus::Effects tick(chain::Slot slot, int milliseconds = 0) {
        return step(at(slot, milliseconds), input::Tick{});
    }
    // Adopts it a little after its slot began.
    consensus::Effects adopt(const chain::BlockPtr& block, bool own = false) {
        return step(at(block->header.slot, 10), input::BlockAdopted{block, own});
    }
    consensus::Effects certify(chain::VoteKind kind, const chain::BlockPtr& block) {
        return step(at(block->header.slot, 20),
                    input::CertificateReceived{certificate(kind, block)});
    }

    [[nodiscard]] consensus::Consensus& operator*() { return *consensus_; }
    [[nodiscard]] consensus::Consensus* operator->() { return consensus_.get(); }
    [[nodiscard]] const chain::BlockPtr& genesis() const { return genesis_; }
    [[nodiscard]] consensus::Consensus::Options& options() { return options_; }
    [[nodiscard]] const chain::ScheduleState& schedules() const { return schedules_; }

  private:
    // All clocks are right.
    void hear_clocks(base::Timestamp now, consensus::Effects& out) {
        for (const chain::ScheduleEntry& entry : schedules_.active->entries)
            consensus_->step(now, input::ClockHeard{entry.vote_key, now}, out);
    }

    unsigned own_;
    chain::ScheduleState schedules_;
    consensus::Consensus::Options options_;
    chain::BlockPtr genesis_;
    std::unique_ptr<consensus::Consensus> consensus_;
    base::Timestamp now_{};
    bool has_heard_clocks_ = false;
};

template <class E>
std::vector<E> all(const consensus::Effects& effects) {
    std::vector<E> found;
    for (const auto& effect : effects) {
        if (const auto* one = std::get_if<E>(&effect)) found.push_back(*one);
    }
    return found;
}

// "NOTARIZE 3", "COMMIT 2": what is voted for, in order.
inline std::vector<std::string> votes(const consensus::Effects& effects) {
    std::vector<std::string> said;
    for (const effect::CastVote& vote : all<effect::CastVote>(effects)) {
        const bool commits = vote.data.kind == chain::VoteKind::commit;
        said.push_back((commits ? "COMMIT " : "NOTARIZE ") + std::to_string(vote.data.slot));
    }
    return said;
}

using Said = std::vector<std::string>;
inline constexpr chain::VoteKind kNotarize = chain::VoteKind::notarize;
inline constexpr chain::VoteKind kCommit = chain::VoteKind::commit;

}  // namespace test
