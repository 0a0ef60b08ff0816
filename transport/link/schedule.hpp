#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace transport::link {

class Schedule;

// What a schedule runs.
class Scheduled {
  public:
    virtual ~Scheduled() = default;

    virtual void run() = 0;
    // Before sleeping. False: something has come already.
    [[nodiscard]] virtual bool arm() = 0;

  private:
    friend class Schedule;
    bool is_ready_ = false;
    bool is_unarmed_ = false;
    std::optional<base::Timestamp> due_;
};

// Which of a kind's paths want a look, which have to be armed before their thread sleeps, and
// which want a look later: what idle paths cost is nothing. Forgets no one before remove().
//
// Thread: one.
class Schedule : base::Pinned {
  public:
    void mark_ready(Scheduled& path);
    void mark_unarmed(Scheduled& path);
    // Runs it then, once; replaces an earlier wish.
    void run_at(Scheduled& path, base::Timestamp due);
    [[nodiscard]] static bool is_waiting(const Scheduled& path) { return path.due_.has_value(); }
    void remove(Scheduled& path);

    // Runs who is ready or due, each once, `budget` at most; returns how many.
    std::size_t run(base::Timestamp now, std::size_t budget);
    // False: somebody is ready.
    [[nodiscard]] bool arm();
    [[nodiscard]] std::optional<base::Timestamp> wake_at() const;

  private:
    std::vector<Scheduled*> ready_;  // Null: removed.
    std::vector<Scheduled*> unarmed_;
    std::vector<Scheduled*> arming_;  // Was unarmed_.
    std::vector<Scheduled*> waiting_;
};

}  // namespace transport::link
