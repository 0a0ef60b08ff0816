#include "p2p/questions.hpp"

#include "p2p/assemblies.hpp"

#include <algorithm>

namespace p2p {

namespace {
constexpr base::Duration kAnswerPatience = std::chrono::seconds(5);
}  // namespace

std::uint64_t Questions::add(PeerSlot slot,
                             const std::vector<chain::BlockId>& ids,
                             base::Timestamp now) {
    const std::uint64_t correlation = kById | ++next_correlation_;
    // A block in each at worst, and one that says that no more comes.
    questions_[correlation] = {
        .slot = slot, .at = now, .ids = {ids.begin(), ids.end()}, .messages = ids.size() + 1};
    return correlation;
}

std::size_t Questions::count_of(PeerSlot slot) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        questions_, [slot](const auto& item) { return item.second.slot == slot; }));
}

bool Questions::take(PeerSlot slot, const Envelope& envelope) {
    if (envelope.type != MessageType::blocks) return false;
    const auto at = questions_.find(envelope.correlation);
    if (at == questions_.end() || at->second.slot != slot) return false;
    at->second.bytes += envelope.length;
    if (at->second.bytes > kRangeBytesMax + carriage_of(MessageType::blocks).body_bytes_max) {
        questions_.erase(at);
        return false;
    }
    --at->second.messages;
    return true;
}

std::string_view Questions::check(const Envelope& envelope, const Blocks& blocks) {
    const auto at = questions_.find(envelope.correlation);
    if (at == questions_.end()) return {};
    Question& question = at->second;
    std::string_view fault;
    for (const chain::BlockPtr& block : blocks.blocks) {
        if (question.ids.erase(block->id) == 0) fault = "answers with a block not asked for";
        if (!named_by(*block).empty()) fault = "answers with a block that is not whole";
        if (!fault.empty()) break;
    }
    const bool is_last = (envelope.flags & kFlagLast) != 0 || question.messages == 0;
    if (is_last || !fault.empty()) questions_.erase(at);
    return fault;
}

void Questions::drop(base::Timestamp now) {
    std::erase_if(questions_,
                  [now](const auto& item) { return item.second.at + kAnswerPatience <= now; });
}

void Questions::forget(PeerSlot slot) {
    std::erase_if(questions_, [slot](const auto& item) { return item.second.slot == slot; });
}

}  // namespace p2p
