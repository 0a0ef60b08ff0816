#pragma once

#include "base/pinned.hpp"

namespace cli {

// Interrupts (Ctrl-C) and SIGTERM, taken as a question instead of an end; a second one ends the
// program. To be made before a client, whose threads inherit what is blocked.
class Interrupts : base::Pinned {
  public:
    Interrupts();
    ~Interrupts();

    // Readable once one came.
    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] bool came();

  private:
    void give_back();

    int descriptor_ = -1;
    bool came_ = false;
};

}  // namespace cli
