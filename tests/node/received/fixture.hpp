#pragma once

#include "node/joining/snapshot_pieces.hpp"
#include "node/joining/snapshot_receiver.hpp"
#include "node/snapshots/snapshot_writer.hpp"
#include "tests/support/one_node.hpp"
#include "tests/support/temporary_directory.hpp"

#include <catch2/catch.hpp>

#include <filesystem>
#include <functional>
#include <map>

namespace test {

namespace fs = std::filesystem;
using node::SnapshotFolder;
using node::SnapshotStore;
using p2p::SnapshotPart;
using p2p::SnapshotVerdict;

class Source {
  public:
    // A branch: of one chain, with accounts of these names.
    explicit Source(const std::string& branch = "account") {
        node_.on_finalized = [this](const node::effect::Finalized& told) {
            told_.insert_or_assign(told.block->block->header.height, told);
        };
        for (chain::Slot slot = 1; slot <= 12; ++slot) {
            const std::string name = branch + static_cast<char>('a' + slot);
            if (slot % 3 == 0) node_.submit(node_.new_account(name));
            node_.tick_at(slot);
        }
        store_ = open(home_ / "snapshots");
    }
    std::unique_ptr<SnapshotStore> open(const fs::path& path,
                                        node::FileCalls& files = node::system_calls()) {
        auto store = SnapshotStore::open(path, base::Log(silent_, "snapshot"), files);
        REQUIRE(store);
        return *std::move(store);
    }
    p2p::SnapshotPoint written(chain::Height height) {
        const std::atomic<bool> never = false;
        node::SnapshotWriter writer(
            *store_, [this] { return node_.storage().snapshot(); }, never);
        const auto& told = told_.at(height);
        const auto listed = writer.write({told.block->block, told.before, {told.block->changes}},
                                         {.chain_id = node_.genesis().chain_id(),
                                          .proof_patience = std::chrono::milliseconds(0)});
        if (!listed) FAIL(listed.error().detail);
        return {height, listed->id};
    }
    [[nodiscard]] genesis::Checkpoint block(chain::Height height) const {
        return {height, told_.at(height).block->block->id};
    }
    [[nodiscard]] SnapshotStore& store() { return *store_; }
    [[nodiscard]] const genesis::Genesis& genesis() const { return node_.genesis(); }
    [[nodiscard]] fs::path path(const std::string& name) const { return home_ / name; }
    [[nodiscard]] base::Log log() { return {silent_, "join"}; }

  private:
    TemporaryDirectory home_;
    support::SilentLog silent_;
    support::OneNode node_;
    std::map<chain::Height, node::effect::Finalized> told_;
    std::unique_ptr<SnapshotStore> store_;
};

// As it goes over the wire, and is read there.
inline p2p::SnapshotChunk read_piece(node::SnapshotPieces& pieces,
                                     const p2p::SnapshotPiece& piece) {
    const auto message = pieces.read({.ticket = 1, .piece = piece, .correlation = 7}).message;
    const auto envelope = p2p::read_envelope(*message);
    REQUIRE(envelope);
    CHECK(envelope->correlation == 7);
    auto body = p2p::read_body(*envelope, *message);
    REQUIRE(body);
    return std::get<p2p::SnapshotChunk>(*std::move(body));
}

// A node that fetches from the source.
struct Joiner {
    using Lie = std::function<void(p2p::SnapshotChunk&)>;

    // In directories of this name.
    explicit Joiner(Source& from,
                    std::optional<genesis::Checkpoint> checkpoint = {},
                    const std::string& name = "")
        : source(from),
          pieces(from.store(), from.log()),
          own(from.open(from.path(name + "own"))),
          how{from.path(name + "data") / "joining",
              from.path(name + "data"),
              node::trust_in(from.genesis()),
              2} {
        how.trust.checkpoint = checkpoint;
        fs::create_directories(how.data_dir);
        how.times = from.genesis().times;
        restart();
    }
    // Whose files are on another disk, in /m.
    Joiner(Source& from, const node::Disk& disk)
        : source(from),
          pieces(from.store(), from.log()),
          own(from.open("/m/own", disk.files)),
          how{"/m/data/joining", "/m/data", node::trust_in(from.genesis()), 1, disk} {
        restart();
    }
    void restart() { receiver = std::make_unique<node::SnapshotReceiver>(how, *own, source.log()); }
    p2p::SnapshotChunk read(const p2p::SnapshotPiece& piece) { return read_piece(pieces, piece); }
    p2p::input::SnapshotKept fetch(const p2p::SnapshotPiece& piece, const Lie& lie = {}) {
        p2p::SnapshotChunk chunk = read(piece);
        REQUIRE(chunk.is_known);
        if (lie) lie(chunk);
        const p2p::effect::KeepSnapshot keep{
            piece, chunk.count, std::make_shared<const base::Bytes>(chunk.bytes)};
        return piece.part == SnapshotPart::chunk ? receiver->keep_chunk(keep)
                                                 : receiver->keep(keep);
    }
    // The same, however it ends.
    p2p::input::SnapshotChecked try_history(const p2p::SnapshotPoint& snapshot) {
        for (const auto part : {SnapshotPart::links, SnapshotPart::proof, SnapshotPart::manifest}) {
            const std::uint32_t count = read({snapshot.manifest, part, 0}).count;
            for (std::uint32_t i = 0; i < count; ++i)
                (void)fetch({snapshot.manifest, part, i});
        }
        return receiver->check(snapshot);
    }
    // Links, proof and manifest.
    p2p::input::SnapshotChecked fetch_history(const p2p::SnapshotPoint& snapshot,
                                              SnapshotPart lied = SnapshotPart::chunk,
                                              const Lie& lie = {}) {
        for (const auto part : {SnapshotPart::links, SnapshotPart::proof, SnapshotPart::manifest}) {
            const std::uint32_t count = read({snapshot.manifest, part, 0}).count;
            for (std::uint32_t i = 0; i < count; ++i) {
                const auto kept = fetch({snapshot.manifest, part, i}, part == lied ? lie : Lie{});
                CHECK(kept.verdict == SnapshotVerdict::good);
            }
        }
        return receiver->check(snapshot);
    }
    void fetch_chunks(const p2p::SnapshotPoint& snapshot,
                      const std::vector<std::uint32_t>& missing) {
        for (const std::uint32_t index : missing) {
            const auto kept = fetch({snapshot.manifest, SnapshotPart::chunk, index});
            INFO(kept.text);
            CHECK(kept.verdict == SnapshotVerdict::good);
        }
    }
    // All of it.
    void fetch_all(const p2p::SnapshotPoint& snapshot) {
        CHECK(receiver->check(snapshot).verdict == SnapshotVerdict::absent);
        const auto checked = fetch_history(snapshot);
        INFO(checked.text);
        REQUIRE(checked.verdict == SnapshotVerdict::good);
        CHECK(checked.missing.size() == checked.chunks);
        fetch_chunks(snapshot, checked.missing);
    }
    p2p::input::SnapshotLoaded load(const p2p::SnapshotPoint& snapshot,
                                    const genesis::Checkpoint& own_final) {
        return receiver->load(snapshot, how.data_dir / "state.1.loading", own_final);
    }
    [[nodiscard]] node::FileCalls& files() const { return how.disk.files; }
    [[nodiscard]] fs::path chunk_file(const p2p::SnapshotPoint& snapshot, std::size_t index) const {
        return SnapshotFolder::open(receiver->path_of(snapshot))->chunk_path(index);
    }

    Source& source;
    node::SnapshotPieces pieces;
    std::unique_ptr<SnapshotStore> own;
    node::SnapshotReceiver::Options how;
    std::unique_ptr<node::SnapshotReceiver> receiver;
};

inline const genesis::Checkpoint kGenesis{.height = 1, .block = {}};

}  // namespace test
