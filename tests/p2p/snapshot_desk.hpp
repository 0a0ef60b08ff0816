#pragma once

#include "p2p/network.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace p2p::test {

// A snapshot of tests: its pieces say what they are, so that a wrong one is known.
struct TestSnapshot {
    SnapshotPoint point;
    std::map<SnapshotPart, std::uint32_t> counts = {{SnapshotPart::links, 1},
                                                    {SnapshotPart::proof, 2},
                                                    {SnapshotPart::manifest, 1},
                                                    {SnapshotPart::chunk, 40}};
    std::size_t link_piece_bytes = 0;  // At least.

    static TestSnapshot of(chain::Height height, std::uint8_t number = 1) {
        TestSnapshot snapshot;
        snapshot.point.height = height;
        snapshot.point.manifest.bytes[0] = std::byte{number};
        return snapshot;
    }
    [[nodiscard]] base::Bytes piece(SnapshotPart part, std::uint32_t index) const {
        const std::string text = std::string(to_string(part)) + " " + std::to_string(index) +
                                 " of " + std::to_string(point.height);
        base::Bytes bytes = base::to_bytes(base::as_bytes(text));
        if (part == SnapshotPart::links) bytes.resize(std::max(bytes.size(), link_piece_bytes));
        return bytes;
    }
    [[nodiscard]] SnapshotChunk answer(const SnapshotPiece& asked) const {
        SnapshotChunk chunk{.piece = asked, .is_known = true, .count = counts.at(asked.part)};
        if (asked.index < chunk.count) chunk.bytes = piece(asked.part, asked.index);
        return chunk;
    }
};

// The files of a node: it serves snapshots from them, and takes those of others into them.
class SnapshotFiles {
  public:
    virtual ~SnapshotFiles() = default;
    // Nothing: it never answers.
    [[nodiscard]] virtual std::optional<SnapshotChunk> read(const SnapshotPiece& piece) = 0;
    [[nodiscard]] virtual input::SnapshotKept keep(const effect::KeepSnapshot& asked) = 0;
    [[nodiscard]] virtual input::SnapshotChecked check(const SnapshotPoint& point) = 0;
    [[nodiscard]] virtual input::SnapshotLoaded load(const SnapshotPoint& point) = 0;
};

// Stands for them, without any file.
struct SnapshotDesk final : SnapshotFiles {
    std::vector<TestSnapshot> ours;
    std::function<void(SnapshotChunk&)> falsify;  // What it serves.
    bool answers = true;
    std::vector<TestSnapshot> right;  // Those that are of this chain.
    std::map<base::Hash256, std::set<std::pair<SnapshotPart, std::uint32_t>>> kept;
    std::map<base::Hash256, bool> is_wrong;
    std::optional<SnapshotPoint> loaded;
    std::size_t chunks_kept = 0;
    std::uint64_t rows = 0;  // As a checked one has.
    std::uint64_t bytes = 0;
    // Of what proofs show; when tests begin.
    base::Timestamp final_time = base::Timestamp(base::Duration(1'700'000'100'000'000'000));

    [[nodiscard]] const TestSnapshot* find(const std::vector<TestSnapshot>& all,
                                           const base::Hash256& manifest) const {
        for (const TestSnapshot& each : all) {
            if (each.point.manifest == manifest) return &each;
        }
        return nullptr;
    }
    [[nodiscard]] std::optional<SnapshotChunk> read(const SnapshotPiece& piece) override {
        if (!answers) return {};
        SnapshotChunk answer{.piece = piece};
        if (const TestSnapshot* found = find(ours, piece.manifest)) answer = found->answer(piece);
        if (falsify) falsify(answer);
        return answer;
    }
    [[nodiscard]] input::SnapshotKept keep(const effect::KeepSnapshot& asked) override {
        const TestSnapshot* snapshot = find(right, asked.piece.manifest);
        const bool is_chunk = asked.piece.part == SnapshotPart::chunk;
        const bool is_good = snapshot != nullptr &&
                             *asked.bytes == snapshot->piece(asked.piece.part, asked.piece.index);
        if (is_chunk && !is_good) {
            return {asked.piece, SnapshotVerdict::bad_piece, "its SHA-256 is another"};
        }
        if (is_chunk) ++chunks_kept;
        if (!is_good) is_wrong[asked.piece.manifest] = true;
        kept[asked.piece.manifest].insert({asked.piece.part, asked.piece.index});
        return {asked.piece, SnapshotVerdict::good, {}};
    }
    [[nodiscard]] input::SnapshotChecked check(const SnapshotPoint& point) override {
        input::SnapshotChecked checked;
        checked.manifest = point.manifest;
        auto& pieces = kept[point.manifest];
        const bool is_there = pieces.contains({SnapshotPart::manifest, 0});
        const TestSnapshot* snapshot = find(right, point.manifest);
        const bool is_right = snapshot != nullptr && !is_wrong[point.manifest];
        checked.verdict = SnapshotVerdict::good;
        if (!is_right) checked.verdict = SnapshotVerdict::bad_piece;
        if (!is_there) checked.verdict = SnapshotVerdict::absent;
        if (checked.verdict != SnapshotVerdict::good) {
            checked.text = "the proof is wrong";
            is_wrong[point.manifest] = false;
            std::erase_if(pieces,
                          [](const auto& item) { return item.first != SnapshotPart::chunk; });
            return checked;
        }
        checked.final_time = final_time;
        checked.rows = rows;
        checked.bytes = bytes;
        checked.chunks = snapshot->counts.at(SnapshotPart::chunk);
        for (std::uint32_t i = 0; i < checked.chunks; ++i) {
            if (!pieces.contains({SnapshotPart::chunk, i})) checked.missing.push_back(i);
        }
        return checked;
    }
    [[nodiscard]] input::SnapshotLoaded load(const SnapshotPoint& point) override {
        loaded = point;
        return {point.manifest, SnapshotVerdict::good, {}};
    }
};

}  // namespace p2p::test
