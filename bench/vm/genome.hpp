#pragma once

#include "base/rng.hpp"

#include <string>
#include <vector>

namespace vm_bench {

// A module as the hunt changes it: statements of a loop, each repeated, and what is around them.
class Genome {
  public:
    // Some statements by chance.
    explicit Genome(base::Rng& rng);

    // One to three changes of: a statement's text, its place, how often it stands there, another
    // in its place, the memory's size, what fills it, the locals' first values, their number.
    void mutate(base::Rng& rng);
    [[nodiscard]] std::string text() const;

  private:
    struct Statement {
        std::string text;
        unsigned times = 1;
    };
    void change(base::Rng& rng);
    [[nodiscard]] Statement& any(base::Rng& rng);

    std::vector<Statement> statements_;
    unsigned pages_ = 1;
    unsigned ring_bytes_ = 0;  // Of pointers in the memory; 0: zeros.
    unsigned ring_offset_ = 0;
    unsigned callee_locals_ = 0;
    unsigned callee_parameters_ = 0;
    std::string f_ = "1.5";
    std::string h_ = "0.75";
};

}  // namespace vm_bench
