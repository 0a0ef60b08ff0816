#include "node/bps/service/broker_start.hpp"

#include "base/crypto/wipe.hpp"
#include "chain/types/codec.hpp"
#include "node/bps/core/actions.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fcntl.h>
#include <memory>

namespace bps {

namespace {

constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kStartsMax = 16;  // As the contract takes.
constexpr std::int64_t kRetryMs = 10'000;

base::Result<std::uint64_t> inode_of(const std::string& directory) {
    struct stat found {};
    if (::stat(directory.c_str(), &found) != 0) {
        return base::fail(base::Errc::unavailable, directory + " cannot be looked at");
    }
    return static_cast<std::uint64_t>(found.st_ino);
}

}  // namespace

base::Result<std::unique_ptr<BrokerStart>> BrokerStart::open(Settings settings, base::Log log) {
    std::unique_ptr<BrokerStart> start(new BrokerStart(std::move(settings), log));
    if (auto taken = start->take_directory(); !taken) return base::fail(taken.error());
    if (auto read = start->read_log_id(); !read) return base::fail(read.error());
    if (auto read = start->read_starts(); !read) return base::fail(read.error());
    return start;
}

// Two brokers that write into the same logs would destroy them.
base::Result<void> BrokerStart::take_directory() {
    const std::string& directory = settings_.directory;
    if (auto made = node::make_directories(directory); !made) return made;
    auto lock = node::File::open(directory + "/lock", O_RDWR | O_CREAT);
    if (!lock) return base::fail(lock.error());
    if (auto held = lock->lock(); !held) {
        return base::fail(held.error().code,
                          directory +
                              " is another process's: stop that broker, or choose another "
                              "bps-data-dir");
    }
    lock_ = *std::move(lock);
    return {};
}

// The id is bound to the inode: what was copied or restored is another directory, whose records may
// be fewer than those that were acknowledged.
base::Result<void> BrokerStart::read_log_id() {
    const std::string& directory = settings_.directory;
    const auto inode = inode_of(directory);
    if (!inode) return base::fail(inode.error());
    const std::string path = directory + "/log-id";
    base::Writer mark;
    mark.u64(*inode);
    auto known = node::read_file(path, 64);
    if (!known && known.error().code != base::Errc::not_found) return base::fail(known.error());
    const bool is_ours = known && known->size() == mark.view().size() + kIdBytes &&
                         base::equal(base::ByteView(*known).first(mark.view().size()), mark.view());
    if (is_ours) {
        std::copy_n(known->end() - kIdBytes, kIdBytes, log_id_.bytes.begin());
    } else {
        base::crypto::random_bytes(log_id_.bytes);
        mark.hash(log_id_);
        if (auto wrote = node::write_file_atomically(path, mark.view(), 0600); !wrote) return wrote;
        if (known) {
            log_.warn(
                "{} is another directory than the one of the last start: this broker is out "
                "of every ISR until it has caught up",
                directory);
        }
    }
    return {};
}

base::Result<void> BrokerStart::read_starts() {
    auto starts = node::read_file(settings_.directory + "/starts", kIdBytes * kStartsMax);
    if (!starts && starts.error().code != base::Errc::not_found) return base::fail(starts.error());
    for (std::size_t at = 0; starts && at + kIdBytes <= starts->size(); at += kIdBytes) {
        std::copy_n(starts->begin() + static_cast<std::ptrdiff_t>(at),
                    kIdBytes,
                    earlier_.emplace_back().bytes.begin());
    }
    return {};
}

base::Result<void> BrokerStart::draw_start_id(const Id& last) {
    if (start_id_) return {};
    const auto seen = std::ranges::find(earlier_, last);
    if (seen != earlier_.end()) earlier_.erase(earlier_.begin(), seen);
    // Starts that never became final fill it: the first of all is the one that counts.
    if (earlier_.size() >= kStartsMax) earlier_.erase(earlier_.begin() + 1);
    Id drawn;
    base::crypto::random_bytes(drawn.bytes);
    base::Bytes bytes;
    for (const Id& each : earlier_)
        bytes.insert(bytes.end(), each.bytes.begin(), each.bytes.end());
    bytes.insert(bytes.end(), drawn.bytes.begin(), drawn.bytes.end());
    auto written = node::write_file_atomically(settings_.directory + "/starts", bytes, 0600);
    if (written) start_id_ = drawn;
    return written;
}

void BrokerStart::complain(std::string text) {
    if (text == complaint_) return;
    complaint_ = std::move(text);
    log_.warn("{}", complaint_);
}

base::Result<BrokerStart::Step> BrokerStart::on_final(std::int64_t now, const Directory& rows) {
    Step step;
    const rows::Broker* row = rows.find_broker(settings_.broker);
    if (row == nullptr || row->account != settings_.account) {
        if (state_ == State::started) end(step);
        complain(
            fmt::format("broker {} is not {}'s on the chain: the contract's account types "
                        "'bor-cli bps broker add {} {}'",
                        settings_.broker,
                        settings_.account.to_string(),
                        settings_.broker,
                        settings_.account.to_string()));
        return step;
    }
    if (state_ == State::started && row->start_id != start_id_) {
        end(step);
        complain(fmt::format("broker {} was started elsewhere: this one serves nobody any more",
                             settings_.broker));
    }
    if (state_ == State::asked && row->start_id == start_id_) {
        state_ = State::started;
        step.has_started = true;
        complaint_.clear();
        log_.info("broker {} has started, boot {}", settings_.broker, boot_);
    }
    if (state_ != State::waiting || now < not_before_) return step;
    if (auto drawn = draw_start_id(row->start_id); !drawn) return base::fail(drawn.error());
    boot_ = row->boot + 1;
    state_ = State::asked;
    step.regbroker = chain::pack(actions::RegBroker{.broker = settings_.broker,
                                                    .boot = boot_,
                                                    .start_id = *start_id_,
                                                    .earlier = earlier_,
                                                    .log_id = log_id_,
                                                    .node_key = settings_.node_key,
                                                    .listeners = settings_.listeners});
    return step;
}

void BrokerStart::end(Step& step) {
    state_ = State::ended;
    step.has_ended = true;
}

void BrokerStart::on_refused(std::int64_t now, const std::string& reason) {
    complain("the start of this broker was refused: " + reason);
    state_ = State::waiting;
    not_before_ = now + kRetryMs;
}

std::optional<std::uint32_t> BrokerStart::boot() const {
    return state_ == State::started ? std::optional(boot_) : std::nullopt;
}

}  // namespace bps
