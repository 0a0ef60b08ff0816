#pragma once

namespace node {

// Gives memory back to the system that malloc keeps for later, where that is over 128 MiB: what a
// flood took does not stay (spec 10). It takes about 0.1 ms for each MiB, in which others that
// allocate may wait: for a thread that has time, now and then.
void give_back_free_memory();

}  // namespace node
