#pragma once

#include "base/crypto/keys.hpp"
#include "base/time.hpp"

#include <map>
#include <optional>

namespace consensus {

// What the clocks of validators show: each what it said last, and what has passed here since
// (spec 04, "Finality"). One that was not heard since the start shows nothing.
//
// `now` is the caller's time, which goes on evenly whatever clock is set. Pure. Bounded by
// forget_others().
class Clocks {
  public:
    void hear(const base::crypto::PublicKey& key, base::Timestamp shown, base::Timestamp now) {
        heard_[key] = {shown, now};
    }
    [[nodiscard]] std::optional<base::Timestamp> shown_by(const base::crypto::PublicKey& key,
                                                          base::Timestamp now) const {
        const auto found = heard_.find(key);
        if (found == heard_.end()) return std::nullopt;
        return found->second.shown + (now - found->second.at);
    }
    // Forgets the keys for which `keep` is false.
    template <class Keep>
    void forget_others(Keep keep) {
        std::erase_if(heard_, [&](const auto& each) { return !keep(each.first); });
    }

  private:
    struct Heard {
        base::Timestamp shown;
        base::Timestamp at;
    };
    std::map<base::crypto::PublicKey, Heard> heard_;  // By vote key.
};

}  // namespace consensus
