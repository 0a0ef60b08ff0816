#pragma once

#include "base/pinned.hpp"
#include "base/result.hpp"
#include "node/logging.hpp"
#include "node/options.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace node {

// A whole node: storage, core, threads, interfaces. Built from the options, in order.
//
// Thread: that of main.
class Node : base::Pinned {
  public:
    // Opens what the data directory holds, or makes the first state. The log outlives the node.
    // The error says what to do. `is_stopped` is asked while a snapshot is loaded, which may take
    // long.
    [[nodiscard]] static base::Result<std::unique_ptr<Node>> open(
        const Options& options, Logging& log, const std::function<bool()>& is_stopped = {});
    ~Node();

    // Starts threads and serves. unavailable: an address cannot be served.
    base::Result<void> start();
    // Reads the files again that may change while it runs: p2p-access-file.
    void reload();
    // Lets answers under way finish, ends the threads, syncs the disk.
    void stop();
    // A state was made of a snapshot of peers: stop(), take it and open a node anew. SIGUSR1 to
    // this process says when to look.
    [[nodiscard]] bool has_new_state() const;
    // After stop(): the new state is the one that counts. An error leaves the old one.
    base::Result<void> take_new_state();

    // The addresses served, with their real ports.
    [[nodiscard]] std::vector<std::string> addresses() const;

  private:
    class Parts;
    explicit Node(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace node
