#include "consensus/block_tree.hpp"

#include "base/check.hpp"
#include "chain/types/rule.hpp"

#include <algorithm>
#include <utility>

namespace consensus {

using chain::is_left_out;
using chain::Rule;

namespace {

chain::Slot justified_slot(const BlockNode& block) {
    return block.justified == nullptr ? 0 : block.justified->slot();
}

}  // namespace

bool may_have_signed(const base::crypto::PublicKey& key,
                     const TreeBase& base,
                     std::span<const chain::BlockPtr> above) {
    if (base.block->header.height == 1 && above.empty()) return false;
    const auto& [active, proposed, proposed_at, pending_since] = base.schedules;
    return active->has_key(key) || (proposed != nullptr && proposed->has_key(key)) ||
           std::ranges::any_of(above, [&](const chain::BlockPtr& block) {
               const auto& change = block->header.schedule_change;
               return change && change->has_key(key);
           });
}

BlockNode::BlockNode(chain::BlockPtr block_in, chain::ScheduleState schedules_in)
    : block(std::move(block_in)),
      schedules(std::move(schedules_in)),
      tallies{Tally(schedules), Tally(schedules)} {}

chain::VoteData BlockNode::vote_data(chain::VoteKind kind) const {
    return consensus::vote_data(kind, *block);
}

// NOLINTBEGIN(performance-unnecessary-value-param): they are moved into the node.

BlockTree::BlockTree(TreeBase base, std::size_t reversible_max) : reversible_max_(reversible_max) {
    CHECK(base.block != nullptr && base.schedules.active != nullptr);
    const chain::BlockId id = base.block->id;
    BlockNode& node =
        nodes_.try_emplace(id, std::move(base.block), std::move(base.schedules)).first->second;
    base_ = &node;
    final_ = &node;
    head_ = &node;
}

BlockNode& BlockTree::insert(chain::BlockPtr block, chain::ScheduleState schedules) {
    BlockNode* parent = find(block->header.previous);
    CHECK(parent != nullptr && block->header.height == parent->height() + 1);
    const chain::BlockId id = block->id;
    const auto [at, added] = nodes_.try_emplace(id, std::move(block), std::move(schedules));
    BlockNode& node = at->second;
    if (!added) return node;
    node.parent = parent;
    node.justified = parent->justified;
    parent->children.push_back(&node);
    if (better(node, *head_)) head_ = &node;
    return node;
}

// NOLINTEND(performance-unnecessary-value-param)

BlockNode* BlockTree::find(const chain::BlockId& id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
}

const BlockNode* BlockTree::find(const chain::BlockId& id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : &found->second;
}

const BlockNode* BlockTree::ancestor(const BlockNode& block, const chain::BlockRef& ref) {
    const BlockNode* node = &block;
    while (node != nullptr && node->slot() > ref.slot) {
        node = node->parent;
    }
    return node != nullptr && node->ref() == ref ? node : nullptr;
}

bool BlockTree::extends(const BlockNode& block, const BlockNode& ancestor) {
    const BlockNode* node = &block;
    while (node != nullptr && node->height() > ancestor.height()) {
        node = node->parent;
    }
    return node == &ancestor;
}

void BlockTree::certify(BlockNode& block, chain::Certificate certificate) {
    if (block.notarized) return;
    block.notarized = std::move(certificate);
    if (highest_ == nullptr || block.slot() > highest_->slot()) highest_ = &block;
    std::vector<BlockNode*> above{&block};
    while (!above.empty()) {
        BlockNode& node = *above.back();
        above.pop_back();
        // What is above a newer certificate has that one.
        if (node.notarized && &node != &block) continue;
        node.justified = &block;
        if (better(node, *head_)) head_ = &node;
        above.insert(above.end(), node.children.begin(), node.children.end());
    }
}

void BlockTree::finalize(BlockNode& block, std::vector<chain::BlockId>& dropped) {
    CHECK(extends(block, *final_));
    const std::size_t before = dropped.size();
    for (BlockNode* node = &block; node != final_; node = node->parent) {
        const std::vector<BlockNode*> children = node->parent->children;
        for (BlockNode* child : children) {
            if (child != node) drop_branch(*child, dropped);
        }
    }
    final_ = &block;
    if (dropped.size() != before || !extends(*head_, block)) choose_head();
    // Certificates that a header above still may bring are of its `finalized` or later.
    if (const BlockNode* base = ancestor(block, block.header().finalized)) move_base(*base);
    below_final_ = 0;
    for (const BlockNode* node = final_->parent; node != nullptr; node = node->parent) {
        ++below_final_;
    }
}

void BlockTree::move_base(const BlockNode& to) {
    for (auto& [id, node] : nodes_) {
        if (justified_slot(node) < to.slot()) node.justified = nullptr;
    }
    if (highest_ != nullptr && highest_->slot() < to.slot()) highest_ = nullptr;
    while (base_ != &to) {
        BlockNode* next = base_->children.front();
        const chain::BlockId id = base_->id();
        nodes_.erase(id);
        base_ = next;
        base_->parent = nullptr;
    }
}

void BlockTree::bound(BlockNode& newest, bool is_certified, std::vector<chain::BlockId>& dropped) {
    const std::size_t far = is_certified ? 2 * reversible_max_ : reversible_max_;
    while (nodes_.size() - below_final_ - 1 > reversible_max_) {
        BlockNode* worst = find_worst(newest);
        if (worst == nullptr && is_far_from_certified(newest, far)) worst = &newest;
        if (worst == nullptr) return;
        const bool is_newest = worst == &newest;
        dropped.push_back(worst->id());
        erase(*worst);
        choose_head();
        if (is_newest) return;
    }
}

// One member can make as many blocks as it has slots, and they cost it nothing: they give way to
// those of others.
BlockNode* BlockTree::find_worst(const BlockNode& newest) {
    std::map<chain::Name, std::size_t> held;
    for (const auto& [id, node] : nodes_)
        if (node.height() > final_->height()) ++held[node.header().producer];
    const auto goes_before = [&](const BlockNode& a, const BlockNode& b) {
        if (a.notarized.has_value() != b.notarized.has_value()) return !a.notarized;
        const std::size_t of_a = held[a.header().producer];
        const std::size_t of_b = held[b.header().producer];
        const bool by_rank = of_a == of_b || is_left_out(Rule::bound_keeps_others);
        return by_rank ? better(b, a) : of_a > of_b;
    };
    BlockNode* worst = nullptr;
    for (auto& [id, node] : nodes_) {
        const bool is_newest = &node == &newest && !is_left_out(Rule::bound_keeps_newest);
        const bool is_kept = &node == head_ || &node == final_ || is_newest;
        if (is_kept || node.is_spared || !node.children.empty()) continue;
        if (worst == nullptr || goes_before(node, *worst)) worst = &node;
    }
    return worst;
}

// Or from what was spared, which is below a final block. The certificate that the header of the new
// block names comes with that block, and is learned after this.
bool BlockTree::is_far_from_certified(const BlockNode& newest, std::size_t far) const {
    const BlockNode* node = &newest;
    for (std::size_t i = 0; i <= far; ++i) {
        if (node == final_ || node->notarized || node->is_spared) return false;
        if (node->slot() <= newest.header().justify.slot) return false;
        node = node->parent;
    }
    return true;
}

TreeBase BlockTree::base() const {
    return {base_->block, base_->schedules};
}

bool BlockTree::better(const BlockNode& a, const BlockNode& b) {
    const auto rank = [](const BlockNode& node) {
        return std::pair(justified_slot(node), node.slot());
    };
    const auto rank_a = rank(a);
    const auto rank_b = rank(b);
    return rank_a != rank_b ? rank_a > rank_b : a.id() < b.id();
}

void BlockTree::drop_branch(BlockNode& block, std::vector<chain::BlockId>& dropped) {
    std::vector<BlockNode*> branch{&block};
    for (std::size_t i = 0; i < branch.size(); ++i) {
        const BlockNode& node = *branch[i];
        branch.insert(branch.end(), node.children.begin(), node.children.end());
    }
    // Children first: nothing refers to what is gone.
    for (auto node = branch.rbegin(); node != branch.rend(); ++node) {
        dropped.push_back((*node)->id());
        erase(**node);
    }
}

void BlockTree::erase(BlockNode& leaf) {
    CHECK(leaf.children.empty() && leaf.parent != nullptr);
    std::erase(leaf.parent->children, &leaf);
    const chain::BlockId id = leaf.id();
    nodes_.erase(id);
}

void BlockTree::choose_head() {
    head_ = final_;
    highest_ = nullptr;
    for (auto& [id, node] : nodes_) {
        if (node.notarized && (highest_ == nullptr || node.slot() > highest_->slot())) {
            highest_ = &node;
        }
        if (node.height() >= final_->height() && better(node, *head_)) head_ = &node;
    }
}

}  // namespace consensus
