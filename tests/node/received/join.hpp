#pragma once

#include "node/disk/file.hpp"
#include "p2p/world.hpp"
#include "tests/node/received/fixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

// The whole way of a snapshot from peers: production's p2p on both sides, over the files of both.
// So a test sees who pays for what, what comes from others, and the line that the operator reads.
namespace test {

// A peer's snapshots, of which it may give something else than they are, or nothing.
class Shelf final : public p2p::test::SnapshotFiles {
  public:
    Shelf(SnapshotStore& store, const base::Log& log) : store_(store), pieces_(store, log) {}

    std::optional<p2p::SnapshotChunk> read(const p2p::SnapshotPiece& piece) override {
        asked.push_back(piece);
        if (is_silent && is_silent(piece)) return {};
        p2p::SnapshotChunk chunk = read_piece(pieces_, piece);
        if (lie) lie(chunk);
        return chunk;
    }
    p2p::input::SnapshotKept keep(const p2p::effect::KeepSnapshot& /*asked*/) override {
        return {};
    }
    p2p::input::SnapshotChecked check(const p2p::SnapshotPoint& /*point*/) override { return {}; }
    p2p::input::SnapshotLoaded load(const p2p::SnapshotPoint& /*point*/) override { return {}; }

    [[nodiscard]] std::vector<p2p::SnapshotPoint> names() const {
        std::vector<p2p::SnapshotPoint> names;
        for (const SnapshotStore::Listed& each : store_.list())
            names.push_back({each.head.height, each.id});
        return names;
    }
    [[nodiscard]] std::size_t count(p2p::SnapshotPart part) const {
        return static_cast<std::size_t>(std::ranges::count(asked, part, &p2p::SnapshotPiece::part));
    }

    std::function<void(p2p::SnapshotChunk&)> lie;
    std::function<bool(const p2p::SnapshotPiece&)> is_silent;
    std::vector<p2p::SnapshotPiece> asked;

  private:
    SnapshotStore& store_;
    node::SnapshotPieces pieces_;
};

// The files of the node that joins.
class Intake final : public p2p::test::SnapshotFiles {
  public:
    explicit Intake(Joiner& joiner) : joiner_(joiner) {}

    std::optional<p2p::SnapshotChunk> read(const p2p::SnapshotPiece& piece) override {
        return p2p::SnapshotChunk{.piece = piece};
    }
    p2p::input::SnapshotKept keep(const p2p::effect::KeepSnapshot& asked) override {
        if (before_keep) before_keep(asked.piece);
        const bool is_chunk = asked.piece.part == SnapshotPart::chunk;
        auto kept = is_chunk ? joiner_.receiver->keep_chunk(asked) : joiner_.receiver->keep(asked);
        if (is_chunk && kept.verdict == SnapshotVerdict::good) ++chunks_kept;
        return kept;
    }
    p2p::input::SnapshotChecked check(const p2p::SnapshotPoint& point) override {
        const bool is_all_here = joiner_.files().exists(
            (joiner_.receiver->path_of(point) / SnapshotFolder::kProof).string());
        if (before_check && is_all_here) before_check();
        return joiner_.receiver->check(point);
    }
    p2p::input::SnapshotLoaded load(const p2p::SnapshotPoint& point) override {
        if (before_load) before_load();
        auto said = joiner_.load(point, own_final);
        if (said.verdict == SnapshotVerdict::good) loaded = point;
        return said;
    }

    genesis::Checkpoint own_final = kGenesis;
    std::function<void(const p2p::SnapshotPiece&)> before_keep;
    std::function<void()> before_check;  // Of what came: links, proof and manifest.
    std::function<void()> before_load;
    std::optional<p2p::SnapshotPoint> loaded;
    std::size_t chunks_kept = 0;

  private:
    Joiner& joiner_;
};

// Node 0 is new; the others, of an organisation each, have a snapshot and no old blocks.
class Join {
  public:
    static constexpr chain::Height kHeight = 8;

    explicit Join(std::size_t peers, std::optional<genesis::Checkpoint> checkpoint = {})
        : snapshot(source.written(kHeight)),
          joiner(source, checkpoint),
          intake(joiner),
          world(peers + 1) {
        set_up(peers);
    }
    // With the new node's files on another disk.
    Join(std::size_t peers, const node::Disk& disk)
        : snapshot(source.written(kHeight)),
          joiner(source, disk),
          intake(joiner),
          world(peers + 1) {
        set_up(peers);
    }
    // Peer i has what this store has, and names it.
    void give(std::size_t i, SnapshotStore& store) {
        shelves.at(i) = std::make_unique<Shelf>(store, source.log());
        world[i].files = shelves.at(i).get();
        name(i, shelves.at(i)->names());
    }
    void name(std::size_t i, std::vector<p2p::SnapshotPoint> snapshots) {
        world.input(world[i], p2p::input::SnapshotsChanged{std::move(snapshots)});
    }
    void connect() {
        for (std::size_t i = 1; i < shelves.size(); ++i)
            world.join(0, i);
    }
    // The new node's process ended; it begins anew.
    void restart() {
        world.start(world[0]);
        world.input(world[0], p2p::input::RegistryChanged{nodes_});
    }
    void run(base::Duration time = std::chrono::seconds(10)) {
        connect();
        world.run(time);
    }
    Shelf& shelf(std::size_t i) { return *shelves.at(i); }

    [[nodiscard]] bool has_joined() const { return intake.loaded == snapshot; }
    // Numbers of the peers that the new node has closed, or lost.
    [[nodiscard]] std::set<std::size_t> closed() {
        std::set<std::size_t> gone;
        for (std::size_t i = 1; i < shelves.size(); ++i)
            if (status_of(i) == nullptr) gone.insert(i);
        return gone;
    }
    [[nodiscard]] int score(std::size_t i) {
        const p2p::PeerStatus* status = status_of(i);
        return status == nullptr ? 0 : status->score;
    }
    // A line of the new node's log, word by word; `by`: the peer that it names.
    [[nodiscard]] bool has_line(const std::string& line) const {
        return std::ranges::find(world.log.lines, line) != world.log.lines.end();
    }
    [[nodiscard]] bool says(std::size_t by, const std::string& text) {
        const p2p::Options& options = world[by].options;
        return has_line(fmt::format(
            "snapshot: {} {}: {}", options.listen_address, options.node_key.to_string(), text));
    }
    // For a test that fails.
    [[nodiscard]] std::string log() const {
        return fmt::format("{}", fmt::join(world.log.lines, "\n"));
    }
    [[nodiscard]] std::string waits_for() {
        const auto status = world[0].network->status().sync.snapshot;
        return status ? status->waiting_for : "";
    }
    [[nodiscard]] std::string stage() {
        const auto status = world[0].network->status().sync.snapshot;
        return status ? status->stage : "";
    }
    [[nodiscard]] SnapshotFolder folder() {
        return *SnapshotFolder::open(source.store().path_of(source.store().list().front()));
    }

    Source source;
    p2p::SnapshotPoint snapshot;
    Joiner joiner;
    Intake intake;
    p2p::test::World world;
    std::vector<std::unique_ptr<Shelf>> shelves;  // By number of the peer; 0: none.

  private:
    void set_up(std::size_t peers) {
        shelves.resize(peers + 1);
        world[0].options.takes_snapshots = true;
        world[0].files = &intake;
        for (std::size_t i = 0; i <= peers; ++i) {
            nodes_.push_back(
                {p2p::test::key_of(i), p2p::test::World::organisation(i), p2p::kValidator});
        }
        restart();
        p2p::test::Ledger ledger;
        ledger.grow(60);
        ledger.earliest = 40;
        for (std::size_t i = 1; i <= peers; ++i) {
            world[i].ledger = ledger;
            world.tell_ledger(world[i]);
            world[i].read_delay = std::chrono::milliseconds(20);  // One piece after another.
            give(i, source.store());
        }
    }
    [[nodiscard]] const p2p::PeerStatus* status_of(std::size_t i) {
        status_ = world[0].network->status();
        const auto found = std::ranges::find(
            status_.peers, world[i].options.listen_address, &p2p::PeerStatus::address);
        return found == status_.peers.end() ? nullptr : &*found;
    }

    std::vector<p2p::RegisteredNode> nodes_;
    p2p::Status status_;
};

// A snapshot like this one, in a store of its own, but for what `change` does to its manifest and
// to the files in its folder.
class Forgery {
  public:
    using Change = std::function<void(genesis::Manifest&, const fs::path&)>;

    Forgery(Source& source,
            const SnapshotFolder& from,
            const std::string& name,
            const Change& change)
        : store_(source.open(source.path(name))) {
        const auto path = store_->begin();
        REQUIRE(path);
        fs::remove_all(*path);
        fs::copy(from.path(), *path, fs::copy_options::recursive);
        genesis::Manifest manifest = from.manifest();
        change(manifest, *path);
        const base::Bytes bytes = genesis::encode_manifest(manifest);
        REQUIRE(
            node::write_file_atomically((*path / SnapshotFolder::kManifest).string(), bytes, 0644));
        const auto taken = store_->take_over(*path, /*keep=*/false);
        if (!taken) FAIL(taken.error().detail);
        point_ = {taken->head.height, taken->id};
    }
    [[nodiscard]] SnapshotStore& store() { return *store_; }
    [[nodiscard]] const p2p::SnapshotPoint& point() const { return point_; }

  private:
    std::unique_ptr<SnapshotStore> store_;
    p2p::SnapshotPoint point_;
};

}  // namespace test
