#pragma once

#include "base/bytes.hpp"
#include "base/crypto/keys.hpp"
#include "base/log.hpp"
#include "base/pinned.hpp"
#include "base/result.hpp"
#include "chain/types/name.hpp"
#include "node/bps/core/directory.hpp"
#include "node/bps/core/rows.hpp"
#include "node/disk/file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bps {

// The start of this broker (spec 08, `regbroker`): it draws a start id, writes it into the log
// directory, then asks the contract to take it; it acts while the final row has it.
//
// In the directory: `log-id` (the directory's inode and 16 random bytes: a copy of the directory is
// another one), `lock`, held while this lives, and `starts`: the start ids from that of the last
// final row on, at most 16. The contract takes the directory for the one of the last start only if
// that one's id is among them. Thread: that of the broker.
class BrokerStart : base::Pinned {
  public:
    struct Settings {
        std::string directory;
        std::int32_t broker = 0;
        chain::Name account;
        base::crypto::PublicKey node_key;
        std::vector<rows::Listener> listeners;
    };
    // What is to be done after the rows of a final block.
    struct Step {
        std::optional<base::Bytes> regbroker;  // Packed arguments of the action, to be pushed.
        bool has_started = false;              // From this block on the row has our start.
        bool has_ended = false;                // Another start has taken our place.
    };

    // Makes or reads the directory. unavailable: the disk, or another process has the directory.
    [[nodiscard]] static base::Result<std::unique_ptr<BrokerStart>> open(Settings settings,
                                                                         base::Log log);

    // `now`: milliseconds since 1970. unavailable: the disk; asked again with the next block.
    [[nodiscard]] base::Result<Step> on_final(std::int64_t now, const Directory& rows);
    // The contract refused the start, or no block had it.
    void on_refused(std::int64_t now, const std::string& reason);
    // Of the start that the row has; nothing: it has none of ours.
    [[nodiscard]] std::optional<std::uint32_t> boot() const;
    // Why there is none, as it was logged; empty: nothing is known to be wrong.
    [[nodiscard]] const std::string& trouble() const { return complaint_; }

  private:
    using Id = base::Hash<16>;
    enum class State : std::uint8_t { waiting, asked, started, ended };

    BrokerStart(Settings settings, base::Log log) : settings_(std::move(settings)), log_(log) {}

    base::Result<void> take_directory();
    base::Result<void> read_log_id();
    base::Result<void> read_starts();
    // `last`: that of the final row.
    base::Result<void> draw_start_id(const Id& last);
    void end(Step& step);
    void complain(std::string text);

    const Settings settings_;
    base::Log log_;
    node::File lock_;
    Id log_id_;
    std::vector<Id> earlier_;     // The oldest first.
    std::optional<Id> start_id_;  // Drawn once: what was refused is asked for with the same.
    std::uint32_t boot_ = 0;
    State state_ = State::waiting;
    std::int64_t not_before_ = 0;
    std::string complaint_;  // Said last; empty once it has started.
};

}  // namespace bps
