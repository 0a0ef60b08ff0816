#pragma once

#include "base/pinned.hpp"
#include "base/time.hpp"

namespace node {

// How long runs of transactions take on this machine, and how one is ended (spec 03, "Wall clock
// is never consensus"). The seam of the core to a timer and a stopwatch: node/run_timer implements
// it with a thread, the simulator with numbers.
//
// Nothing of it reaches a block: it decides only what this node runs, and for how long.
// Thread: one, that of the runs.
class RunTimer : base::Pinned {
  public:
    virtual ~RunTimer() = default;

    // A run begins: `limit` from now on it is stopped, as by vm::Machine::stop(). A limit of zero
    // or less stops it at once.
    virtual void arm(base::Duration limit) = 0;
    // Since arm() the limit has passed: the run ends, or has ended, by it.
    [[nodiscard]] virtual bool has_fired() const = 0;
    // The run is over. Afterwards no stop comes any more, and the machine can run again.
    virtual void disarm() = 0;
    // A stopwatch that only moves forward, from any start.
    [[nodiscard]] virtual base::Duration reading() const = 0;
    // Another, of the time that the calling thread had a processor: it stands while others have it.
    [[nodiscard]] virtual base::Duration worked() const = 0;
};

// No run is limited or measured: for whoever executes only what others have let through.
class NoRunTimer final : public RunTimer {
  public:
    void arm(base::Duration /*limit*/) override {}
    [[nodiscard]] bool has_fired() const override { return false; }
    void disarm() override {}
    [[nodiscard]] base::Duration reading() const override { return {}; }
    [[nodiscard]] base::Duration worked() const override { return {}; }
};

}  // namespace node
