#pragma once

#include "node/bps/core/log_files.hpp"
#include "tests/sim/files/disk_files.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kills {

// A log's directory on the simulated disk, with the calls in the order in which DiskLogFiles makes
// them: what replaces a file is written beside it, synced, renamed, and the directory synced.
class LogDirectory final : public bps::LogFiles {
  public:
    using Outcome = sim::DiskFiles::Outcome;

    LogDirectory(sim::DiskFiles& disk, std::string path)
        : disk_(disk), process_(disk.process()), path_(std::move(path)) {}

    // What a process left is made durable as it is found.
    base::Result<void> take_over() {
        if (!is_there() && !works(disk_.make_directory(process_, path_))) return broken();
        if (!works(disk_.sync_directory(process_, disk_.root()))) return broken();
        std::vector<std::string> names;
        if (!works(disk_.list(process_, path_, names))) return broken();
        for (const std::string& name : names) {
            const bool is_unfinished = name.ends_with(kUnfinished);
            if (is_unfinished && !works(disk_.remove(process_, of(name)))) return broken();
            if (!is_unfinished && !sync_file(of(name))) return broken();
        }
        return works(disk_.sync_directory(process_, path_)) ? base::Result<void>() : broken();
    }
    // Nothing that it does reaches the disk any more.
    [[nodiscard]] bool is_cut_off() const { return is_cut_off_; }
    // False: the process ended first.
    bool sync(const std::vector<std::string>& names) {
        for (const std::string& name : names) {
            if (!sync_file(of(name))) return false;
        }
        return true;
    }

    [[nodiscard]] base::Result<std::vector<File>> list() const override {
        std::vector<std::string> names;
        if (!works(disk_.list(process_, path_, names))) return broken();
        std::vector<File> found;
        for (const std::string& name : names) {
            const Opened file(*this, of(name), {});
            std::uint64_t bytes = 0;
            if (!file.is_open || !works(disk_.size(process_, file.id, bytes))) return broken();
            found.push_back({name, bytes});
        }
        return found;
    }
    [[nodiscard]] base::Result<base::Bytes> read(std::string_view name,
                                                 std::uint64_t position,
                                                 std::size_t bytes) const override {
        const Opened file(*this, of(name), {});
        if (!file.is_open) return base::fail(base::Errc::not_found, std::string(name));
        std::uint64_t size = 0;
        if (!works(disk_.size(process_, file.id, size))) return broken();
        const std::uint64_t left = size - std::min(position, size);
        base::Bytes content(std::min<std::uint64_t>(bytes, left));
        std::size_t got = 0;
        if (!works(disk_.read(process_, file.id, position, content, got))) return broken();
        content.resize(got);
        return content;
    }
    base::Result<void> append(std::string_view name, base::ByteView bytes) override {
        const Opened file(*this, of(name), {});
        std::uint64_t end = 0;
        const bool done = file.is_open && works(disk_.size(process_, file.id, end)) &&
                          works(disk_.write(process_, file.id, end, bytes));
        return done ? base::Result<void>() : broken();
    }
    base::Result<void> truncate(std::string_view name, std::uint64_t bytes) override {
        const Opened file(*this, of(name), {});
        const bool done = file.is_open && works(disk_.resize(process_, file.id, bytes)) &&
                          works(disk_.sync(process_, file.id));
        return done ? base::Result<void>() : broken();
    }
    base::Result<void> replace(std::string_view name, base::ByteView bytes) override {
        const std::string next = of(name) + std::string(kUnfinished);
        {
            const Opened file(*this, next, {.makes = true, .truncates = true});
            const bool done = file.is_open && works(disk_.write(process_, file.id, 0, bytes)) &&
                              works(disk_.sync(process_, file.id));
            if (!done) return broken();
        }
        if (!works(disk_.rename(process_, next, of(name)))) return broken();
        return works(disk_.sync_directory(process_, path_)) ? base::Result<void>() : broken();
    }
    base::Result<void> rename(std::string_view from, std::string_view to) override {
        if (!works(disk_.rename(process_, of(from), of(to)))) return broken();
        return works(disk_.sync_directory(process_, path_)) ? base::Result<void>() : broken();
    }
    base::Result<void> remove(std::string_view name) override {
        const Outcome outcome = disk_.remove(process_, of(name));
        if (outcome != Outcome::absent && !works(outcome)) return broken();
        return works(disk_.sync_directory(process_, path_)) ? base::Result<void>() : broken();
    }

  private:
    static constexpr std::string_view kUnfinished = ".next";

    struct Opened : base::Pinned {
        Opened(const LogDirectory& of, const std::string& path, sim::DiskFiles::Opening how)
            : disk(of.disk_), process(of.process_) {
            const Outcome outcome = disk.open(process, path, how, id);
            is_open = outcome != Outcome::absent && of.works(outcome);
        }
        ~Opened() {
            if (is_open) disk.close(process, id);
        }

        sim::DiskFiles& disk;
        sim::DiskFiles::Process process;
        sim::DiskFiles::FileId id = 0;
        bool is_open = false;
    };

    [[nodiscard]] bool is_there() const {
        bool is_directory = false;
        return disk_.exists(process_, path_, is_directory) == Outcome::done;
    }
    [[nodiscard]] std::string of(std::string_view name) const {
        return path_ + "/" + std::string(name);
    }
    bool sync_file(const std::string& path) {
        const Opened file(*this, path, {});
        return file.is_open && works(disk_.sync(process_, file.id));
    }
    bool works(Outcome outcome) const {
        if (outcome == Outcome::broken) is_cut_off_ = true;
        return outcome == Outcome::done;
    }
    static tl::unexpected<base::Error> broken() {
        return base::fail(base::Errc::unavailable, "the process has ended");
    }

    sim::DiskFiles& disk_;
    const sim::DiskFiles::Process process_;
    const std::string path_;
    mutable bool is_cut_off_ = false;
};

}  // namespace kills
