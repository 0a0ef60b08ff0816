#include "tests/sim/files/disk_files.hpp"

#include "base/check.hpp"
#include "node/disk/blank.hpp"

#include <algorithm>
#include <utility>

namespace sim {

namespace {

std::string directory_of(const std::string& path) {
    return path.substr(0, path.rfind('/'));
}

std::string name_of(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

// RocksDB writes some with two slashes, or one at the end.
std::string plain(const std::string& path) {
    std::string made;
    for (const char each : path) {
        if (each != '/' || made.empty() || made.back() != '/') made.push_back(each);
    }
    if (made.size() > 1 && made.back() == '/') made.pop_back();
    return made;
}

}  // namespace

// --- SparseBytes ---

std::byte* SparseBytes::writable(std::uint64_t number) {
    std::shared_ptr<Block>& block = blocks_[number];
    if (block == nullptr) {
        block = std::make_shared<Block>();
    } else if (block.use_count() > 1) {
        block = std::make_shared<Block>(*block);
    }
    return block->data();
}

void SparseBytes::write(std::uint64_t offset, base::ByteView bytes) {
    size_ = std::max(size_, offset + bytes.size());
    while (!bytes.empty()) {
        const std::uint64_t number = offset / kBlock;
        const std::size_t at = offset % kBlock;
        const std::size_t count = std::min(bytes.size(), kBlock - at);
        const base::ByteView part = bytes.first(count);
        if (blocks_.contains(number) || !node::is_blank(part)) {
            std::ranges::copy(part, writable(number) + at);
        }
        offset += count;
        bytes = bytes.subspan(count);
    }
}

std::size_t SparseBytes::read(std::uint64_t offset, std::span<std::byte> into) const {
    if (offset >= size_) return 0;
    const auto got = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), size_ - offset));
    for (std::size_t done = 0; done < got;) {
        const std::uint64_t number = (offset + done) / kBlock;
        const std::size_t at = (offset + done) % kBlock;
        const std::size_t count = std::min(got - done, kBlock - at);
        const auto block = blocks_.find(number);
        if (block == blocks_.end()) {
            std::fill_n(into.begin() + static_cast<std::ptrdiff_t>(done), count, std::byte{});
        } else {
            std::copy_n(block->second->begin() + at,
                        count,
                        into.begin() + static_cast<std::ptrdiff_t>(done));
        }
        done += count;
    }
    return got;
}

base::Bytes SparseBytes::read(std::uint64_t offset, std::size_t size) const {
    base::Bytes bytes(size);
    bytes.resize(read(offset, bytes));
    return bytes;
}

void SparseBytes::resize(std::uint64_t size) {
    if (size < size_) {
        blocks_.erase(blocks_.lower_bound((size + kBlock - 1) / kBlock), blocks_.end());
        const std::size_t rest = size % kBlock;
        if (rest != 0 && blocks_.contains(size / kBlock)) {
            std::byte* block = writable(size / kBlock);
            std::fill(block + rest, block + kBlock, std::byte{});
        }
    }
    size_ = size;
}

std::vector<std::uint64_t> SparseBytes::used() const {
    std::vector<std::uint64_t> found;
    for (const auto& [number, block] : blocks_) {
        if (number * kBlock < size_) found.push_back(number * kBlock);
    }
    return found;
}

void SparseBytes::flip(std::uint64_t at, unsigned bit) {
    CHECK(at < size_);
    writable(at / kBlock)[at % kBlock] ^= std::byte{1} << bit;
}

// --- What a process does ---

DiskFiles::Process DiskFiles::process() const {
    const std::lock_guard lock(mutex_);
    return process_;
}

DiskFiles::Outcome DiskFiles::may(Process of) const {
    return of != process_ || is_broken_ ? Outcome::broken : Outcome::done;
}

DiskFiles::Outcome DiskFiles::may_change(Process of) {
    if (may(of) != Outcome::done) return Outcome::broken;
    if (calls_until_full_) {
        if (*calls_until_full_ == 0) is_full_ = true;
        if (*calls_until_full_ > 0) --*calls_until_full_;
    }
    if (!calls_left_) return Outcome::done;
    if (*calls_left_ == 0) return Outcome::broken;
    --*calls_left_;
    return Outcome::done;
}

DiskFiles::Opened* DiskFiles::opened(FileId file) {
    const auto found = opened_.find(file);
    return found == opened_.end() ? nullptr : &found->second;
}

DiskFiles::NodePtr DiskFiles::find(const std::string& path, Names Node::*names) const {
    const std::string whole = plain(path);
    if (whole == root_ || whole == "/") return top_;
    if (!whole.starts_with(root_ + "/")) return nullptr;
    NodePtr at = top_;
    for (std::size_t from = root_.size() + 1; from <= whole.size();) {
        const std::size_t end = std::min(whole.find('/', from), whole.size());
        const auto found = (at.get()->*names).find(whole.substr(from, end - from));
        if (found == (at.get()->*names).end()) return nullptr;
        at = found->second;
        from = end + 1;
    }
    return at;
}

void DiskFiles::collect(const std::string& path,
                        const NodePtr& node,
                        bool directories,
                        Found& found) const {
    for (const auto& [name, child] : node->names) {
        const std::string whole = path + "/" + name;
        if (child->is_directory == directories) found.emplace_back(whole, child);
        if (child->is_directory) collect(whole, child, directories, found);
    }
}

DiskFiles::Found DiskFiles::all(bool directories) const {
    Found found;
    collect(root_, top_, directories, found);
    std::ranges::sort(found, {}, [](const auto& each) { return each.first; });
    return found;
}

void DiskFiles::apply(Names& names, const Change& change) {
    for (const auto& [name, node] : change) {
        if (node == nullptr) {
            names.erase(name);
        } else {
            names.insert_or_assign(name, node);
        }
    }
}

void DiskFiles::change(Node& directory, Change change) {
    apply(directory.names, change);
    directory.unsynced_names.push_back(std::move(change));
}

DiskFiles::Outcome DiskFiles::open(Process of, const std::string& path, Opening how, FileId& file) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    NodePtr node = find(path);
    if (node == nullptr) {
        const NodePtr parent = find(directory_of(plain(path)));
        if (!how.makes || parent == nullptr || !parent->is_directory) return Outcome::absent;
        if (may_change(of) != Outcome::done) return Outcome::broken;
        if (is_full_) return Outcome::no_space;
        node = make_node();
        change(*parent, {{name_of(plain(path)), node}});
    } else if (how.truncates && node->now.size() > 0) {
        if (may_change(of) != Outcome::done) return Outcome::broken;
        node->unsynced.push_back({0, {}, 0});
        node->now.resize(0);
    }
    file = ++last_file_;
    opened_.emplace(file, Opened{std::move(node)});
    return Outcome::done;
}

void DiskFiles::close(Process of, FileId file) {
    const std::lock_guard lock(mutex_);
    Opened* const found = opened(file);
    if (of != process_ || found == nullptr) return;
    if (found->has_lock) locked_.erase(found->node);
    opened_.erase(file);
}

void DiskFiles::apply(SparseBytes& bytes, const Write& write) {
    if (write.size) {
        bytes.resize(*write.size);
    } else {
        bytes.write(write.offset, write.bytes);
    }
}

DiskFiles::Outcome DiskFiles::write(Process of,
                                    FileId file,
                                    std::uint64_t offset,
                                    base::ByteView bytes) {
    const std::lock_guard lock(mutex_);
    if (may_change(of) != Outcome::done) return Outcome::broken;
    Opened* const found = opened(file);
    if (found == nullptr) return Outcome::broken;
    Node& node = *found->node;
    if (is_full_ && offset + bytes.size() > node.now.size()) return Outcome::no_space;
    node.now.write(offset, bytes);
    node.unsynced.push_back({offset, base::to_bytes(bytes), {}});
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::resize(Process of, FileId file, std::uint64_t size) {
    const std::lock_guard lock(mutex_);
    if (may_change(of) != Outcome::done) return Outcome::broken;
    Opened* const found = opened(file);
    if (found == nullptr) return Outcome::broken;
    found->node->now.resize(size);
    found->node->unsynced.push_back({0, {}, size});
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::read(
    Process of, FileId file, std::uint64_t offset, std::span<std::byte> into, std::size_t& got) {
    const std::lock_guard lock(mutex_);
    const Opened* const found = opened(file);
    if (may(of) != Outcome::done || found == nullptr) return Outcome::broken;
    got = found->node->now.read(offset, into);
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::size(Process of, FileId file, std::uint64_t& size) {
    const std::lock_guard lock(mutex_);
    const Opened* const found = opened(file);
    if (may(of) != Outcome::done || found == nullptr) return Outcome::broken;
    size = found->node->now.size();
    return Outcome::done;
}

DiskFiles::NodePtr DiskFiles::make_node(bool is_directory) const {
    auto node = std::make_shared<Node>();
    node->is_directory = is_directory;
    node->made = mark_;
    return node;
}

// Before its writes are applied to what is synced.
void DiskFiles::note_undo(Node& node) {
    node.undo.clear();
    std::uint64_t size = node.synced.size();
    for (const Write& write : node.unsynced) {
        const std::uint64_t end = write.size ? *write.size : write.offset + write.bytes.size();
        // What was at the end of one that was made shorter is not kept.
        if (write.size && end < size) return node.undo.clear();
        if (!write.size) {
            node.undo.push_back(
                {write.offset, node.synced.read(write.offset, write.bytes.size()), {}});
        }
        node.undo.push_back({0, {}, size});
        size = write.size ? end : std::max(size, end);
    }
}

DiskFiles::Outcome DiskFiles::sync(Process of, FileId file) {
    const std::lock_guard lock(mutex_);
    if (may_change(of) != Outcome::done) return Outcome::broken;
    Opened* const found = opened(file);
    if (found == nullptr) return Outcome::broken;
    Node& node = *found->node;
    if (node.unsynced.empty()) return Outcome::done;
    note_undo(node);
    for (const Write& write : node.unsynced)
        apply(node.synced, write);
    node.undoes = mark_;
    node.unsynced.clear();
    return Outcome::done;
}

bool DiskFiles::lock(Process of, FileId file) {
    const std::lock_guard lock(mutex_);
    Opened* const found = opened(file);
    if (may(of) != Outcome::done || found == nullptr) return false;
    found->has_lock = found->has_lock || locked_.insert(found->node).second;
    return found->has_lock;
}

DiskFiles::Outcome DiskFiles::make_directory(Process of, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    if (find(path) != nullptr) return Outcome::exists;
    const NodePtr parent = find(directory_of(plain(path)));
    if (parent == nullptr) return Outcome::absent;
    if (may_change(of) != Outcome::done) return Outcome::broken;
    if (is_full_) return Outcome::no_space;
    const NodePtr node = make_node(/*is_directory=*/true);
    change(*parent, {{name_of(plain(path)), node}});
    return Outcome::done;
}

void DiskFiles::make_durable(Node& directory, std::size_t count) {
    std::vector<NodePtr> moved;
    for (std::size_t i = 0; i < count; ++i) {
        apply(directory.durable_names, directory.unsynced_names[i]);
        for (const auto& [name, node] : directory.unsynced_names[i]) {
            if (node != nullptr && node->is_directory && node->has_moved) moved.push_back(node);
        }
    }
    const auto first = directory.unsynced_names.begin();
    directory.unsynced_names.erase(first, first + static_cast<std::ptrdiff_t>(count));
    for (const NodePtr& node : moved) {
        const bool is_here = std::ranges::any_of(
            directory.durable_names, [&](const auto& each) { return each.second == node; });
        if (is_here) forget_elsewhere(node, directory);
    }
}

void DiskFiles::forget_elsewhere(const NodePtr& moved, const Node& here) {
    const auto is_it = [&](const auto& each) { return each.second == moved; };
    std::set<Node*> done;
    std::vector<Node*> left{top_.get()};
    while (!left.empty()) {
        Node& each = *left.back();
        left.pop_back();
        if (!each.is_directory || !done.insert(&each).second) continue;
        for (const Names* names : {&each.names, &each.durable_names}) {
            for (const auto& [name, child] : *names)
                left.push_back(child.get());
        }
        if (&each == &here) continue;
        std::erase_if(each.durable_names, is_it);
        for (Change& change : each.unsynced_names)
            std::erase_if(change, is_it);
    }
}

DiskFiles::Outcome DiskFiles::sync_directory(Process of, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (may_change(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(path);
    if (node == nullptr) return Outcome::absent;
    make_durable(*node, node->unsynced_names.size());
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::rename(Process of, const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(from);
    if (node == nullptr) return Outcome::absent;
    const NodePtr source = find(directory_of(plain(from)));
    const NodePtr target = find(directory_of(plain(to)));
    if (target == nullptr) return Outcome::absent;
    // A directory takes the place of an empty one only.
    const NodePtr replaced = find(to);
    if (replaced != nullptr && !replaced->names.empty()) return Outcome::exists;
    if (may_change(of) != Outcome::done) return Outcome::broken;
    if (source == target) {
        change(*target, {{name_of(plain(from)), nullptr}, {name_of(plain(to)), node}});
        return Outcome::done;
    }
    node->has_moved = true;
    change(*target, {{name_of(plain(to)), node}});
    change(*source, {{name_of(plain(from)), nullptr}});
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::link(Process of, const std::string& from, const std::string& to) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(from);
    if (node == nullptr) return Outcome::absent;
    if (find(to) != nullptr) return Outcome::exists;
    const NodePtr parent = find(directory_of(plain(to)));
    if (parent == nullptr) return Outcome::absent;
    if (may_change(of) != Outcome::done) return Outcome::broken;
    if (is_full_) return Outcome::no_space;
    change(*parent, {{name_of(plain(to)), node}});
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::remove(Process of, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(path);
    if (node == nullptr) return Outcome::absent;
    if (!node->names.empty()) return Outcome::exists;
    if (may_change(of) != Outcome::done) return Outcome::broken;
    change(*find(directory_of(plain(path))), {{name_of(plain(path)), nullptr}});
    removed_at_[directory_of(plain(path))] = mark_;
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::exists(Process of, const std::string& path, bool& is_directory) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(path);
    if (node == nullptr) return Outcome::absent;
    is_directory = node->is_directory;
    return Outcome::done;
}

DiskFiles::Outcome DiskFiles::list(Process of,
                                   const std::string& directory,
                                   std::vector<std::string>& names) {
    const std::lock_guard lock(mutex_);
    if (may(of) != Outcome::done) return Outcome::broken;
    const NodePtr node = find(directory);
    if (node == nullptr) return Outcome::absent;
    for (const auto& [name, child] : node->names)
        names.push_back(name);
    return Outcome::done;
}

std::uint64_t DiskFiles::free_bytes() const {
    const std::lock_guard lock(mutex_);
    return is_full_ ? 0 : std::uint64_t{1} << 40U;
}

// --- What happens to it ---

void DiskFiles::forget_process() {
    ++process_;
    opened_.clear();
    locked_.clear();
    calls_left_.reset();
    calls_until_full_.reset();
}

void DiskFiles::end_process() {
    const std::lock_guard lock(mutex_);
    forget_process();
}

// Of what was written and not synced, the first writes are there and a part of the next; or the
// disk has written sectors in an order of its own.
void DiskFiles::tear(Node& node, Chance& chance) {
    constexpr std::size_t kSector = 512;
    const bool is_in_order = chance.percent(50);
    const std::size_t whole = is_in_order ? chance.below(node.unsynced.size() + 1) : 0;
    for (std::size_t i = 0; i < whole; ++i)
        apply(node.synced, node.unsynced[i]);
    const std::size_t last =
        is_in_order ? std::min(whole + 1, node.unsynced.size()) : node.unsynced.size();
    for (std::size_t i = whole; i < last; ++i) {
        const Write& write = node.unsynced[i];
        if (write.size) {
            if (chance.percent(50)) apply(node.synced, write);
            continue;
        }
        bool goes_on = true;
        for (std::size_t at = 0; at < write.bytes.size() && goes_on;) {
            const std::size_t count =
                std::min(write.bytes.size() - at,
                         kSector - static_cast<std::size_t>((write.offset + at) % kSector));
            const bool is_there = chance.percent(50);
            if (is_there) {
                node.synced.write(write.offset + at,
                                  base::ByteView(write.bytes).subspan(at, count));
            }
            goes_on = is_there || !is_in_order;
            at += count;
        }
    }
    node.unsynced.clear();
}

// Of the directories that there are by the names of now, then of those that only durable names lead
// to.
void DiskFiles::settle_names(Node& directory, Chance& chance, std::set<const Node*>& done) {
    if (!directory.is_directory || !done.insert(&directory).second) return;
    if (!directory.unsynced_names.empty()) {
        const std::size_t kept = chance.below(directory.unsynced_names.size() + 1);
        make_durable(directory, kept);
        directory.unsynced_names.clear();
    }
    for (const Names* names : {&directory.names, &directory.durable_names}) {
        for (const auto& [name, child] : *names)
            settle_names(*child, chance, done);
    }
}

void DiskFiles::keep_durable_names(Node& directory) {
    directory.names = directory.durable_names;
    for (const auto& [name, child] : directory.names) {
        if (child->is_directory) keep_durable_names(*child);
    }
}

void DiskFiles::cut_power(Chance& chance) {
    const std::lock_guard lock(mutex_);
    forget_process();
    std::set<const Node*> settled;
    settle_names(*top_, chance, settled);
    keep_durable_names(*top_);
    // A file may have two names.
    std::set<Node*> done;
    for (auto& [name, node] : all(/*directories=*/false)) {
        if (!done.insert(node.get()).second || node->unsynced.empty()) continue;
        tear(*node, chance);
        node->now = node->synced;
    }
}

void DiskFiles::fill_after(std::size_t calls) {
    const std::lock_guard lock(mutex_);
    calls_until_full_ = calls;
}

void DiskFiles::stop_after(std::size_t calls) {
    const std::lock_guard lock(mutex_);
    calls_left_ = calls;
}

void DiskFiles::mark() {
    const std::lock_guard lock(mutex_);
    ++mark_;
}

std::size_t DiskFiles::lose_last_syncs(const std::string& directory) {
    const std::lock_guard lock(mutex_);
    // What the lost sync takes the place of may be gone already.
    const auto removed_at = removed_at_.find(directory);
    if (removed_at != removed_at_.end() && removed_at->second == mark_) return 0;
    const NodePtr parent = find(directory);
    if (parent == nullptr) return 0;
    std::size_t lost = 0;
    for (auto& [name, node] : parent->names) {
        const bool is_undone = node->undoes == mark_ && node->made < mark_ && !node->undo.empty();
        if (!is_undone) continue;
        for (auto write = node->undo.rbegin(); write != node->undo.rend(); ++write)
            apply(node->synced, *write);
        node->undo.clear();
        node->now = node->synced;
        ++lost;
    }
    return lost;
}

void DiskFiles::set_full(bool is_full) {
    const std::lock_guard lock(mutex_);
    is_full_ = is_full;
    calls_until_full_.reset();
}

void DiskFiles::break_all() {
    const std::lock_guard lock(mutex_);
    is_broken_ = true;
}

std::string DiskFiles::flip_bit(Chance& chance) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, node] : all(/*directories=*/false)) {
        if (!node->now.used().empty()) names.push_back(name);
    }
    if (names.empty()) return {};
    std::string name = chance.pick(names);
    Node& node = *find(name);
    // More often near the end, where it was written last.
    const std::vector<std::uint64_t> used = node.now.used();
    const std::uint64_t block = chance.percent(50) ? used.back() : used[chance.below(used.size())];
    const std::uint64_t count =
        std::min<std::uint64_t>(SparseBytes::kBlock, node.now.size() - block);
    const std::uint64_t at = block + chance.below(static_cast<std::size_t>(count));
    const auto bit = static_cast<unsigned>(chance.below(8));
    node.now.flip(at, bit);
    if (at < node.synced.size()) node.synced.flip(at, bit);
    return name;
}

void DiskFiles::clear() {
    const std::lock_guard lock(mutex_);
    forget_process();
    is_broken_ = false;
    top_ = make_node(/*is_directory=*/true);
}

void DiskFiles::remove_all(const std::string& directory) {
    const std::lock_guard lock(mutex_);
    const NodePtr node = find(directory);
    if (node == nullptr) return;
    node->names.clear();
    node->durable_names.clear();
    node->unsynced_names.clear();
}

std::shared_ptr<const DiskFiles::Image> DiskFiles::image() const {
    const std::lock_guard lock(mutex_);
    auto made = std::make_shared<Image>();
    for (const auto& [name, node] : all(/*directories=*/true))
        made->directories.insert(name);
    for (const auto& [name, node] : all(/*directories=*/false))
        made->files.emplace(name, node->now);
    return made;
}

void DiskFiles::put_back(const Image& image) {
    clear();
    const std::lock_guard lock(mutex_);
    const auto put = [&](const std::string& path, const NodePtr& node) {
        Node& parent = *find(directory_of(path));
        parent.names.insert_or_assign(name_of(path), node);
        parent.durable_names = parent.names;
    };
    for (const std::string& name : image.directories)
        put(name, make_node(/*is_directory=*/true));
    for (const auto& [name, bytes] : image.files) {
        const NodePtr node = make_node();
        node->now = node->synced = bytes;
        put(name, node);
    }
}

base::Bytes DiskFiles::durable(const std::string& path, std::size_t size) const {
    const std::lock_guard lock(mutex_);
    const NodePtr node = find(path, &Node::durable_names);
    return node == nullptr ? base::Bytes() : node->synced.read(0, size);
}

std::vector<std::string> DiskFiles::names() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, node] : all(/*directories=*/false))
        names.push_back(name);
    return names;
}

}  // namespace sim
