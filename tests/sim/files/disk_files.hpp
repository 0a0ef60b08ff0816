#pragma once

#include "base/bytes.hpp"
#include "base/pinned.hpp"
#include "tests/sim/chance.hpp"
#include "tests/sim/files/background_jobs.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// Bytes of a file, of which blocks of zeros take no room. Copies share their blocks.
class SparseBytes {
  public:
    static constexpr std::size_t kBlock = 4096;

    void write(std::uint64_t offset, base::ByteView bytes);
    // As much of it as there is.
    [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<std::byte> into) const;
    [[nodiscard]] base::Bytes read(std::uint64_t offset, std::size_t size) const;
    void resize(std::uint64_t size);
    void flip(std::uint64_t at, unsigned bit);
    // The first bytes of blocks that are not all zeros.
    [[nodiscard]] std::vector<std::uint64_t> used() const;
    [[nodiscard]] std::uint64_t size() const { return size_; }

  private:
    using Block = std::array<std::byte, kBlock>;

    std::byte* writable(std::uint64_t number);

    std::map<std::uint64_t, std::shared_ptr<Block>> blocks_;
    std::uint64_t size_ = 0;
};

// The files of one machine, as a disk and the kernel's cache above it hold them.
//
// What a process wrote is there for whoever reads. After a power cut there is what was synced, and
// of the rest what chance leaves: the first of the writes to a file and a part of the next, or any
// sectors of them. A name is there after a cut if its directory was synced since, and else if all
// that was done in that directory before is. Who moves a file to another directory changes both:
// after a cut it may have both names, or none. A directory never has two: where its new name is
// there, the old one is not. A name is of the form "/ROOT/DIRECTORY/.../NAME"; "/ROOT" is always
// there.
//
// Each process has a number; when it is over, what it had open does nothing more.
// Thread: any, since RocksDB has threads of its own.
class DiskFiles : base::Pinned {
  public:
    enum class Outcome : std::uint8_t { done, absent, exists, no_space, broken };
    using Process = std::uint64_t;
    using FileId = std::uint64_t;

    explicit DiskFiles(std::string root) : root_(std::move(root)) { clear(); }

    // --- What a process does ---
    [[nodiscard]] Process process() const;
    struct Opening {
        bool makes = false;  // If it is absent.
        bool truncates = false;
    };
    [[nodiscard]] Outcome open(Process of, const std::string& path, Opening how, FileId& file);
    void close(Process of, FileId file);
    [[nodiscard]] Outcome write(Process of,
                                FileId file,
                                std::uint64_t offset,
                                base::ByteView bytes);
    [[nodiscard]] Outcome resize(Process of, FileId file, std::uint64_t size);
    [[nodiscard]] Outcome read(
        Process of, FileId file, std::uint64_t offset, std::span<std::byte> into, std::size_t& got);
    [[nodiscard]] Outcome size(Process of, FileId file, std::uint64_t& size);
    [[nodiscard]] Outcome sync(Process of, FileId file);
    // False: another has it. It ends with the process or when the file is closed.
    [[nodiscard]] bool lock(Process of, FileId file);
    [[nodiscard]] Outcome make_directory(Process of, const std::string& path);
    [[nodiscard]] Outcome sync_directory(Process of, const std::string& path);
    [[nodiscard]] Outcome rename(Process of, const std::string& from, const std::string& to);
    [[nodiscard]] Outcome link(Process of, const std::string& from, const std::string& to);
    [[nodiscard]] Outcome remove(Process of, const std::string& path);
    [[nodiscard]] Outcome exists(Process of, const std::string& path, bool& is_directory);
    [[nodiscard]] Outcome list(Process of,
                               const std::string& directory,
                               std::vector<std::string>& names);
    [[nodiscard]] std::uint64_t free_bytes() const;

    // --- What happens to it ---
    // The process is gone; the kernel keeps what it wrote.
    void end_process();
    // The process is gone, and so is what was not durable.
    void cut_power(Chance& chance);
    // After so many more calls that change something none does anything any more, until the
    // process ends.
    void stop_after(std::size_t calls);
    // After so many more such calls the disk is full.
    void fill_after(std::size_t calls);
    // Of what was synced after now, a file's last sync may be taken back.
    void mark();
    // Of the files in this directory that were there at the mark; after a power cut. Returns how
    // many it was: none where a file was removed from it since.
    std::size_t lose_last_syncs(const std::string& directory);
    void set_full(bool is_full);
    // Nothing can be read, written or opened any more.
    void break_all();
    // In one of the files that are not empty; returns its name. Empty: there is none.
    std::string flip_bit(Chance& chance);
    // All that is there disappears, also what was broken.
    void clear();
    void remove_all(const std::string& directory);

    // Everything that can be read now, durable at once when it is put back.
    struct Image;
    [[nodiscard]] std::shared_ptr<const Image> image() const;
    void put_back(const Image& image);

    // What of its first `size` bytes would be there if the power went now and chance left nothing.
    [[nodiscard]] base::Bytes durable(const std::string& path, std::size_t size) const;
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] const std::string& root() const { return root_; }
    // Of all its processes.
    [[nodiscard]] const std::shared_ptr<BackgroundJobs>& jobs() const { return jobs_; }

  private:
    struct Write {
        std::uint64_t offset = 0;
        base::Bytes bytes;
        std::optional<std::uint64_t> size;  // It was made as long as this, and nothing else.
    };
    struct Node;
    using NodePtr = std::shared_ptr<Node>;
    using Names = std::map<std::string, NodePtr>;
    // A change of names in one directory, whole or not at all. Null: the name is gone.
    using Change = std::vector<std::pair<std::string, NodePtr>>;
    struct Node {
        bool is_directory = false;
        bool has_moved = false;              // From one directory to another.
        Names names;                         // In a directory, with
        Names durable_names;                 // those that a power cut leaves,
        std::vector<Change> unsynced_names;  // and what may be.
        SparseBytes now;
        SparseBytes synced;
        std::vector<Write> unsynced;
        std::uint64_t made = 0;    // At which mark.
        std::vector<Write> undo;   // Takes its last sync back, from the last on.
        std::uint64_t undoes = 0;  // At which mark that sync was.
    };
    struct Opened {
        NodePtr node;
        bool has_lock = false;
    };

    [[nodiscard]] Outcome may(Process of) const;
    [[nodiscard]] Outcome may_change(Process of);
    [[nodiscard]] Opened* opened(FileId file);
    // By the names of now, or by those that are durable.
    [[nodiscard]] NodePtr find(const std::string& path, Names Node::*names = &Node::names) const;
    static void change(Node& directory, Change change);
    // The files below a directory, or the directories, by the names of now: path and node, in the
    // order of their paths.
    using Found = std::vector<std::pair<std::string, NodePtr>>;
    [[nodiscard]] Found all(bool directories) const;
    void collect(const std::string& path,
                 const NodePtr& node,
                 bool directories,
                 Found& found) const;
    static void apply(Names& names, const Change& change);
    [[nodiscard]] NodePtr make_node(bool is_directory = false) const;
    static void apply(SparseBytes& bytes, const Write& write);
    static void note_undo(Node& node);
    static void tear(Node& node, Chance& chance);
    void forget_process();
    // The first so many changes of its names.
    void make_durable(Node& directory, std::size_t count);
    // A directory that moved and is durable here is so in no other.
    void forget_elsewhere(const NodePtr& moved, const Node& here);
    void settle_names(Node& directory, Chance& chance, std::set<const Node*>& done);
    static void keep_durable_names(Node& directory);

    mutable std::mutex mutex_;
    const std::shared_ptr<BackgroundJobs> jobs_ = std::make_shared<BackgroundJobs>();
    const std::string root_;
    Process process_ = 1;
    std::uint64_t mark_ = 0;
    std::map<std::string, std::uint64_t> removed_at_;  // By directory: the mark of the last time.
    NodePtr top_;                                      // The root's.
    std::map<FileId, Opened> opened_;
    FileId last_file_ = 2;
    std::set<NodePtr> locked_;
    std::optional<std::size_t> calls_left_;
    std::optional<std::size_t> calls_until_full_;
    bool is_full_ = false;
    bool is_broken_ = false;
};

struct DiskFiles::Image {
    std::map<std::string, SparseBytes> files;
    std::set<std::string> directories;
};

}  // namespace sim
