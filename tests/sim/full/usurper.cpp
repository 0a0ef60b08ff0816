#include "tests/sim/full/usurper.hpp"

#include "consensus/certificate.hpp"

#include <chrono>

namespace sim::full {

namespace {

constexpr std::uint64_t kUsurperSalt = 0x757375727065;
constexpr int kSeedsPercent = 20;
constexpr int kBlocksPercent = 40;  // Of its own.
constexpr int kDepth = 3;           // Blocks on top of each other.
constexpr chain::Slot kYears = chain::Slot{1} << 30U;

}  // namespace

bool Usurper::is_in(const World& world, std::uint64_t seed) {
    return !world.byzantine.empty() && Chance(seed ^ kUsurperSalt).percent(kSeedsPercent);
}

Usurper::Usurper(Fleet& fleet, std::uint64_t seed) : fleet_(fleet), dice_(seed ^ kUsurperSalt) {}

std::vector<p2p::SharedBytes> Usurper::make(std::size_t member, const chain::Block& block) {
    const chain::ChainId chain_id = fleet_.world().genesis.chain_id();
    const base::crypto::PrivateKey own = signing_key(member);
    const base::crypto::PrivateKey theirs = signing_key(member, 1);  // In the name of the other.
    const auto& members = fleet_.world().universe.members;
    const std::size_t other = (member + 1 + dice_.below(members.size() - 1)) % members.size();
    std::vector<p2p::SharedBytes> said;
    const auto send = [&](const chain::BlockHeader& header, const base::crypto::PrivateKey& key) {
        auto made = chain::make_block(
            {header, key.sign(header.signing_digest(chain_id))}, block.transactions, block.witness);
        fleet_.note_forged(made->id);
        said.push_back(p2p::pack_message(p2p::Blocks{{made}}));
        return made;
    };
    // The second of the slot: the next one waits.
    chain::BlockHeader header = block.header;
    header.state_digest.bytes[0] ^= std::byte{1};
    send(header, own);
    const auto entry = [](chain::Name name, const base::crypto::PrivateKey& key) {
        return chain::ScheduleEntry{name, key.public_key(), key.public_key()};
    };
    header.schedule_change = {header.schedule_version,
                              {entry(header.producer, own), entry(members[other].name, theirs)}};
    header.finalized.id.bytes.fill(std::byte{0xFF});
    chain::BlockPtr top;
    for (int depth = 0; depth < kDepth; ++depth) {
        top = send(header, own);
        header.schedule_change.reset();
        header.previous = top->id;
        ++header.height;
    }
    chain::VoteData data = consensus::vote_data(chain::VoteKind::notarize, *top);
    data.slot = kYears;
    const base::Hash256 digest = data.digest(chain_id);
    said.push_back(p2p::pack_message(
        chain::Certificate{data, {{std::byte{0b11}}}, {own.sign(digest), theirs.sign(digest)}}));
    header.producer = members[other].name;
    for (std::size_t slot = 1; slot <= members.size(); ++slot) {
        header.slot = block.header.slot + slot;
        for (const std::byte tag : {std::byte{1}, std::byte{2}}) {
            header.action_root.bytes[0] = tag;
            send(header, theirs);
        }
    }
    return said;
}

void Usurper::usurp(std::size_t machine, const chain::BlockPtr& block) {
    const std::size_t member = fleet_.world().member_of(machine);
    const bool is_its = fleet_.world().universe.members[member].name == block->header.producer;
    if (!is_its || !dice_.percent(kBlocksPercent)) return;
    ++usurpations_;
    for (const p2p::SharedBytes& bytes : make(member, *block)) {
        for (auto& [id, end] : fleet_.ends()) {
            const bool is_open = !end.is_dead && fleet_.has_greeted(end);
            if (end.node != machine || !is_open) continue;
            fleet_.put_on_wire(end, bytes, base::Duration(0));
        }
    }
}

}  // namespace sim::full
