#include "tests/sim/full/claimant.hpp"

#include <utility>
#include <variant>

namespace sim::full {

namespace {
constexpr std::uint64_t kSalt = 0x636C61696D;
constexpr std::uint64_t kHeightSalt = 0x686569676874;
constexpr int kSeedsPercent = 10;
constexpr int kSeedsOfTwoPercent = 75;  // Two are believed by who joins.
constexpr chain::Height kNear = 60;
constexpr chain::Height kFar = 1'000'000;

// Whether it claimed more than there is.
bool claim(const p2p::BlockPoint& claimed, p2p::BlockPoint& finalized, p2p::BlockPoint& head) {
    if (finalized.height >= claimed.height) return false;
    finalized = claimed;
    if (head.height < claimed.height) head = claimed;
    return true;
}
}  // namespace

bool Claimant::is_in(const World& world, std::uint64_t seed) {
    const bool are_two = world.byzantine.size() > 1;
    return Chance(seed ^ kSalt).percent(are_two ? kSeedsOfTwoPercent : kSeedsPercent);
}

Claimant::Claimant(std::uint64_t seed) {
    Chance dice(seed ^ kHeightSalt);
    claimed_.height = dice.percent(50) ? kFar : static_cast<chain::Height>(dice.between(2, kNear));
    for (std::byte& each : claimed_.id.bytes)
        each = static_cast<std::byte>(dice.below(256));
    // An id begins with the height of its block.
    for (std::size_t i = 0; i < 4; ++i)
        claimed_.id.bytes[i] = static_cast<std::byte>(claimed_.height >> (24 - 8 * i) & 0xFFU);
}

p2p::SharedBytes Claimant::falsify(const p2p::SharedBytes& bytes) {
    const auto envelope = p2p::read_envelope(*bytes);
    const bool says_where_it_stands = envelope && (envelope->type == p2p::MessageType::hello ||
                                                   envelope->type == p2p::MessageType::notice);
    if (!says_where_it_stands) return bytes;
    auto body = p2p::read_body(*envelope, *bytes);
    if (!body) return bytes;
    const p2p::Mark as{.correlation = envelope->correlation, .flags = envelope->flags};
    if (auto* hello = std::get_if<p2p::Hello>(&*body)) {
        if (!claim(claimed_, hello->finalized, hello->head)) return bytes;
        ++claims_;
        return p2p::pack_message(*hello, as);
    }
    auto& notice = std::get<p2p::Notice>(*body);
    if (!claim(claimed_, notice.finalized, notice.head)) return bytes;
    ++claims_;
    return p2p::pack_message(notice, as);
}

}  // namespace sim::full
