#include "bench/broker/bare.hpp"

#include "base/crc32c.hpp"
#include "bench/broker/requests.hpp"
#include "bench/ledger/report.hpp"
#include "node/bps/core/batch.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace bench {

namespace {

// Of a batch; what stands before it, its CRC does not cover.
constexpr std::size_t kAttributesAt = 21;

int open_file(const std::string& file, int flags) {
    const int opened = ::open(file.c_str(), flags | O_CLOEXEC, 0600);
    if (opened < 0) give_up(file + ": " + std::strerror(errno));
    return opened;
}

void append(int file, base::ByteView bytes) {
    while (!bytes.empty()) {
        const auto written = ::write(file, bytes.data(), bytes.size());
        if (written <= 0) give_up(std::string("write: ") + std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

class Sink {
  public:
    explicit Sink(const std::string& file)
        : file_(open_file(file, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)) {}

    void serve(Wire& wire) {
        base::Bytes answers;
        while (wire.fill()) {
            answers.clear();
            while (const auto frame = wire.frame()) {
                const auto greeting = greeting_answer(*frame);
                const base::Bytes answer = greeting ? *greeting : take(read_produce(*frame));
                answers.insert(answers.end(), answer.begin(), answer.end());
            }
            if (answers.empty()) continue;
            if (::fdatasync(file_) != 0) give_up("fdatasync");
            wire.send(answers);
        }
    }

  private:
    base::Bytes take(const AskedFor& asked) {
        const auto header = bps::read_batch_header(asked.batch);
        if (!header || header->crc != base::crc32c(asked.batch.subspan(kAttributesAt))) {
            give_up("a batch that is damaged");
        }
        batch_.assign(asked.batch.begin(), asked.batch.end());
        bps::set_place(batch_, next_, 0);
        append(file_, batch_);
        next_ += header->records_count;
        return produce_answer(asked, next_ - header->records_count);
    }

    const int file_;
    std::int64_t next_ = 0;
    base::Bytes batch_;
};

class Source {
  public:
    explicit Source(const std::string& file) : file_(open_file(file, O_RDONLY)) {
        base::Bytes first(bps::kBatchHeaderBytes);
        struct stat state {};
        const bool is_read =
            ::pread(file_, first.data(), first.size(), 0) == static_cast<ssize_t>(first.size()) &&
            ::fstat(file_, &state) == 0;
        const auto header = bps::read_batch_header(first);
        if (!is_read || !header) give_up(file + " has no batch");
        batch_bytes_ = header->bytes();
        records_ = header->records_count;
        batches_ =
            static_cast<std::int64_t>(static_cast<std::size_t>(state.st_size) / batch_bytes_);
    }

    void serve(Wire& wire) const {
        while (wire.fill()) {
            while (const auto frame = wire.frame()) {
                if (const auto greeting = greeting_answer(*frame)) {
                    wire.send(*greeting);
                } else {
                    answer(wire, read_fetch(*frame));
                }
            }
        }
    }

  private:
    void answer(Wire& wire, const AskedFor& asked) const {
        const std::int64_t first = asked.wish.offset / records_;
        const auto wanted = static_cast<std::int64_t>(
            static_cast<std::size_t>(asked.wish.bytes_max) / batch_bytes_);
        const std::int64_t count =
            std::clamp(batches_ - first, std::int64_t{0}, std::max<std::int64_t>(wanted, 1));
        const std::size_t bytes = static_cast<std::size_t>(count) * batch_bytes_;
        wire.send(fetch_answer(asked, batches_ * records_, bytes));
        wire.send_file(file_, static_cast<std::uint64_t>(first) * batch_bytes_, bytes);
    }

    const int file_;
    std::size_t batch_bytes_ = 0;
    std::int64_t records_ = 0;  // Of a batch.
    std::int64_t batches_ = 0;
};

}  // namespace

void run_sink(std::uint16_t port, const Identity& identity, const std::string& file) {
    Sink sink(file);
    Wire::listen(port, identity, [&](Wire& wire) { sink.serve(wire); });
}

void run_source(std::uint16_t port, const Identity& identity, const std::string& file) {
    const Source source(file);
    Wire::listen(port, identity, [&](Wire& wire) { source.serve(wire); });
}

}  // namespace bench
