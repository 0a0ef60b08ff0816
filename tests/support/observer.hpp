#pragma once

#include "node/core/range_proof.hpp"
#include "tests/support/cluster.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace support {

// A node that votes for nothing, hears blocks and ranges of a sync from one peer, and keeps what it
// answers.
class Observer : public Machine {
  public:
    explicit Observer(const genesis::Genesis& genesis) : Machine(genesis, key_of(99)) {
        to_peers = [this](const p2p::Input& said) {
            if (const auto* judged = std::get_if<p2p::input::Judged>(&said)) {
                answers.push_back(*judged);
            } else if (const auto* mend = std::get_if<p2p::input::MendBlocks>(&said)) {
                wanted = mend->ids;
            } else if (const auto* changed = std::get_if<p2p::input::LedgerChanged>(&said)) {
                ledger = *changed;
            } else if (const auto* read = std::get_if<p2p::input::BlocksRead>(&said)) {
                reads.push_back(*read);
            } else if (const auto* gone = std::get_if<p2p::input::Forgotten>(&said)) {
                forgotten.push_back(gone->id);
            }
        };
    }
    void start_at(chain::Slot slot) {
        set_time(this->genesis().times.time_of(slot).to_timestamp());
        start();
    }
    void give(p2p::Effect content) {
        step(node::input::FromPeers{std::move(content)});
        // A step executes a part of a range.
        for (int i = 0; i < 10; ++i)
            step(node::input::Tick{});
    }
    void give(const chain::BlockPtr& block) {
        give(p2p::effect::BlockArrived{kSender, block, true});
    }
    // The blocks that a node has from this height on, to that one.
    void give_from(base::Storage& storage, chain::Height from, chain::Height to) {
        const chain::BlockReader reader(storage);
        for (chain::Height height = from; height <= to; ++height)
            give(reader.at(height).value());
    }
    // The same as one range, up to what a proof says of the last, for who trusts this schedule.
    static p2p::effect::RangeArrived range(base::Storage& storage,
                                           chain::Height from,
                                           chain::Height to,
                                           std::uint32_t trusted) {
        const auto proof = node::prove_range(storage, from, to, trusted);
        REQUIRE(proof.has_value());
        REQUIRE(proof->height() == to);
        p2p::effect::RangeArrived range{kSender, {}, *proof};
        const chain::BlockReader reader(storage);
        for (chain::Height height = from; height <= to; ++height)
            range.blocks.push_back(reader.at(height).value());
        return range;
    }
    // Why something was bad, the first time; empty: nothing was.
    [[nodiscard]] std::string refusal() const {
        for (const p2p::input::Judged& answer : answers)
            if (answer.verdict == p2p::Verdict::bad) return answer.text;
        return "";
    }

    static inline const transport::ChannelId kSender{5};
    std::vector<p2p::input::Judged> answers;
    std::vector<chain::BlockId> wanted;
    std::vector<p2p::input::BlocksRead> reads;
    std::vector<chain::BlockId> forgotten;
    p2p::input::LedgerChanged ledger;
};

}  // namespace support
