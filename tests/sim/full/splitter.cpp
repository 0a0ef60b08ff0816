#include "tests/sim/full/splitter.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace sim::full {

namespace {

constexpr std::uint64_t kSplitterSalt = 0xD6E8FEB86659FD93;
constexpr int kSeedsPercent = 60;  // Of those with one Byzantine validator of four, without twin.
constexpr std::size_t kValidators = 4;
constexpr std::size_t kEach = 2;  // A third would wait.

}  // namespace

bool Splitter::is_in(const World& world, std::uint64_t seed) {
    const bool is_alone = world.byzantine.size() == 1 && world.twins.empty();
    return is_alone && world.validators == kValidators &&
           Chance(seed ^ kSplitterSalt).percent(kSeedsPercent);
}

void Splitter::split(std::size_t machine, const chain::BlockPtr& block, Variants& variants) {
    const auto view = fleet_.view_of(machine);
    if (view == nullptr || !fleet_.has_healed()) return;
    std::vector<Fleet::End*> ends;
    for (auto& [id, end] : fleet_.ends()) {
        const bool is_open = !end.is_dead && fleet_.has_greeted(end);
        if (end.node == machine && is_open) ends.push_back(&end);
    }
    const std::size_t member = fleet_.world().member_of(machine);
    const auto made = variants.make(*block, member, *view, kEach * ends.size());
    if (made.empty() || made.size() < kEach * ends.size()) return;
    fleet_.note_variants(made);
    for (std::size_t i = 0; i < made.size(); ++i) {
        const auto bytes = p2p::pack_blocks({base::ByteView(chain::encode_block(*made[i]))}, {});
        fleet_.put_on_wire(*ends[i / kEach], bytes, base::Duration(0));
    }
    fleet_.note_split();
}

bool Splitter::keeps_back(const p2p::Envelope& envelope) const {
    using p2p::MessageType;
    if (!fleet_.has_healed()) return false;
    if (envelope.type == MessageType::blocks) return envelope.correlation == 0;
    return envelope.type == MessageType::header || envelope.type == MessageType::vote ||
           envelope.type == MessageType::certificate;
}

}  // namespace sim::full
