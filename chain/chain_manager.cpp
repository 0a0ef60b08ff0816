#include "chain/chain_manager.hpp"

#include "base/check.hpp"
#include "chain/execution/block_schedule.hpp"
#include "chain/state/merkle.hpp"
#include "chain/types/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chain {

namespace {

using base::Errc;
using base::fail;
using base::Family;

constexpr std::string_view kMetaChain = "chain_id";
constexpr std::string_view kMetaNotarize = "notarize_certificate";
constexpr std::string_view kMetaJournal = "journal_mark/";  // And the key's tag.
// Schedules of the final block; height and schedules of the agreement's base.
constexpr std::string_view kMetaSchedules = "schedules";

base::Bytes meta_key(std::string_view name) {
    return base::to_bytes(base::as_bytes(name));
}

// Names the first field of two headers that differs.
std::string difference(const BlockHeader& made, const BlockHeader& given) {
    struct Field {
        std::string_view name;
        Digest BlockHeader::*digest;
    };
    for (const auto& [name, digest] : {Field{"transaction_root", &BlockHeader::transaction_root},
                                       Field{"action_root", &BlockHeader::action_root},
                                       Field{"state_digest", &BlockHeader::state_digest},
                                       Field{"finality_root", &BlockHeader::finality_root}}) {
        if (made.*digest == given.*digest) continue;
        return fmt::format("{} is {}, the block says {}",
                           name,
                           base::to_hex((made.*digest).bytes),
                           base::to_hex((given.*digest).bytes));
    }
    return "schedule, height or progress differ";
}

void append_schedules(base::Batch& batch,
                      const ScheduleState& schedules,
                      const AgreementBase& base) {
    base::Writer out;
    encode(out, schedules);
    out.u32(base.block->header.height);
    encode(out, base.schedules);
    batch.put(Family::meta, meta_key(kMetaSchedules), out.take());
}

BlockPtr genesis_block(const ChainIdentity& identity, const StateLanes& lanes) {
    BlockHeader header;
    header.height = 1;
    header.producer = identity.schedule.entries.front().producer;
    header.schedule_version = identity.schedule.version;
    header.state_digest = lanes.digest();
    // It is its own justify and final; the id cannot be in what it covers.
    return make_block({header, {}}, {}, {});
}

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

ChainManager::ChainManager(const ChainIdentity& identity, const Environment& environment)
    : identity_(identity), environment_(environment) {}

base::Batch ChainManager::make_genesis(const ChainIdentity& identity, StateDelta& state) {
    const StateLanes lanes = lanes_moved(net_changes(state.changes(), state.parent()));
    const BlockPtr block = genesis_block(identity, lanes);
    base::Batch batch;
    batch.put(Family::meta, meta_key(kMetaChain), base::to_bytes(identity.chain_id.view()));
    append_final(batch, *block, {});
    auto changes = std::make_shared<const ChangeSet>(state.take());
    FinalState({block->header.height, block->id}, lanes, {std::move(changes)}).append_to(batch);
    return batch;
}

base::Batch ChainManager::make_loaded(const Loaded& loaded) {
    base::Batch batch;
    append_peaks(batch, loaded.range);
    append_without_traces(batch, *loaded.base.block);
    for (const BlockPtr& block : loaded.above) {
        append_without_traces(batch, *block);
    }
    const Block& last = loaded.above.empty() ? *loaded.base.block : *loaded.above.back();
    append_state_block(batch, {last.header.height, last.id}, loaded.lanes);
    append_schedules(batch, loaded.schedules, loaded.base);
    if (loaded.certificate) {
        batch.put(Family::meta, meta_key(kMetaFinalCertificate), pack(*loaded.certificate));
    }
    batch.put(Family::meta, meta_key(kMetaChain), base::to_bytes(loaded.chain_id.view()));
    return batch;
}

base::Result<bool> ChainManager::holds_chain(const base::StorageView& storage,
                                             const ChainId& expected) {
    auto id = storage.get(Family::meta, meta_key(kMetaChain));
    if (!id) return fail(std::move(id).error());
    if (!id->has_value()) {
        // A chain is the last that a load writes.
        auto row = storage.at_or_after(Family::state, {});
        if (!row) return fail(std::move(row).error());
        if (!row->has_value()) return false;
        return fail(Errc::corrupt,
                    "the data directory has rows of a state but no chain: a load was cut; remove "
                    "its state directory and load again");
    }
    if (!base::equal(**id, expected.view())) {
        return fail(Errc::invalid,
                    fmt::format("the data directory holds chain {}, the genesis file makes chain "
                                "{}; use another data directory or the right genesis file",
                                base::to_hex(**id),
                                base::to_hex(expected.bytes)));
    }
    return true;
}

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

base::Result<std::unique_ptr<PendingBlock>> ChainManager::begin(const BlockId& parent,
                                                                Slot slot,
                                                                Name producer) {
    const BlockHeader* header = find_header(parent);
    auto lanes = state_->known_lanes(parent);
    CHECK(header != nullptr && lanes.has_value());
    auto delta = state_->child(parent);
    if (const ScheduleReset* reset = reset_below(identity_.reset, parent)) {
        auto done = reset_schedule(*delta, *reset, identity_.times.time_of(slot));
        if (!done) return fail(std::move(done).error());
    }
    return PendingBlock::begin(
        environment_.executor,
        {*header, parent, std::move(delta), *std::move(lanes)},
        {slot, producer, identity_.times, identity_.chain_id, environment_.store_blocks});
}

const BlockHeader* ChainManager::find_header(const BlockId& id) const {
    if (id == final_->id) return &final_->header;
    const auto found = blocks_.find(id);
    return found == blocks_.end() ? nullptr : &found->second->block->header;
}

std::optional<ScheduleState> ChainManager::schedules_below(const BlockId& parent) const {
    if (const ScheduleReset* reset = reset_below(identity_.reset, parent)) {
        return first_schedules(reset->schedule);
    }
    if (parent == final_->id) return chain::schedules_below(final_schedules_, final_->header);
    const auto found = blocks_.find(parent);
    if (found == blocks_.end()) return std::nullopt;
    return chain::schedules_below(found->second->schedules, found->second->block->header);
}

base::Result<ExecutedBlockPtr> ChainManager::execute(
    const BlockPtr& block, const std::vector<PooledTransaction>& transactions) {
    const BlockHeader& header = block->header;
    auto pending = begin(header.previous, header.slot, header.producer);
    if (!pending) return fail(std::move(pending).error());
    if (transactions.size() != block->transactions.size()) {
        return fail(Errc::invalid, "a receipt has no transaction");
    }
    for (std::size_t i = 0; i < transactions.size(); ++i) {
        ExecutionOptions options;
        options.expected_cpu_us = block->transactions[i].cpu_usage_us;
        const TransactionTrace trace = (*pending)->push(transactions[i], options);
        if (trace.except) return fail(trace.except->to_error());
    }
    return finish(**pending, block, StateDigest::computed);
}

base::Result<ExecutedBlockPtr> ChainManager::replay(const BlockPtr& block, StateDigest digest) {
    const BlockHeader& header = block->header;
    auto pending = begin(header.previous, header.slot, header.producer);
    if (!pending) return fail(std::move(pending).error());
    for (const TransactionReceipt& receipt : block->transactions) {
        const auto* packed = std::get_if<PackedTransaction>(&receipt.transaction);
        if (packed == nullptr) return fail(Errc::invalid, "a receipt has no transaction");
        auto transaction = decode_transaction(*packed);
        if (!transaction) return fail(std::move(transaction).error());
        ExecutionOptions options;
        options.expected_cpu_us = receipt.cpu_usage_us;
        options.skip_authorization = true;
        const TransactionTrace trace = (*pending)->push({*transaction, {}}, options);
        if (trace.except) return fail(trace.except->to_error());
    }
    return finish(**pending, block, digest);
}

base::Result<ExecutedBlockPtr> ChainManager::finish(PendingBlock& pending,
                                                    const BlockPtr& block,
                                                    StateDigest digest) {
    PendingBlock::Progress progress{block->witness.justify, block->witness.finalized};
    if (digest == StateDigest::trusted) progress.trusted_digest = block->header.state_digest;
    auto made = pending.close(progress);
    if (!made) return fail(std::move(made).error());
    if (!is_left_out(Rule::state_digest) && *made != block->header) {
        return fail(Errc::invalid, difference(*made, block->header));
    }
    return adopt(block, pending.take(block->id));
}

ExecutedBlockPtr ChainManager::adopt(BlockPtr block, PendingBlock::Taken taken) {
    const BlockAt at{block->header.height, block->id};
    const BlockId& parent = block->header.previous;
    const auto below = schedules_below(parent);
    CHECK(below.has_value());
    ScheduleState schedules = with_proposal(*below, block->header);
    const auto adopted = state_->adopt({at, parent, std::move(taken.changes), taken.lanes});
    CHECK(adopted.has_value());
    auto executed = std::make_shared<const ExecutedBlock>(ExecutedBlock{
        std::move(block), std::move(taken.traces), state_->changes(at.id), std::move(schedules)});
    blocks_.emplace(at.id, executed);
    return executed;
}

void ChainManager::store(const ExecutedBlock& block, base::Batch& batch) const {
    append_reversible(batch, *block.block);
    for (const TransactionTrace& trace : block.traces) {
        batch.erase(Family::pool, base::to_bytes(trace.id.view()));
    }
}

void ChainManager::store(const Certificate& certificate, base::Batch& batch) const {
    const bool commit = certificate.data.kind == VoteKind::commit;
    batch.put(
        Family::meta, meta_key(commit ? kMetaFinalCertificate : kMetaNotarize), pack(certificate));
}

void ChainManager::store(const JournalMark& mark, base::Batch& batch) const {
    base::Writer key;
    key.raw(meta_key(kMetaJournal));
    key.u64(mark.key);
    base::Writer out;
    out.u64(mark.key);
    out.u64(mark.sequence);
    out.u8(mark.replaces ? 1 : 0);
    const auto last = std::ranges::find_if(
        mark.page.rbegin(), mark.page.rend(), [](std::byte byte) { return byte != std::byte{}; });
    out.raw(base::ByteView(mark.page).first(static_cast<std::size_t>(mark.page.rend() - last)));
    batch.put(Family::meta, key.take(), out.take());
}

ChainManager::BecameFinal ChainManager::finalize(const Certificate& certificate,
                                                 const AgreementBase& base,
                                                 base::Batch& batch) {
    store(certificate, batch);
    final_certificate_ = certificate;
    return make_final(certificate.data.block_id, &certificate, base, batch);
}

ChainManager::BecameFinal ChainManager::finalize(const BlockId& id,
                                                 const AgreementBase& base,
                                                 base::Batch& batch) {
    return make_final(id, nullptr, base, batch);
}

ChainManager::BecameFinal ChainManager::make_final(const BlockId& id,
                                                   const Certificate* certificate,
                                                   const AgreementBase& base,
                                                   base::Batch& batch) {
    BecameFinal became;
    became.blocks = branch(id);
    CHECK(!became.blocks.empty() && became.blocks.back()->block->id == id);
    became.state = std::make_shared<const FinalState>(state_->finalize(id));
    if (environment_.store_blocks) {
        for (const ExecutedBlockPtr& block : became.blocks) {
            append_final(batch, *block->block, block->traces);
        }
        if (auto indexed = index_proofs(became.blocks, certificate, batch); !indexed) {
            environment_.state.on_fault(indexed.error());
        }
    }
    final_ = became.blocks.back()->block;
    final_schedules_ = became.blocks.back()->schedules;
    const base::Result<void> pruned =
        append_pruned(batch, environment_.storage, final_->header.height, environment_.retention);
    if (!pruned) environment_.state.on_fault(pruned.error());
    append_schedules(batch, final_schedules_, base);
    std::erase_if(blocks_, [&](const auto& entry) {
        const Block& block = *entry.second->block;
        const bool gone = !state_->has(block.id) || block.header.height <= final_->header.height;
        // Final ones were erased above with append_final; these lost.
        if (gone && !state_->has(block.id)) erase_reversible(batch, block.header, block.id);
        return gone;
    });
    return became;
}

base::Result<void> ChainManager::committed() {
    return state_->committed(environment_.storage.snapshot());
}

void ChainManager::refresh(PendingBlock& pending) const {
    if (auto state = state_->view(pending.parent())) pending.read_through(std::move(state));
}

void ChainManager::forget(const BlockId& id, base::Batch& batch) {
    if (!blocks_.contains(id)) return;
    state_->forget(id);
    std::erase_if(blocks_, [&](const auto& entry) {
        const Block& block = *entry.second->block;
        if (state_->has(block.id)) return false;
        erase_reversible(batch, block.header, block.id);
        return true;
    });
}

ExecutedBlockPtr ChainManager::find(const BlockId& id) const {
    const auto found = blocks_.find(id);
    return found == blocks_.end() ? nullptr : found->second;
}

std::shared_ptr<const StateView> ChainManager::shared_state_of(const BlockId& id) const {
    return state_->shared_view(id);
}

std::vector<ExecutedBlockPtr> ChainManager::branch(const BlockId& tip) const {
    std::vector<ExecutedBlockPtr> blocks;
    for (ExecutedBlockPtr block = find(tip); block != nullptr;
         block = find(block->block->header.previous)) {
        blocks.push_back(block);
    }
    std::ranges::reverse(blocks);
    return blocks;
}

std::vector<ExecutedBlockPtr> ChainManager::held() const {
    std::vector<ExecutedBlockPtr> blocks;
    blocks.reserve(blocks_.size());
    for (const auto& [id, block] : blocks_) {
        blocks.push_back(block);
    }
    std::ranges::stable_sort(
        blocks, {}, [](const ExecutedBlockPtr& block) { return block->block->header.height; });
    return blocks;
}

}  // namespace chain
