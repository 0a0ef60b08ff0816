#include "node/snapshot_schedule.hpp"

#include "chain/types/exception.hpp"
#include "node/disk/file.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace node {

using base::Errc;
using base::fail;
using chain::Exception;

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{16} << 20U;  // More than all requests take.
constexpr std::size_t kDescriptionBytesMax = 1'024;

base::Result<std::uint32_t> number_in(const Json& json, std::string_view field) {
    const Json* value = chain::abi::find_member(json, field);
    if (value == nullptr) return fail(Errc::malformed, std::string(field) + " is missing");
    const auto number = chain::abi::as_bounded(*value, UINT32_MAX, field);
    if (!number) return fail(number.error());
    return static_cast<std::uint32_t>(*number);
}

base::Result<SnapshotRequest> request_from(const Json& json) {
    SnapshotRequest request;
    const auto read = [&](std::string_view field, std::uint32_t& value) -> base::Result<void> {
        const auto number = number_in(json, field);
        if (!number) return fail(number.error());
        value = *number;
        return {};
    };
    auto done = read("snapshot_request_id", request.id);
    if (done) done = read("block_spacing", request.spacing);
    if (done) done = read("start_block_num", request.start);
    if (done) done = read("end_block_num", request.end);
    if (!done) return fail(done.error());
    if (const Json* text = chain::abi::find_member(json, "snapshot_description")) {
        auto description = chain::abi::get_string(*text);
        if (!description) return fail(description.error());
        request.description = *std::move(description);
    }
    return request;
}

}  // namespace

bool SnapshotRequest::names(chain::Height height) const {
    if (height < start || height > end) return false;
    return spacing == 0 ? height == start : (height - start) % spacing == 0;
}

bool SnapshotRequest::asks_same(const SnapshotRequest& other) const {
    return spacing == other.spacing && start == other.start && end == other.end &&
           description == other.description;
}

Json to_json(const SnapshotRequest& request) {
    return {{"snapshot_request_id", request.id},
            {"block_spacing", request.spacing},
            {"start_block_num", request.start},
            {"end_block_num", request.end},
            {"snapshot_description", request.description}};
}

base::Result<std::unique_ptr<SnapshotSchedule>> SnapshotSchedule::open(
    const std::filesystem::path& file) {
    std::unique_ptr<SnapshotSchedule> schedule(new SnapshotSchedule(file));
    if (auto loaded = schedule->load(); !loaded) {
        return fail(Errc::corrupt,
                    file.string() + ": " + loaded.error().detail +
                        "; remove the file, then schedule snapshots anew");
    }
    return schedule;
}

base::Result<void> SnapshotSchedule::load() {
    const auto bytes = read_file(file_.string(), kFileBytesMax);
    if (!bytes && bytes.error().code == Errc::not_found) return {};
    if (!bytes) return fail(bytes.error());
    const auto json = chain::abi::parse_json(base::as_text(*bytes));
    if (!json) return fail(json.error());
    const auto next = number_in(*json, "next_id");
    if (!next) return fail(next.error());
    const Json* requests = chain::abi::find_member(*json, "requests");
    if (requests == nullptr || !requests->is_array()) {
        return fail(Errc::malformed, "requests are missing");
    }
    for (const Json& each : *requests) {
        auto request = request_from(each);
        if (!request) return fail(request.error());
        requests_.push_back(*std::move(request));
    }
    next_id_ = *next;
    return {};
}

base::Result<void> SnapshotSchedule::replace(std::vector<SnapshotRequest> requests,
                                             std::uint32_t next_id) {
    Json list = Json::array();
    for (const SnapshotRequest& each : requests)
        list.push_back(to_json(each));
    const Json json{{"next_id", next_id}, {"requests", std::move(list)}};
    const std::string text = chain::abi::dump_json(json, 2) + "\n";
    std::error_code error;
    std::filesystem::create_directories(file_.parent_path(), error);
    auto written = write_file_atomically(file_.string(), base::as_bytes(text), 0644);
    if (!written) return written;
    const std::scoped_lock lock(mutex_);
    requests_ = std::move(requests);
    next_id_ = next_id;
    return {};
}

base::Result<SnapshotRequest> SnapshotSchedule::add(SnapshotRequest request) {
    const std::scoped_lock lock(writing_);
    const bool is_known = std::ranges::any_of(
        requests_, [&](const SnapshotRequest& each) { return each.asks_same(request); });
    if (is_known) {
        return chain::fail(Exception::duplicate_snapshot_request, "Duplicate snapshot request");
    }
    const auto invalid = [](std::string text) {
        return chain::fail(Exception::invalid_snapshot_request, std::move(text));
    };
    if (request.start > request.end) {
        return invalid("End block number should be greater or equal to start block number");
    }
    if (request.spacing > request.end - request.start) {
        return invalid("Block spacing exceeds defined by start and end range");
    }
    if (request.description.size() > kDescriptionBytesMax) {
        return invalid("the description has " + std::to_string(request.description.size()) +
                       " bytes, at most " + std::to_string(kDescriptionBytesMax) +
                       " are kept; shorten it");
    }
    if (requests_.size() == kRequestsMax) {
        return invalid(std::to_string(kRequestsMax) +
                       " requests are scheduled, the most that are kept; unschedule some");
    }
    request.id = next_id_;
    std::vector<SnapshotRequest> all = requests_;
    all.push_back(request);
    if (auto done = replace(std::move(all), next_id_ + 1); !done) return fail(done.error());
    return request;
}

base::Result<SnapshotRequest> SnapshotSchedule::remove(std::uint32_t id) {
    const std::scoped_lock lock(writing_);
    std::vector<SnapshotRequest> left = requests_;
    const auto found = std::ranges::find(left, id, &SnapshotRequest::id);
    if (found == left.end()) {
        return chain::fail(Exception::snapshot_request_not_found, "Snapshot request not found");
    }
    SnapshotRequest removed = *found;
    left.erase(found);
    if (auto done = replace(std::move(left), next_id_); !done) return fail(done.error());
    return removed;
}

std::vector<SnapshotRequest> SnapshotSchedule::list() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
}

bool SnapshotSchedule::names(chain::Height height) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(requests_, [&](const auto& each) { return each.names(height); });
}

base::Result<std::vector<SnapshotRequest>> SnapshotSchedule::forget_before(chain::Height height) {
    const std::scoped_lock lock(writing_);
    std::vector<SnapshotRequest> left = requests_;
    const auto past = std::ranges::stable_partition(left, [&](const SnapshotRequest& each) {
        return each.spacing == 0 ? each.start >= height : each.end >= height;
    });
    std::vector<SnapshotRequest> gone(past.begin(), past.end());
    left.erase(past.begin(), past.end());
    if (gone.empty()) return gone;
    if (auto done = replace(std::move(left), next_id_); !done) return fail(done.error());
    return gone;
}

}  // namespace node
