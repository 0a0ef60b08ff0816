#include "node/bps/service/broker_start.hpp"

#include "base/crypto/wipe.hpp"
#include "chain/types/codec.hpp"
#include "node/bps/core/actions.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sys/stat.h>

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
    if (auto read = start->read_directory(); !read) return base::fail(read.error());
    return start;
}

// The id is bound to the inode: what was copied or restored is another directory, whose records may
// be fewer than those that were acknowledged.
base::Result<void> BrokerStart::read_directory() {
    const std::string& directory = settings_.directory;
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) {
        return base::fail(base::Errc::unavailable,
                          fmt::format("{} cannot be made: {}", directory, error.message()));
    }
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
        mark.bytes(log_id_.view());
        if (auto wrote = node::write_file_atomically(path, mark.view(), 0600); !wrote) return wrote;
        if (known) {
            log_.warn("{} is another directory than the one of the last start: this broker is out "
                      "of every ISR until it has caught up",
                      directory);
        }
    }
    auto starts = node::read_file(directory + "/starts", kIdBytes * kStartsMax);
    if (!starts && starts.error().code != base::Errc::not_found) return base::fail(starts.error());
    for (std::size_t at = 0; starts && at + kIdBytes <= starts->size(); at += kIdBytes) {
        std::copy_n(starts->begin() + static_cast<std::ptrdiff_t>(at),
                    kIdBytes,
                    earlier_.emplace_back().bytes.begin());
    }
    return {};
}

base::Result<void> BrokerStart::draw_start_id() {
    base::crypto::random_bytes(start_id_.bytes);
    std::vector<Id> kept = earlier_;
    if (kept.size() == kStartsMax) kept.erase(kept.begin());
    kept.push_back(start_id_);
    base::Bytes bytes;
    for (const Id& each : kept)
        bytes.insert(bytes.end(), each.bytes.begin(), each.bytes.end());
    return node::write_file_atomically(settings_.directory + "/starts", bytes, 0600);
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
        complain(fmt::format("broker {} is not {}'s on the chain: the contract's account types "
                             "'bor-cli bps broker add {} {}'",
                             settings_.broker,
                             settings_.account.to_string(),
                             settings_.broker,
                             settings_.account.to_string()));
        return step;
    }
    if (state_ == State::started && row->start_id != start_id_) {
        state_ = State::ended;
        step.has_ended = true;
        complain(fmt::format("broker {} was started elsewhere: this one serves nobody any more",
                             settings_.broker));
    }
    if (state_ == State::asked && row->start_id == start_id_) {
        state_ = State::started;
        step.has_started = true;
        log_.info("broker {} has started, boot {}", settings_.broker, boot_);
    }
    if (state_ != State::waiting || now < not_before_) return step;
    if (auto drawn = draw_start_id(); !drawn) return base::fail(drawn.error());
    boot_ = row->boot + 1;
    state_ = State::asked;
    step.regbroker = chain::pack(actions::RegBroker{.broker = settings_.broker,
                                                    .boot = boot_,
                                                    .start_id = start_id_,
                                                    .earlier = earlier_,
                                                    .log_id = log_id_,
                                                    .node_key = settings_.node_key,
                                                    .listeners = settings_.listeners});
    return step;
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
