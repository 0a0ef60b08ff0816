#pragma once

#include "base/rng.hpp"
#include "base/time.hpp"
#include "p2p/network.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace p2p {

// Keeps connections to configured addresses: tries again after 0.5 s, then twice as long each
// time, with some jitter; up to 4 s, or 15 s where there was a reason that stays.
class Dialer {
  public:
    explicit Dialer(std::uint64_t seed) : rng_(seed) {}

    void add(const std::string& address, std::optional<PublicKey> pinned);
    void remove(const std::string& address) { entries_.erase(address); }
    [[nodiscard]] bool has(const std::string& address) const { return entries_.contains(address); }
    // The key that an address must show; absent: any.
    [[nodiscard]] std::optional<PublicKey> pinned(const std::string& address) const;

    // A channel to `address` is up and showed `key`; its conversation may still fail.
    void on_up(const std::string& address, const PublicKey& key);
    void on_ready(const std::string& address);
    struct Failure {
        bool stays = false;  // Trying again soon is of no use.
        std::string text;
    };
    void on_failed(base::Timestamp now, const std::string& address, const Failure& failure);
    // Who may connect has changed: what was refused before may be taken now.
    void try_again();
    // A node is ready, be it that it came to us: what its address answered before is history.
    void on_ready(const PublicKey& key);

    // Appends Connect for what is due; not for nodes that are connected already.
    void dial(base::Timestamp now,
              const std::function<bool(const PublicKey&)>& is_connected,
              Effects& out);
    [[nodiscard]] std::vector<DialStatus> status() const;

  private:
    enum class Stage : std::uint8_t { idle, dialling, up };
    struct Entry {
        std::optional<PublicKey> pinned;
        std::optional<PublicKey> key;  // Shown at the last connection.
        Stage stage = Stage::idle;
        std::uint32_t failures = 0;
        base::Timestamp next_try{};  // When dialling: when to give up.
        std::string last_error;
    };

    base::Rng rng_;
    std::map<std::string, Entry> entries_;
};

}  // namespace p2p
