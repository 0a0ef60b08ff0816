#include "node/bps/service/partition_list.hpp"

#include "base/crc32c.hpp"
#include "chain/types/codec.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace bps {

namespace {

constexpr chain::ListLimit kLogs{.count = 1'000'000};
constexpr std::size_t kFileBytesMax = 16U << 20U;
constexpr std::size_t kCrcBytes = 4;

struct Content {
    chain::ChainId chain;
    std::vector<std::uint64_t> logs;

    static void each_field(auto& self, auto&& visit) {
        visit(self.chain, chain::Limited{self.logs, kLogs});
    }
};

base::Result<Content> read_content(base::ByteView file) {
    if (file.size() < kCrcBytes) return base::fail(base::Errc::corrupt, "it is cut");
    const base::ByteView packed = file.first(file.size() - kCrcBytes);
    base::Writer crc;
    crc.u32(base::crc32c(packed));
    if (!base::equal(file.last(kCrcBytes), crc.view())) {
        return base::fail(base::Errc::corrupt, "its checksum is another");
    }
    return chain::unpack<Content>(packed, "partitions");
}

// "<topic id>-<partition>", as path_of() writes it.
std::optional<PartitionId> id_of(std::string_view name) {
    const std::size_t dash = name.find('-');
    if (dash == std::string_view::npos) return std::nullopt;
    PartitionId id;
    const auto reads = [](std::string_view digits, auto& value) {
        const char* const end = digits.data() + digits.size();
        const auto read = std::from_chars(digits.data(), end, value);
        return read.ec == std::errc() && read.ptr == end && fmt::to_string(value) == digits;
    };
    const bool is_id =
        reads(name.substr(0, dash), id.topic) && reads(name.substr(dash + 1), id.index);
    return is_id && id.index >= 0 ? std::optional(id) : std::nullopt;
}

}  // namespace

base::Result<PartitionList> PartitionList::open(std::string directory,
                                                const chain::ChainId& chain) {
    PartitionList list(std::move(directory), chain);
    const auto file = node::read_file(list.path(), kFileBytesMax);
    if (file) {
        if (auto read = list.read(*file); !read) return base::fail(read.error());
        return list;
    }
    if (file.error().code != base::Errc::not_found) return base::fail(file.error());
    const auto found = list.on_disk();
    if (!found) return base::fail(found.error());
    list.listed_.insert(found->begin(), found->end());
    list.is_changed_ = true;
    return list;
}

base::Result<void> PartitionList::read(base::ByteView file) {
    const auto content = read_content(file);
    if (!content) {
        return base::fail(base::Errc::corrupt,
                          fmt::format("{}: {}; once it is removed, a directory of a partition that "
                                      "is lost is made anew, empty",
                                      path(),
                                      content.error().detail));
    }
    if (content->chain != chain_) {
        return base::fail(base::Errc::invalid,
                          fmt::format("{} has records of the chain {}, this one is {}: choose "
                                      "another bps-data-dir, or move it away",
                                      directory_,
                                      base::to_hex(content->chain.bytes),
                                      base::to_hex(chain_.bytes)));
    }
    for (const std::uint64_t log : content->logs)
        listed_.insert(PartitionId::of(log));
    return {};
}

std::string PartitionList::path_of(PartitionId id) const {
    return fmt::format("{}/{}-{}", directory_, id.topic, id.index);
}

base::Result<void> PartitionList::check(PartitionId id) const {
    if (!has(id)) return {};
    const auto found = node::list_directory(path_of(id));
    if (found) return {};
    if (found.error().code != base::Errc::not_found) return base::fail(found.error());
    return base::fail(base::Errc::corrupt,
                      fmt::format("{} is gone, with its records: put it back; to go on without "
                                  "them, make it as an empty directory, and let its groups begin "
                                  "anew (bor-cli bps groups reset)",
                                  path_of(id)));
}

void PartitionList::add(PartitionId id) {
    if (listed_.insert(id).second) is_changed_ = true;
}

void PartitionList::remove(PartitionId id) {
    if (listed_.erase(id) > 0) is_changed_ = true;
}

base::Result<void> PartitionList::save() {
    if (!is_changed_) return {};
    Content content{.chain = chain_, .logs = {}};
    content.logs.reserve(listed_.size());
    for (const PartitionId id : listed_)
        content.logs.push_back(id.log());
    const base::Bytes packed = chain::pack(content);
    base::Writer file;
    file.raw(packed);
    file.u32(base::crc32c(packed));
    auto written = node::write_file_atomically(path(), file.view(), 0600);
    if (written) is_changed_ = false;
    return written;
}

base::Result<std::vector<PartitionId>> PartitionList::on_disk() const {
    const auto names = node::list_directory(directory_);
    if (!names) return base::fail(names.error());
    std::vector<PartitionId> found;
    for (const std::string& name : *names) {
        if (const auto id = id_of(name)) found.push_back(*id);
    }
    return found;
}

}  // namespace bps
