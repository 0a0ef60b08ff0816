#pragma once

#include "base/queue.hpp"
#include "node/core/core.hpp"

#include <memory>
#include <optional>
#include <variant>

namespace node {

// A Core in conversation with peers: what each of the two asks of the other is carried out
// here, the rest goes to the runtime. Without p2p::Options it is a Core alone.
//
// Pure, as its parts are. Thread: one owner calls step().
class NetworkedCore : base::Pinned {
  public:
    // `signer` outlives this. `first` are the effects of Core::open().
    NetworkedCore(std::unique_ptr<Core> core,
                  std::optional<p2p::Options> options,
                  Signer& signer,
                  base::Log log);

    // Carries out the effects of Core::open(); the rest is appended to `out`.
    void begin(base::Timestamp now, Effects first, Effects& out);
    // For the ledger; a Tick is for both.
    void step(base::Timestamp now, const Input& input, Effects& out);
    // For the conversation: what the transport reports, what operators ask, what was read.
    // ChannelUp needs no statements: they are made here.
    void step(base::Timestamp now, p2p::Input input, Effects& out);

  private:
    using Work = std::variant<Input, p2p::Input>;

    void work_off(base::Timestamp now, Effects& out);
    void sort(Effects& asked, Effects& out);
    void sort(p2p::Effects& asked, Effects& out);
    // Once a second, and soon after somebody came or went.
    void publish_status(base::Timestamp now, Effects& out);
    [[nodiscard]] std::vector<p2p::VoteKeyStatement> statements(const base::Hash256& exporter);

    std::unique_ptr<Core> core_;
    std::optional<p2p::Options> options_;
    std::unique_ptr<p2p::Network> network_;
    Signer& signer_;
    base::Log log_;
    chain::Slot start_slot_ = 0;
    base::Timestamp published_at_{};
    bool is_news_ = false;  // Somebody came or went since.
    // What one step leads to, in order, and what each piece of it asks for; empty between steps.
    // Their memory is kept: votes come often.
    base::Queue<Work> work_;
    Effects asked_;
    p2p::Effects said_;
};

}  // namespace node
