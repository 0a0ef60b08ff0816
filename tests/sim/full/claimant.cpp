#include "tests/sim/full/claimant.hpp"

#include "tests/sim/full/flooder.hpp"

#include <variant>

namespace sim::full {

namespace {
constexpr std::uint64_t kClaimantSalt = 0x636C61696D;
constexpr std::uint64_t kHeightSalt = 0x686569676874;
constexpr int kSeedsPercent = 10;
constexpr int kSeedsOfTwoPercent = 75;  // Two are believed by who joins.
constexpr chain::Height kNear = 60;
constexpr chain::Height kFar = 1'000'000;

}  // namespace

bool Claimant::is_in(const World& world, std::uint64_t seed) {
    const bool are_two = world.byzantine.size() > 1;
    return Chance(seed ^ kClaimantSalt).percent(are_two ? kSeedsOfTwoPercent : kSeedsPercent);
}

Claimant::Claimant(std::uint64_t seed) {
    Chance dice(seed ^ kHeightSalt);
    claimed_.height = dice.percent(50) ? kFar : static_cast<chain::Height>(dice.between(2, kNear));
    claimed_.id = random_id(dice, claimed_.height);
}

p2p::SharedBytes Claimant::falsify(const p2p::SharedBytes& bytes) {
    const auto envelope = p2p::read_envelope(*bytes);
    const bool says_where_it_stands = envelope && (envelope->type == p2p::MessageType::hello ||
                                                   envelope->type == p2p::MessageType::notice);
    if (!says_where_it_stands) return bytes;
    const auto body = p2p::read_body(*envelope, *bytes);
    if (!body) return bytes;
    const auto claim = [&](auto said) {
        if (said.finalized.height >= claimed_.height) return bytes;
        said.finalized = claimed_;
        if (said.head.height < claimed_.height) said.head = claimed_;
        ++claims_;
        return p2p::pack_message(said,
                                 {.correlation = envelope->correlation, .flags = envelope->flags});
    };
    if (const auto* hello = std::get_if<p2p::Hello>(&*body)) return claim(*hello);
    return claim(std::get<p2p::Notice>(*body));
}

}  // namespace sim::full
