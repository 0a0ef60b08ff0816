#include "chain/chain_manager.hpp"
#include "chain/meta_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

// What is read when a chain is opened, and what must fit together then.

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

// The final block of its height is the one from which a recovery begins.
base::Result<void> check_origin(Height height, const BlockId& here, const BlockId& from) {
    if (here == from) return {};
    return fail(Errc::invalid,
                fmt::format("recover-from: block {} is {} here, the recovery begins at {}",
                            height,
                            base::to_hex(here.view()),
                            base::to_hex(from.view())));
}

}  // namespace

base::Result<std::unique_ptr<ChainManager>> ChainManager::open(const ChainIdentity& identity,
                                                               const Environment& environment) {
    auto holds = holds_chain(environment.storage, identity.chain_id);
    if (!holds) return fail(std::move(holds).error());
    if (!*holds) return fail(Errc::not_found, "the data directory holds no chain yet");
    std::unique_ptr<ChainManager> chain(new ChainManager(identity, environment));
    if (auto opened = chain->open_final(); !opened) return fail(std::move(opened).error());
    if (auto read = chain->open_certificates(); !read) return fail(std::move(read).error());
    if (auto opened = chain->open_proofs(); !opened) return fail(std::move(opened).error());
    if (auto opened = chain->open_base(); !opened) return fail(std::move(opened).error());
    if (auto good = chain->check_reset(); !good) return fail(std::move(good).error());
    if (auto good = chain->check_retimes(); !good) return fail(std::move(good).error());
    if (auto opened = chain->open_reversible(); !opened) return fail(std::move(opened).error());
    if (auto good = chain->check_reset_keys(); !good) return fail(std::move(good).error());
    return chain;
}

base::Result<void> ChainManager::open_final() {
    auto state = StateManager::open(environment_.storage.snapshot(), environment_.state);
    if (!state) return fail(std::move(state).error());
    state_ = *std::move(state);
    auto block = get_final(state_->base().height);
    if (!block) return fail(std::move(block).error());
    if ((*block)->id != state_->base().id) {
        return fail(Errc::corrupt,
                    fmt::format("the state belongs to another block {} than is stored",
                                state_->base().height));
    }
    final_ = *std::move(block);
    return {};
}

base::Result<BlockPtr> ChainManager::get_final(Height height) const {
    auto block = BlockReader(environment_.storage).at(height);
    if (!block) return fail(std::move(block).error());
    if (*block == nullptr) {
        return fail(Errc::corrupt, fmt::format("final block {} is not stored", height));
    }
    return *std::move(block);
}

base::Result<std::optional<ChainManager::StoredSchedules>> ChainManager::stored_schedules(
    const base::StorageView& storage) {
    auto bytes = storage.get(Family::meta, meta_key(kMetaSchedules));
    if (!bytes) return fail(std::move(bytes).error());
    if (!bytes->has_value()) return std::optional<StoredSchedules>();
    base::Reader in(**bytes);
    StoredSchedules stored;
    decode(in, stored.final_block, kMetaSchedules);
    stored.base_height = in.u32(kMetaSchedules);
    decode(in, stored.base, kMetaSchedules);
    if (auto done = in.finish(); !done) return fail(Errc::corrupt, done.error().detail);
    return std::optional(std::move(stored));
}

// Of a block that is stored, or one of the last 65,536, whose ids the state has.
base::Result<BlockId> ChainManager::id_of_final(Height height) const {
    auto block = BlockReader(environment_.storage).at(height);
    if (!block) return fail(std::move(block).error());
    if (*block != nullptr) return (*block)->id;
    const Value id = shared_state_of(final_->id)
                         ->find(Table::block_id, block_id_key(static_cast<std::uint16_t>(height)));
    if (id != nullptr && id->size() == sizeof(BlockId)) {
        const BlockId read = base::to_hash<32>(*id).value();
        if (height_of(read) == height) return read;
    }
    return fail(Errc::corrupt, fmt::format("final block {} is not stored", height));
}

base::Result<void> ChainManager::open_schedules(Height& base_height) {
    auto stored = stored_schedules(environment_.storage);
    if (!stored) return fail(std::move(stored).error());
    if (*stored) {
        final_schedules_ = (*stored)->final_block;
        stored_base_.schedules = (*stored)->base;
        base_height = (*stored)->base_height;
        return {};
    }
    if (final_->header.height > 1) {
        return fail(Errc::corrupt,
                    fmt::format("the schedules of final block {} are not stored: the data "
                                "directory is damaged; load a snapshot into an empty one",
                                final_->header.height));
    }
    final_schedules_ = first_schedules(identity_.schedule);
    stored_base_.schedules = final_schedules_;
    base_height = 1;
    return {};
}

base::Result<void> ChainManager::open_base() {
    Height height = 0;
    if (auto read = open_schedules(height); !read) return read;
    if (height > final_->header.height) {
        return fail(Errc::corrupt, "the agreement's base is above the final block");
    }
    for (Height each = height; each <= final_->header.height; ++each) {
        auto block = get_final(each);
        if (!block) return fail(std::move(block).error());
        if (each == height) {
            stored_base_.block = *std::move(block);
        } else {
            above_base_.push_back(*std::move(block));
        }
    }
    return {};
}

base::Result<void> ChainManager::open_certificates() {
    const auto read = [&](std::string_view name,
                          std::optional<Certificate>& certificate) -> base::Result<void> {
        auto bytes = environment_.storage.get(Family::meta, meta_key(name));
        if (!bytes) return fail(std::move(bytes).error());
        if (!bytes->has_value()) return {};
        auto decoded = unpack<Certificate>(**bytes, name);
        if (!decoded) return fail(Errc::corrupt, decoded.error().detail);
        certificate = *std::move(decoded);
        return {};
    };
    if (auto done = read(kMetaFinalCertificate, final_certificate_); !done) return done;
    if (auto done = read(kMetaNotarize, stored_notarize_); !done) return done;
    return open_journal_marks();
}

base::Result<void> ChainManager::open_journal_marks() {
    base::Result<void> outcome;
    const base::Bytes prefix = meta_key(kMetaJournal);
    auto read = environment_.storage.scan(
        Family::meta, prefix, [&](base::ByteView key, base::ByteView value) {
            if (!std::ranges::equal(key.first(std::min(key.size(), prefix.size())), prefix)) {
                return false;
            }
            base::Reader in(value);
            JournalMark mark;
            mark.key = in.u64(kMetaJournal);
            mark.sequence = in.u64(kMetaJournal);
            mark.replaces = in.u8(kMetaJournal) != 0;
            mark.page = base::to_bytes(in.raw(in.left(), kMetaJournal));
            if (auto done = in.finish(); !done) {
                outcome = fail(Errc::corrupt, done.error().detail);
                return false;
            }
            const std::uint64_t tag = mark.key;
            journal_marks_[tag] = std::move(mark);
            return true;
        });
    return read ? outcome : read;
}

// What is final here goes on from where the reset says, or has not come there yet.
base::Result<void> ChainManager::check_reset() const {
    if (!identity_.reset) return {};
    const ScheduleReset& reset = *identity_.reset;
    const Height height = height_of(reset.from);
    if (height > final_->header.height) return {};
    if (height < stored_base_.block->header.height) {
        auto stored = BlockReader(environment_.storage).at(height);
        if (!stored) return fail(std::move(stored).error());
        if (*stored == nullptr) return check_loaded_reset();
    }
    auto id = id_of_final(height);
    if (!id) return fail(std::move(id).error());
    if (auto good = check_origin(height, *id, reset.from); !good) return good;
    if (height == final_->header.height) return {};
    auto child = get_final(height + 1);
    if (!child) return fail(std::move(child).error());
    if ((*child)->header.schedule_version == reset.schedule.version) return {};
    return fail(Errc::invalid,
                fmt::format("recover-from: block {} is final here already, above block {} from "
                            "which the recovery begins; {}",
                            final_->header.height,
                            height,
                            reset.gives_up_final ? "it gives that up: start with an empty data "
                                                   "directory to follow it"
                                                 : "ask this node, too, for its answer"));
}

// A directory that began with a snapshot of a later block has the recovery as a link.
base::Result<void> ChainManager::check_loaded_reset() const {
    const ScheduleReset& reset = *identity_.reset;
    auto links = stored_recoveries(environment_.storage);
    if (!links) return fail(std::move(links).error());
    const bool is_known = std::ranges::any_of(*links, [&](const RecoveryLink& link) {
        return link.reset.from == reset.from && link.reset.schedule == reset.schedule;
    });
    if (is_known) return {};
    return fail(Errc::invalid,
                fmt::format("recover-from: the data directory begins above block {}, from which "
                            "the recovery begins, on a chain without it; start with an empty one "
                            "to follow it",
                            height_of(reset.from)));
}

// What the recovery begins from is here: no new key has served up to there.
base::Result<void> ChainManager::check_reset_keys() const {
    const auto state = identity_.reset ? shared_state_of(identity_.reset->from) : nullptr;
    if (state == nullptr) return {};
    for (const ScheduleEntry& entry : identity_.reset->schedule.entries) {
        for (const PublicKey& key : {entry.signing_key, entry.vote_key}) {
            if (!find_served(*state, key)) continue;
            return fail(Errc::invalid,
                        fmt::format("recover-from: key {} was a validator's before, and may be "
                                    "locked on a block that is given up; make a new one",
                                    key.to_string()));
        }
    }
    return {};
}

// The final blocks here have the times that the operator knows of, or end before these begin.
base::Result<void> ChainManager::check_retimes() const {
    const std::vector<Retime>& known = identity_.times.retimes;
    auto row = load_retimes(*shared_state_of(final_->id));
    if (!row) return fail(std::move(row).error());
    const std::size_t past = row->retimes.size();
    if (past > known.size() ||
        !std::equal(row->retimes.begin(), row->retimes.end(), known.begin())) {
        return fail(Errc::invalid,
                    fmt::format("recover-from: the time of this chain was set back, from slot {} "
                                "on, by a recovery that 'recover-from' does not name",
                                row->retimes.back().first));
    }
    for (const Retime& retime : std::span(known).subspan(past)) {
        const Height height = height_of(retime.from);
        if (height > final_->header.height) return {};
        auto id = id_of_final(height);
        if (!id) return fail(std::move(id).error());
        if (auto good = check_origin(height, *id, retime.from); !good) return good;
        if (final_->header.slot >= retime.first) {
            return fail(Errc::invalid,
                        fmt::format("recover-from: block {} of slot {} is final here already, the "
                                    "recovery gives slots other times from {} on; make it from a "
                                    "node that has the highest final block",
                                    final_->header.height,
                                    final_->header.slot,
                                    retime.first));
        }
    }
    return {};
}

bool ChainManager::is_retimed(const BlockHeader& header) const {
    return std::ranges::any_of(identity_.times.retimes, [&](const Retime& retime) {
        return header.slot >= retime.first && header.height > height_of(retime.from);
    });
}

// The node had executed and stored these blocks; their state is made again.
base::Result<void> ChainManager::open_reversible() {
    auto blocks = BlockReader(environment_.storage).reversible();
    if (!blocks) return fail(std::move(blocks).error());
    for (const BlockPtr& block : *blocks) {
        // What does not build on the final block lost; it is overwritten in time.
        if (!state_->has(block->header.previous)) continue;
        if (block->header.height <= final_->header.height) continue;
        const ScheduleReset* reset = reset_below(identity_.reset, block->header.previous);
        if (reset != nullptr && block->header.schedule_version != reset->schedule.version) continue;
        auto executed = replay(block);
        // Of a slot that has another time by now, it was made before that was decided.
        if (!executed && is_retimed(block->header)) continue;
        if (!executed) {
            return fail(Errc::corrupt,
                        fmt::format("stored block {} cannot be executed again: {}",
                                    block->header.height,
                                    executed.error().detail));
        }
    }
    return {};
}

}  // namespace chain
