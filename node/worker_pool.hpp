#pragma once

#include "base/crypto/keys.hpp"
#include "base/pinned.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace node {

// As `top -H` and profilers show it; at most 15 letters.
void name_this_thread(const char* name);

// Threads that run jobs in the order they were posted, the urgent ones before the others. What
// peers give us to do comes after both, of each peer in turn: nobody waits for one who sends much.
//
// Thread: any may post. Jobs do not throw. stop() runs what is queued, then joins.
class WorkerPool : base::Pinned {
  public:
    explicit WorkerPool(unsigned threads);
    ~WorkerPool();

    void post(std::function<void()> job);
    // Blocks must not stand behind transactions, nor behind blocks that came later.
    void post_urgent(std::function<void()> job);
    // Runs when no other waits, and once after kRunsBefore others: those must not keep peers out.
    void post_of_peer(const base::crypto::PublicKey& peer, std::function<void()> job);
    [[nodiscard]] std::size_t queued() const;
    void stop();

  private:
    using Jobs = std::deque<std::function<void()>>;
    static constexpr unsigned kRunsBefore = 4;

    void post(Jobs& jobs, std::function<void()> job);
    [[nodiscard]] bool is_any() const {
        return !urgent_.empty() || !jobs_.empty() || !turns_.empty();
    }
    // The next job; there is one. All under the lock.
    [[nodiscard]] std::function<void()> take();
    [[nodiscard]] std::function<void()> take_of_peer();
    [[nodiscard]] static std::function<void()> take_first(Jobs& jobs);
    void run();

    mutable std::mutex mutex_;
    std::condition_variable ready_;
    Jobs urgent_;
    Jobs jobs_;
    std::map<base::crypto::PublicKey, Jobs> of_peers_;  // None of these is empty.
    std::deque<base::crypto::PublicKey> turns_;         // Of those peers.
    std::size_t of_peers_waiting_ = 0;
    unsigned runs_before_ = 0;  // Of `jobs_` since the last job of a peer.
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace node
