#include "node/bps/server/record_files.hpp"

#include <unistd.h>

namespace bps {

RecordFile::~RecordFile() {
    ::close(descriptor_);
}

}  // namespace bps
