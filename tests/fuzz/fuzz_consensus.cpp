#include "base/check.hpp"
#include "consensus/consensus.hpp"
#include "tests/support/journals.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

// A conversation with Consensus, made of bytes: blocks that pass its own check(), votes and
// certificates of anybody, time that passes. Whatever is said, its own votes obey the rules.

namespace {

constexpr unsigned kMembers = 4;
constexpr std::size_t kStepsMax = 400;

base::crypto::PublicKey key(unsigned tag) {
    base::crypto::PublicKey key;
    key.point[0] = std::byte{2};
    key.point[1] = static_cast<std::byte>(tag);
    return key;
}

class Conversation {
  public:
    explicit Conversation(base::ByteView bytes) : in_(bytes) {
        chain::Schedule schedule;
        for (unsigned i = 0; i < kMembers; ++i) {
            schedule.entries.push_back({chain::Name{i + 1}, key(2 * i), key(2 * i + 1)});
        }
        options_.times = {.initial = {1'000'000'000'000'000}, .interval_milliseconds = 500};
        options_.schedule_period = 5;
        options_.reversible_max = 20;
        options_.own_keys = {key(0), key(1)};
        now_ = options_.times.time_of(0).to_timestamp();
        options_.started = now_;
        chain::BlockHeader header;
        header.height = 1;
        blocks_ = {chain::make_block({header, {}}, {}, {})};
        consensus_.emplace(
            options_,
            consensus::TreeBase{blocks_[0], chain::first_schedules(schedule)},
            test::fresh_journals({consensus::key_tag(key(0)), consensus::key_tag(key(1))}));
        for (unsigned i = 0; i < kMembers; ++i)
            step(consensus::input::ClockHeard{key(2 * i + 1), now_});
    }

    void run() {
        for (std::size_t steps = 0; in_.left() > 0 && steps < kStepsMax; ++steps) {
            now_ += std::chrono::milliseconds(byte());
            switch (byte() % 8) {
                case 0:
                    step(consensus::input::Tick{});
                    break;
                case 1:
                    offer_block();
                    break;
                case 2:
                    step(consensus::input::VoteReceived{vote()});
                    break;
                case 3:
                    offer_certificate();
                    break;
                case 4:
                    step(consensus::input::HeaderSeen{{pick()->header, {}}});
                    break;
                case 5:
                    hear_clock();
                    break;
                case 6:
                    step(consensus::input::ClockSet{std::chrono::milliseconds(100) *
                                                    (static_cast<int>(byte()) - 128)});
                    break;
                default:
                    step(consensus::input::FinalDurable{consensus_->finalized().slot});
                    break;
            }
        }
    }

  private:
    void hear_clock() {
        const base::Duration off = std::chrono::milliseconds(50) * (static_cast<int>(byte()) - 128);
        step(consensus::input::ClockHeard{key(2 * (byte() % 6) + 1), now_ + off});
    }
    unsigned byte() { return in_.left() == 0 ? 0U : in_.u8("byte"); }
    const chain::BlockPtr& pick() { return blocks_[byte() % blocks_.size()]; }

    [[nodiscard]] chain::VoteData data(chain::VoteKind kind, const chain::Block& block) const {
        return {.kind = kind,
                .schedule_version = block.header.schedule_version,
                .slot = block.header.slot,
                .height = block.header.height,
                .block_id = block.id,
                .justify_slot = block.header.justify.slot};
    }
    chain::VoteKind kind() {
        return byte() % 2 == 0 ? chain::VoteKind::notarize : chain::VoteKind::commit;
    }
    chain::Vote vote() { return {data(kind(), *pick()), key(2 * (byte() % 6) + 1), {}}; }

    chain::Certificate certificate(chain::VoteKind kind, const chain::Block& block) {
        chain::Certificate made;
        made.data = data(kind, block);
        const unsigned bits = byte() % 16 | 7U;
        made.bitmaps = {{static_cast<std::byte>(bits)}};
        if (byte() % 4 == 0) made.bitmaps.push_back({static_cast<std::byte>(bits)});
        made.signatures.resize(bits == 15 ? 4 : 3);
        return made;
    }
    void offer_certificate() {
        const auto made = certificate(kind(), *pick());
        const auto* schedules = consensus_->schedules_of(made.data);
        if (schedules == nullptr || !consensus::check_form(made, *schedules)) return;
        step(consensus::input::CertificateReceived{made});
    }

    void offer_block() {
        const chain::BlockPtr parent = pick();
        chain::BlockHeader header;
        header.slot = parent->header.slot + 1 + byte() % 8;
        header.height = parent->header.height + 1;
        header.previous = parent->id;
        header.schedule_version = parent->header.schedule_version + (byte() % 16 == 0 ? 1U : 0U);
        header.producer = chain::Name{header.slot % kMembers + 1};
        header.justify = parent->header.justify;
        header.finalized = parent->header.finalized;
        header.state_digest.bytes[0] = static_cast<std::byte>(byte() % 4);
        chain::Witness witness;
        if (byte() % 2 == 0) {
            const chain::BlockPtr justify = pick();
            header.justify = {justify->header.slot, justify->id};
            witness.justify = certificate(chain::VoteKind::notarize, *justify);
        }
        if (byte() % 4 == 0) {
            const chain::BlockPtr final = pick();
            header.finalized = {final->header.slot, final->id};
            witness.finalized = certificate(chain::VoteKind::commit, *final);
        }
        if (byte() % 8 == 0) {
            chain::Schedule next;
            next.version = header.schedule_version + 1;
            next.entries = {{header.producer, key(0), key(1)}};
            header.schedule_change = next;
        }
        const auto block = chain::make_block({header, {}}, {}, witness);
        const auto verdict = consensus_->check(now_, *block);
        if (verdict.fate != consensus::HeaderVerdict::Fate::good) return;
        blocks_.push_back(block);
        step(consensus::input::BlockAdopted{block, false});
    }

    void step(const consensus::Input& what) {
        consensus::Effects out;
        consensus_->step(now_, what, out);
        for (const auto& effect : out) {
            if (const auto* vote = std::get_if<consensus::effect::CastVote>(&effect)) {
                check(vote->data);
            }
        }
        CHECK(consensus_->holds(consensus_->head()));
        CHECK(consensus_->finalized().slot >= final_slot_);
        final_slot_ = consensus_->finalized().slot;
    }
    // One block a kind and slot; slots of a kind ascend.
    void check(const chain::VoteData& vote) {
        chain::Slot& last = vote.kind == chain::VoteKind::commit ? committed_ : notarized_;
        CHECK(vote.slot > last);
        last = vote.slot;
        if (vote.kind == chain::VoteKind::notarize) CHECK(vote.justify_slot >= committed_);
    }

    base::Reader in_;
    consensus::Consensus::Options options_;
    std::optional<consensus::Consensus> consensus_;
    std::vector<chain::BlockPtr> blocks_;
    base::Timestamp now_{};
    chain::Slot final_slot_ = 0;
    chain::Slot notarized_ = 0;
    chain::Slot committed_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Conversation(std::as_bytes(std::span(data, size))).run();
    return 0;
}
