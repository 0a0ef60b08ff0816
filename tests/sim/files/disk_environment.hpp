#pragma once

#include "tests/sim/files/disk_files.hpp"

#include <memory>

namespace rocksdb {
class Env;
}

namespace sim {

// What RocksDB needs of the world, over the files of a machine, for one process of that machine.
// It has no log of its own and keeps no file of its options, which no restart reads: writing and
// checking that takes longer than all else that opening does. Threads and clock are the system's.
[[nodiscard]] std::shared_ptr<rocksdb::Env> make_environment(DiskFiles& files);

}  // namespace sim
