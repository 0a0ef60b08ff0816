#include "base/check.hpp"
#include "p2p/network.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Two strangers that got as far as they can say whatever they like, and the ledger answers
// anything. The input is a list of {what u8, length u16, bytes}.
namespace {

using p2p::ChannelId;
namespace input = p2p::input;

class NoLog : public base::LogSink {
  public:
    [[nodiscard]] bool enabled(base::Level) const override { return false; }
    void write(base::Level, std::string_view, std::string_view) override {}
};

p2p::PublicKey key(unsigned char number) {
    p2p::PublicKey key;
    key.type = base::crypto::KeyType::r1;
    key.point[32] = std::byte{number};
    return key;
}

struct Play {
    NoLog sink;
    base::Timestamp now = base::Timestamp(std::chrono::seconds(1'700'000'000));
    p2p::Network network;
    p2p::Effects out;
    std::uint64_t channels = 0;
    std::vector<input::Judged> unjudged;
    std::vector<p2p::Effect> unread;  // Of snapshots.

    static p2p::Options options() {
        p2p::Options options;
        options.node_key = key(1);
        options.vote_keys = {key(1)};
        options.takes_snapshots = true;
        options.trusts_certified = true;
        options.checkpoint = p2p::Checkpoint{1, {}};
        options.verify = [](const auto&, const auto&, const auto&) { return true; };
        return options;
    }
    Play() : network(options(), base::Log(sink, "p2p")) {
        step(input::LedgerChanged{.head = {5, {}}, .finalized = {5, {}}, .branch = {}});
        step(input::SnapshotsChanged{{{4, {}}}});
        chain::BlockId wrong;
        wrong.bytes[3] = std::byte{3};
        step(input::MendBlocks{{wrong}});
        step(input::RegistryChanged{{{key(2), {}, 1}, {key(3), {}, 1}}});
        greet(2);
        greet(3);
    }
    void greet(unsigned char number) {
        const ChannelId channel{++channels};
        step(input::ChannelUp{channel, key(number), "a:1", false, {}, {}});
        p2p::Hello hello{.finalized = {5, {}}, .head = {5, {}}};
        say(channel, *p2p::pack_message(hello));
        say(channel, *p2p::pack_message(p2p::Notice{.finalized = {5, {}}, .head = {5, {}}}));
    }
    void say(ChannelId channel, base::ByteView bytes) { step(input::Message{channel, bytes}); }
    void step(const p2p::Input& input) {
        network.step(now, input, out);
        for (const p2p::Effect& effect : out)
            note(effect);
        out.clear();
    }
    void note(const p2p::Effect& effect) {
        using p2p::Item;
        const auto add = [this](Item item, const base::Hash256& id, ChannelId channel) {
            unjudged.push_back({item, id, channel, p2p::Verdict::good, {}});
        };
        namespace effects = p2p::effect;
        if (const auto* block = std::get_if<effects::BlockArrived>(&effect)) {
            add(Item::block, block->block->id, block->channel);
        } else if (const auto* range = std::get_if<effects::RangeArrived>(&effect)) {
            add(Item::block, range->blocks.back()->id, range->channel);
        } else if (const auto* mended = std::get_if<effects::MendArrived>(&effect)) {
            add(Item::block, mended->block->id, mended->channel);
        } else if (const auto* header = std::get_if<effects::HeaderArrived>(&effect)) {
            add(Item::header, header->id, header->channel);
        } else if (const auto* transaction = std::get_if<effects::TransactionArrived>(&effect)) {
            add(Item::transaction, transaction->id, transaction->channel);
        } else if (const auto* vote = std::get_if<effects::VoteArrived>(&effect)) {
            add(Item::vote, vote->id, vote->channel);
        } else if (const auto* certificate = std::get_if<effects::CertificateArrived>(&effect)) {
            add(Item::certificate, certificate->id, certificate->channel);
        } else if (const auto* clock = std::get_if<effects::ClockArrived>(&effect)) {
            add(Item::clock, clock->id, clock->channel);
        } else if (std::holds_alternative<effects::ReadSnapshot>(effect) ||
                   std::holds_alternative<effects::KeepSnapshot>(effect) ||
                   std::holds_alternative<effects::CheckSnapshot>(effect) ||
                   std::holds_alternative<effects::LoadSnapshot>(effect)) {
            unread.push_back(effect);
        }
    }
    // The node's answer to what was asked of it last about snapshots.
    void answer(std::uint8_t how) {
        if (unread.empty()) return;
        namespace effects = p2p::effect;
        const p2p::Effect asked = unread.back();
        unread.pop_back();
        const auto verdict = static_cast<p2p::SnapshotVerdict>(how % 6);
        if (const auto* read = std::get_if<effects::ReadSnapshot>(&asked)) {
            step(input::SnapshotRead{read->ticket,
                                     p2p::pack_message(p2p::SnapshotChunk{.piece = read->piece})});
        } else if (const auto* keep = std::get_if<effects::KeepSnapshot>(&asked)) {
            step(input::SnapshotKept{keep->piece, verdict, "kept"});
        } else if (const auto* load = std::get_if<effects::LoadSnapshot>(&asked)) {
            step(input::SnapshotLoaded{load->snapshot.manifest, verdict, "loaded"});
        } else if (const auto* check = std::get_if<effects::CheckSnapshot>(&asked)) {
            input::SnapshotChecked checked;
            checked.manifest = check->snapshot.manifest;
            checked.verdict = verdict;
            checked.chunks = how / 6U;
            for (std::uint32_t i = 0; i < checked.chunks; i += 2)
                checked.missing.push_back(i);
            step(checked);
        }
    }
    void judge(std::uint8_t verdict) {
        if (unjudged.empty()) return;
        input::Judged judged = unjudged.back();
        unjudged.pop_back();
        judged.verdict = static_cast<p2p::Verdict>(verdict % 5);
        step(judged);
    }
    // A message of the given type with these bytes as its body.
    void say_type(ChannelId channel, std::uint8_t type, std::span<const std::uint8_t> body) {
        base::Writer message;
        message.u8(static_cast<std::uint8_t>(type % (p2p::kMessageTypes - 1) + 1));
        message.u8(type >> 5U);
        message.u16(p2p::kProtocolVersion);
        message.u32(static_cast<std::uint32_t>(body.size()));
        message.u64(body.empty() ? 0 : body[0] % 4U);
        message.raw(std::as_bytes(body));
        say(channel, message.view());
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Play play;
    std::span<const std::uint8_t> left(data, size);
    while (left.size() >= 3) {
        const std::uint8_t what = left[0];
        const std::size_t said = left[1] + 256U * left[2];
        const std::size_t length = std::min(said, left.size() - 3);
        const auto bytes = left.subspan(3, length);
        left = left.subspan(3 + length);
        const ChannelId channel{play.channels - what % 2U};
        if (what >= 0xF8U) {
            play.now += std::chrono::milliseconds(100) * (said % 256 + 1);
            play.step(input::Tick{});
        } else if (what >= 0xF0U) {
            play.judge(static_cast<std::uint8_t>(said));
        } else if (what >= 0xE8U) {
            play.step(input::ChannelDown{channel, "gone"});
            play.greet(static_cast<unsigned char>(2 + what % 2U));
        } else if (what >= 0xE0U) {
            play.step(input::BlocksRead{said, {}});
        } else if (what >= 0xD8U) {
            play.answer(static_cast<std::uint8_t>(said));
        } else {
            play.say_type(channel, what, bytes);
        }
    }
    CHECK(play.network.status().peers.size() <= p2p::Options{}.peers_max);
    return 0;
}
