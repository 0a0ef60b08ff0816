#include "cli/output.hpp"
#include "node/archive/archive_export.hpp"
#include "node/archive/archive_import.hpp"
#include "node/disk/file.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <limits>

// Archives of blocks: written from the data directory of a node that does not run, checked by
// themselves, and put into that of a node whose history begins later.

namespace cli {

namespace {

namespace fs = std::filesystem;
using base::Errc;
using base::fail;
using chain::Height;

constexpr std::uint64_t kHeightMax = std::numeric_limits<Height>::max();

base::Result<fs::path> data_dir_of(const Arguments& arguments) {
    if (arguments.has("data-dir")) return fs::path(arguments.get("data-dir"));
    return fail(Errc::invalid, "--data-dir DIR is needed: of a node that does not run");
}

base::Result<std::optional<Height>> height_of(const Arguments& arguments, std::string_view option) {
    if (!arguments.has(option)) return std::optional<Height>();
    const auto height = arguments.number(option, 1, 1, kHeightMax);
    if (!height) return fail(height.error());
    return std::optional(static_cast<Height>(*height));
}

base::Result<node::ArchiveRange> range_of(const Arguments& arguments) {
    node::ArchiveRange range;
    const auto from = height_of(arguments, "from");
    if (!from) return fail(from.error());
    const auto to = height_of(arguments, "to-height");
    if (!to) return fail(to.error());
    const auto blocks =
        arguments.number("file-blocks", genesis::kArchiveBlocksMax, 1, genesis::kArchiveBlocksMax);
    if (!blocks) return fail(blocks.error());
    range.from = *from;
    range.to = *to;
    range.file_blocks = static_cast<Height>(*blocks);
    return range;
}

base::Result<void> export_to(const Session& session, const Arguments& arguments) {
    const auto data_dir = data_dir_of(arguments);
    if (!data_dir) return fail(data_dir.error());
    if (!arguments.has("to")) return fail(Errc::invalid, "--to FOLDER is needed: the archive's");
    const auto range = range_of(arguments);
    if (!range) return fail(range.error());
    const auto show = [](const node::ArchiveFile& file) {
        fmt::print(stderr, "{}\n", file.name());
    };
    const auto done = node::export_archive(*data_dir, arguments.get("to"), *range, show);
    if (!done) return fail(done.error());
    if (session.json) {
        return print_json({{"first", done->from},
                           {"last", done->to},
                           {"last_id", base::to_hex(done->last_id.view())},
                           {"files_written", done->files}});
    }
    fmt::print("blocks {} to {} are in {}; {} files are new; block {} is {}\n",
               done->from,
               done->to,
               arguments.get("to"),
               done->files,
               done->to,
               base::to_hex(done->last_id.view()));
    return {};
}

// The node decides at its start, by an option that is not at hand here.
void print_kept(const node::Filled& filled) {
    const Height blocks = filled.final - filled.earliest + 1;
    fmt::print(
        "the node prunes them again unless its option `history` covers {} blocks: full, or "
        "at least {}b, or days enough; set it before the next start\n",
        blocks,
        blocks);
}

base::Result<void> import_from(const Session& session, const Arguments& arguments) {
    const auto data_dir = data_dir_of(arguments);
    if (!data_dir) return fail(data_dir.error());
    const auto from = height_of(arguments, "from");
    if (!from) return fail(from.error());
    const auto archive = node::ArchiveFolder::open(arguments.at("folder"));
    if (!archive) return fail(archive.error());
    const auto show = [](Height earliest) {
        fmt::print(stderr, "stored from block {} on\n", earliest);
    };
    const auto filled = node::import_archive(*data_dir, *archive, from->value_or(1), show);
    if (!filled) return fail(filled.error());
    if (session.json) {
        return print_json({{"earliest_before", filled->before},
                           {"earliest", filled->earliest},
                           {"final", filled->final}});
    }
    if (filled->earliest == filled->before) {
        fmt::print("nothing came back: blocks from {} on were stored already\n", filled->before);
        return {};
    }
    fmt::print("blocks {} to {} came back, without traces; blocks {} to {} are stored\n",
               filled->earliest,
               filled->before - 1,
               filled->earliest,
               filled->final);
    print_kept(*filled);
    return {};
}

base::Result<void> list(const Session& session, const Arguments& arguments) {
    const auto archive = node::ArchiveFolder::open(arguments.at("folder"));
    if (!archive) return fail(archive.error());
    Json files = Json::array();
    for (const node::ArchiveFile& file : archive->files()) {
        const auto head = archive->head(file);
        if (!head) return fail(head.error());
        files.push_back({{"name", file.name()},
                         {"first", head->first},
                         {"last", head->last},
                         {"last_id", base::to_hex(head->last_id.view())},
                         {"bytes", head->bytes},
                         {"chain_id", base::to_hex(head->chain_id.view())}});
    }
    if (session.json) return print_json(files);
    for (const Json& file : files) {
        fmt::print("{}  {:>10} KiB  {}\n",
                   shown(file, "name"),
                   number_of(file, "bytes") >> 10U,
                   shown(file, "last_id"));
    }
    if (files.empty()) fmt::print("no files of an archive\n");
    return {};
}

// Each file by itself, and that it continues the one below.
base::Result<void> verify(const Session& session, const Arguments& arguments) {
    const auto archive = node::ArchiveFolder::open(arguments.at("folder"));
    if (!archive) return fail(archive.error());
    if (archive->files().empty()) {
        return fail(Errc::not_found, archive->path().string() + " has no files of an archive");
    }
    const auto first = archive->head(archive->files().front());
    if (!first) return fail(first.error());
    chain::BlockId below = first->previous;
    for (const node::ArchiveFile& file : archive->files()) {
        const auto blocks = archive->blocks(file, first->chain_id);
        if (!blocks) return fail(blocks.error());
        if (blocks->front()->header.previous != below) {
            return fail(Errc::invalid,
                        (archive->path() / file.name()).string() +
                            ": its first block is not the child of the last one below");
        }
        below = blocks->back()->id;
    }
    const Height last = archive->files().back().last;
    if (session.json) {
        return print_json({{"chain_id", base::to_hex(first->chain_id.view())},
                           {"first", first->first},
                           {"last", last},
                           {"last_id", base::to_hex(below.view())}});
    }
    fmt::print(
        "whole: blocks {} to {} of the chain {}, each the child of the one below\n"
        "they are those of your chain if its block {} is {}\n",
        first->first,
        last,
        base::to_hex(first->chain_id.view()),
        last,
        base::to_hex(below.view()));
    return {};
}

}  // namespace

void add_archive_commands(std::vector<Command>& commands) {
    const Positional folder{"folder", "of the archive"};
    const Option data_dir{"data-dir", 0, "DIR", "of the node, which does not run"};
    commands.push_back(
        {"archive export",
         "Copy final blocks into files, for a web server or another node",
         {},
         {data_dir,
          {"to", 0, "FOLDER", "of the archive, made if it is not there; what it has stays"},
          {"from", 0, "HEIGHT", "lowest block; none: the lowest that is stored"},
          {"to-height", 0, "HEIGHT", "highest block; none: the final one"},
          {"file-blocks", 0, "N", "blocks of a file, at most 10000, the default"}},
         export_to});
    commands.push_back(
        {"archive import",
         "Fill the history of a node downwards from an archive, without traces",
         {folder},
         {data_dir, {"from", 0, "HEIGHT", "lowest block; none: the lowest of the archive"}},
         import_from});
    commands.push_back({"archive list", "Show the files of an archive", {folder}, {}, list});
    commands.push_back({"archive verify",
                        "Check all of an archive but signatures, which import checks",
                        {folder},
                        {},
                        verify});
}

}  // namespace cli
