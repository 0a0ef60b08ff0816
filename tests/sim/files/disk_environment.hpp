#pragma once

#include "tests/sim/files/disk_files.hpp"

#include <memory>

namespace rocksdb {
class Env;
}

namespace sim {

// What RocksDB needs of the world, over the files of a machine, for one process of that machine.
// It has no log of its own and keeps no file of its options, which no restart reads: writing and
// checking that takes longer than all else that opening does. Its threads and the clock are the
// system's; what the threads do is in order, and can be waited for (`BackgroundJobs`).
[[nodiscard]] std::shared_ptr<rocksdb::Env> make_environment(DiskFiles& files);

}  // namespace sim
