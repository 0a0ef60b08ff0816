#include "chain/state/state_manager.hpp"

#include "base/check.hpp"
#include "base/codec.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace chain {

namespace {

constexpr std::uint32_t kShortRun = 16;
constexpr std::uint32_t kLongRun = 256;

// In base::Family::meta: height, id and lanes of the state in base::Family::state.
base::Bytes state_block_key() {
    return base::to_bytes(base::as_bytes("state"));
}

struct StateBlock {
    BlockAt block;
    StateLanes lanes;
};

base::Result<StateBlock> read_state_block(const base::StorageView& storage) {
    base::Result<std::optional<base::Bytes>> found =
        storage.get(base::Family::meta, state_block_key());
    if (!found) return base::fail(found.error());
    if (!*found) return StateBlock{};
    base::Reader in(**found);
    StateBlock read;
    read.block.height = in.u32("height");
    read.block.id = in.hash<32>("id");
    const base::ByteView packed = in.raw(StateLanes::kPackedBytes, "lanes");
    if (const base::Result<void> end = in.finish(); !end) {
        return base::fail(base::Errc::corrupt,
                          "the stored record of the final state is damaged (" + end.error().detail +
                              "); restore the data directory from a snapshot");
    }
    read.lanes = *StateLanes::unpack(packed);
    return read;
}

void append_rows(base::Batch& batch, const ChangeSet& changes) {
    batch.changes.reserve(batch.changes.size() + changes.size() + 1);
    for (const auto& [table, rows] : changes.tables()) {
        for (const auto& [key, value] : rows) {
            if (value) {
                append_state_row(batch, table, key, *value);
            } else {
                batch.erase(base::Family::state, stored_key(table, key));
            }
        }
    }
}

}  // namespace

void append_state_row(base::Batch& batch, Table table, base::ByteView key, base::Bytes value) {
    batch.put(base::Family::state, stored_key(table, key), std::move(value));
}

base::Result<BlockAt> stored_final(const base::StorageView& storage) {
    const base::Result<StateBlock> read = read_state_block(storage);
    if (!read) return base::fail(read.error());
    return read->block;
}

void append_state_block(base::Batch& batch, const BlockAt& block, const StateLanes& lanes) {
    base::Writer out;
    out.u32(block.height);
    out.hash(block.id);
    out.raw(lanes.packed());
    batch.put(base::Family::meta, state_block_key(), out.take());
}

// NOLINTNEXTLINE(readability-function-size): sets of tables of rows.
void FinalState::append_to(base::Batch& batch) const {
    if (sets_.size() == 1) {
        append_rows(batch, *sets_.front());
    } else {
        // A row that several blocks changed is written once.
        ChangeSet sum;
        for (const auto& set : sets_) {
            sum.merge(*set);
        }
        append_rows(batch, sum);
    }
    append_state_block(batch, block_, lanes_);
}

StateManager::StateManager(Options options, BlockAt block, StateLanes lanes)
    : options_(std::move(options)),
      cache_(std::make_shared<FinalRows>(options_.cache_bytes, options_.cache_seed)),
      handed_out_(block) {
    base_.block = block;
    base_.lanes = lanes;
}

base::Result<std::unique_ptr<StateManager>> StateManager::open(
    std::shared_ptr<const base::StorageView> snapshot, Options options) {
    CHECK(snapshot != nullptr && options.on_fault != nullptr);
    const base::Result<StateBlock> read = read_state_block(*snapshot);
    if (!read) return base::fail(read.error());
    std::unique_ptr<StateManager> made(
        new StateManager(std::move(options), read->block, read->lanes));
    made->read_from(std::move(snapshot));
    return made;
}

void StateManager::read_from(std::shared_ptr<const base::StorageView> storage) {
    base_.view = std::make_shared<const StoredView>(storage, options_.on_fault, cache_);
    base_.storage = std::move(storage);
}

const StateManager::Node* StateManager::find(const base::Hash256& block) const {
    const auto found = nodes_.find(block);
    return found != nodes_.end() ? &found->second : nullptr;
}

bool StateManager::has(const base::Hash256& block) const {
    return block == base_.block.id || find(block) != nullptr;
}

std::shared_ptr<const StateView> StateManager::view(const base::Hash256& block) {
    if (block == base_.block.id) return base_.view;
    const auto found = nodes_.find(block);
    if (found == nodes_.end()) return nullptr;
    Node& node = found->second;
    if (!node.view) node.view = std::make_shared<const LayeredView>(layers(node), base_.view);
    return node.view;
}

std::shared_ptr<const StateView> StateManager::shared_view(const base::Hash256& block) const {
    auto stored = std::make_shared<const StoredView>(base_.storage, options_.on_fault);
    if (block == base_.block.id) return stored;
    const Node* node = find(block);
    if (node == nullptr) return nullptr;
    return std::make_shared<const LayeredView>(layers(*node), std::move(stored));
}

std::optional<StateManager::KnownLanes> StateManager::known_lanes(const base::Hash256& block) {
    KnownLanes known;
    base::Hash256 at = block;
    while (at != base_.block.id) {
        const Node* node = find(at);
        if (node == nullptr) return std::nullopt;
        if (node->lanes) break;
        known.since.push_back(node->changes);
        at = node->parent;
    }
    std::ranges::reverse(known.since);
    known.lanes = at == base_.block.id ? base_.lanes : *find(at)->lanes;
    known.state = view(at);
    return known;
}

std::unique_ptr<StateDelta> StateManager::child(const base::Hash256& parent) {
    std::shared_ptr<const StateView> below = view(parent);
    if (!below) return nullptr;
    return std::make_unique<StateDelta>(std::move(below));
}

base::Result<void> StateManager::adopt(Executed executed) {
    const BlockAt& block = executed.block;
    if (has(block.id)) return {};
    const Node* parent = find(executed.parent);
    if (parent == nullptr && executed.parent != base_.block.id) {
        return base::fail(
            base::Errc::not_found,
            "the state of the parent of block " + base::to_hex(block.id.view()) + " is not here");
    }
    const std::uint32_t height = parent != nullptr ? parent->block.height : base_.block.height;
    if (block.height != height + 1) {
        return base::fail(base::Errc::invalid,
                          "block " + base::to_hex(block.id.view()) + " has height " +
                              std::to_string(block.height) + ", its parent " +
                              std::to_string(height));
    }
    if (height < handed_out_.height && (parent == nullptr || parent->final)) {
        return base::fail(base::Errc::invalid,
                          "block " + base::to_hex(block.id.view()) + " forks off below the final " +
                              "block at height " + std::to_string(handed_out_.height));
    }
    Node& node = nodes_[block.id];
    node.block = block;
    node.parent = executed.parent;
    node.changes = std::make_shared<const ChangeSet>(std::move(executed.changes));
    node.lanes = executed.lanes;
    make_run(node);
    return {};
}

std::shared_ptr<const ChangeSet> StateManager::changes(const base::Hash256& block) const {
    const Node* node = find(block);
    return node != nullptr ? node->changes : nullptr;
}

// What a reader passes through from `top` down to the base. A run may reach below the base:
// the rows that only those blocks changed are in it as they are in the base, too.
LayeredView::Layers StateManager::layers(const Node& top) const {
    LayeredView::Layers found;
    const Node* node = &top;
    while (node != nullptr) {
        found.push_back(node->run ? node->run : node->changes);
        node = find(node->run ? node->below_run : node->parent);
    }
    return found;
}

// The changes of the last `blocks` up to `top` as one; `below`: the block under them.
std::shared_ptr<const ChangeSet> StateManager::gather(const Node& top,
                                                      std::uint32_t blocks,
                                                      base::Hash256& below) const {
    LayeredView::Layers parts;
    const Node* node = &top;
    for (std::uint32_t left = blocks; left > 0 && node != nullptr;) {
        const bool whole = node->run && node->run_blocks <= left;
        parts.push_back(whole ? node->run : node->changes);
        left -= whole ? node->run_blocks : 1;
        below = whole ? node->below_run : node->parent;
        node = find(below);
    }
    auto sum = std::make_shared<ChangeSet>();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        sum->merge(**part);
    }
    return sum;
}

void StateManager::make_run(Node& node) const {
    const std::uint32_t depth = node.block.height - base_.block.height;
    for (const std::uint32_t blocks : {kShortRun, kLongRun}) {
        if (node.block.height % blocks != 0 || depth < blocks) continue;
        base::Hash256 below;
        std::shared_ptr<const ChangeSet> run = gather(node, blocks, below);
        node.run = std::move(run);
        node.run_blocks = blocks;
        node.below_run = below;
    }
}

// Of the blocks above the base, `root` and all that follow it.
std::set<base::Hash256> StateManager::branch(const base::Hash256& root) const {
    std::vector<BlockAt> blocks;
    blocks.reserve(nodes_.size());
    for (const auto& [id, node] : nodes_) {
        blocks.push_back(node.block);
    }
    std::sort(blocks.begin(), blocks.end());  // Parents come before their children.
    std::set<base::Hash256> found;
    for (const BlockAt& block : blocks) {
        const bool follows = found.count(find(block.id)->parent) != 0;
        if (block.id == root || follows) found.insert(block.id);
    }
    return found;
}

FinalState StateManager::finalize(const base::Hash256& block) {
    const auto top = nodes_.find(block);
    CHECK(top != nodes_.end());
    std::vector<std::shared_ptr<const ChangeSet>> sets;
    base::Hash256 at = block;
    while (at != handed_out_.id) {
        const auto found = nodes_.find(at);
        CHECK(found != nodes_.end());
        CHECK(!found->second.final);
        found->second.final = true;
        sets.push_back(found->second.changes);
        at = found->second.parent;
    }
    std::ranges::reverse(sets);
    handed_out_ = top->second.block;
    const std::set<base::Hash256> living = branch(block);
    for (auto node = nodes_.begin(); node != nodes_.end();) {
        const bool stays = node->second.final || living.count(node->first) != 0;
        node = stays ? std::next(node) : nodes_.erase(node);
    }
    CHECK(top->second.lanes.has_value());
    return {top->second.block, *top->second.lanes, std::move(sets)};
}

// Brings the cached rows over the changes of a block that storage now has.
void StateManager::absorb(const Node& node) {
    cache_->absorb(*node.changes);
    base_.block = node.block;
    if (node.lanes) base_.lanes = *node.lanes;
}

base::Result<void> StateManager::committed(std::shared_ptr<const base::StorageView> snapshot) {
    const base::Result<StateBlock> read = read_state_block(*snapshot);
    if (!read) return base::fail(read.error());
    if (read->block == base_.block) return {};
    std::vector<base::Hash256> path;  // The highest first.
    for (base::Hash256 at = read->block.id; at != base_.block.id;) {
        const Node* node = find(at);
        if (node == nullptr || !node->final) {
            return base::fail(base::Errc::corrupt,
                              "storage says that the state is of block " +
                                  base::to_hex(read->block.id.view()) +
                                  ", which was not given to it; is another process writing there?");
        }
        path.push_back(at);
        at = node->parent;
    }
    for (auto at = path.rbegin(); at != path.rend(); ++at) {
        const auto node = nodes_.find(*at);
        absorb(node->second);
        nodes_.erase(node);
    }
    for (auto& [id, node] : nodes_) {
        node.view.reset();
    }
    read_from(std::move(snapshot));
    return {};
}

void StateManager::forget(const base::Hash256& block) {
    const auto found = nodes_.find(block);
    if (found == nodes_.end()) return;
    CHECK(!found->second.final);
    for (const base::Hash256& id : branch(block)) {
        nodes_.erase(id);
    }
}

void StateManager::check_invariants() const {
    for (const auto& [id, node] : nodes_) {
        CHECK(id == node.block.id);
        const Node* parent = find(node.parent);
        CHECK(parent != nullptr || node.parent == base_.block.id);
        const BlockAt& below = parent != nullptr ? parent->block : base_.block;
        CHECK(node.block.height == below.height + 1);
        CHECK(!node.final || parent == nullptr || parent->final);
    }
    CHECK(handed_out_ == base_.block || find(handed_out_.id) != nullptr);
}

}  // namespace chain
