#include "tests/sim/files/disk_calls.hpp"

#include <cerrno>
#include <fcntl.h>
#include <utility>

namespace sim {

namespace {

int answer(DiskFiles::Outcome outcome, int result = 0) {
    switch (outcome) {
        case DiskFiles::Outcome::done:
            return result;
        case DiskFiles::Outcome::absent:
            errno = ENOENT;
            break;
        case DiskFiles::Outcome::exists:
            errno = EEXIST;
            break;
        case DiskFiles::Outcome::no_space:
            errno = ENOSPC;
            break;
        case DiskFiles::Outcome::broken:
            errno = EIO;
            break;
    }
    return -1;
}

DiskFiles::FileId id(int descriptor) {
    return static_cast<DiskFiles::FileId>(descriptor);
}

}  // namespace

int DiskCalls::open(const std::string& path, int flags, unsigned /*mode*/) {
    if ((flags & O_DIRECTORY) != 0) {
        bool is_directory = false;
        const DiskFiles::Outcome found = files_.exists(process_, path, is_directory);
        if (found != DiskFiles::Outcome::done) return answer(found);
        directories_.emplace(++last_directory_, path);
        return last_directory_;
    }
    DiskFiles::FileId file = 0;
    const auto opened =
        files_.open(process_,
                    path,
                    {.makes = (flags & O_CREAT) != 0, .truncates = (flags & O_TRUNC) != 0},
                    file);
    return answer(opened, static_cast<int>(file));
}

void DiskCalls::close(int descriptor) {
    if (directories_.erase(descriptor) == 0) files_.close(process_, id(descriptor));
}

::ssize_t DiskCalls::pwrite(int descriptor,
                            const void* bytes,
                            std::size_t size,
                            std::uint64_t offset) {
    const base::ByteView view(static_cast<const std::byte*>(bytes), size);
    const auto written = files_.write(process_, id(descriptor), offset, view);
    return answer(written) == 0 ? static_cast<::ssize_t>(size) : -1;
}

::ssize_t DiskCalls::pread(int descriptor, void* bytes, std::size_t size, std::uint64_t offset) {
    std::size_t got = 0;
    const auto read =
        files_.read(process_, id(descriptor), offset, {static_cast<std::byte*>(bytes), size}, got);
    return answer(read) == 0 ? static_cast<::ssize_t>(got) : -1;
}

std::int64_t DiskCalls::size(int descriptor) {
    std::uint64_t size = 0;
    const auto found = files_.size(process_, id(descriptor), size);
    return answer(found) == 0 ? static_cast<std::int64_t>(size) : -1;
}

int DiskCalls::fdatasync(int descriptor) {
    return answer(files_.sync(process_, id(descriptor)));
}

int DiskCalls::fsync(int descriptor) {
    const auto directory = directories_.find(descriptor);
    if (directory == directories_.end()) return fdatasync(descriptor);
    return answer(files_.sync_directory(process_, directory->second));
}

int DiskCalls::lock(int descriptor) {
    if (files_.lock(process_, id(descriptor))) return 0;
    errno = EWOULDBLOCK;
    return -1;
}

bool DiskCalls::exists(const std::string& path) {
    bool is_directory = false;
    return files_.exists(process_, path, is_directory) == DiskFiles::Outcome::done;
}

bool DiskCalls::is_directory(const std::string& path) {
    bool is_directory = false;
    const auto found = files_.exists(process_, path, is_directory);
    return found == DiskFiles::Outcome::done && is_directory;
}

int DiskCalls::rmdir(const std::string& path) {
    return answer(files_.remove(process_, path));
}

int DiskCalls::list(const std::string& path, std::vector<std::string>& names) {
    return answer(files_.list(process_, path, names));
}

std::int64_t DiskCalls::free_bytes(const std::string& /*path*/) {
    return static_cast<std::int64_t>(files_.free_bytes());
}

int DiskCalls::mkdir(const std::string& path, unsigned /*mode*/) {
    return answer(files_.make_directory(process_, path));
}

int DiskCalls::rename(const std::string& from, const std::string& to) {
    return answer(files_.rename(process_, from, to));
}

int DiskCalls::link(const std::string& from, const std::string& to) {
    return answer(files_.link(process_, from, to));
}

int DiskCalls::unlink(const std::string& path) {
    if (is_directory(path)) {
        errno = EISDIR;
        return -1;
    }
    return answer(files_.remove(process_, path));
}

}  // namespace sim
