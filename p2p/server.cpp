#include "p2p/server.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
constexpr std::size_t kQuestionsMax = 16;              // Of one peer, waiting.
constexpr std::size_t kMessageBytesAim = 512U << 10U;  // Of several blocks together.
constexpr int kTooManyQuestions = 2;                   // Points.
}  // namespace

void BlockServer::on_request(Peer& peer, Request request, std::uint64_t correlation) {
    enqueue(peer, {.correlation = correlation, .ids = std::move(request.ids)});
}

void BlockServer::on_sync_request(Peer& peer,
                                  const SyncRequest& request,
                                  std::uint64_t correlation) {
    enqueue(peer,
            {.correlation = correlation,
             .from = request.from,
             .to = request.to,
             .ids = {},
             .trusted = request.trusted});
}

void BlockServer::enqueue(Peer& peer, Question question) {
    Line& line = lines_[peer.slot];
    if (line.questions.size() >= kQuestionsMax) {
        ++peer.messages_dropped;
        return peers_.charge(
            peer, kTooManyQuestions, Reason::flooding, "asks for blocks without end");
    }
    line.questions.push_back(std::move(question));
    serve(peer);
}

void BlockServer::serve(Peer& peer) {
    const auto at = lines_.find(peer.slot);
    if (at == lines_.end()) return;
    Line& line = at->second;
    if (line.ticket != 0 || line.questions.empty() || peer.is_congested()) return;
    line.ticket = new_ticket();
    const Question& question = line.questions.front();
    peers_.emit(effect::ReadBlocks{.ticket = line.ticket,
                                   .from = question.from,
                                   .to = question.to,
                                   .ids = question.ids,
                                   .is_for_peer = true,
                                   .trusted = question.trusted});
}

bool BlockServer::on_read(const input::BlocksRead& read) {
    const auto at = std::find_if(lines_.begin(), lines_.end(), [&read](const auto& item) {
        return item.second.ticket != 0 && item.second.ticket == read.ticket;
    });
    if (at == lines_.end()) return false;
    at->second.ticket = 0;
    const Question question = std::move(at->second.questions.front());
    at->second.questions.pop_front();
    Peer* peer = peers_.at(at->first);
    if (peer == nullptr) return true;
    answer(*peer, question, read);
    serve(*peer);
    return true;
}

void BlockServer::answer(Peer& peer, const Question& question, const input::BlocksRead& read) {
    const std::vector<SharedBytes>& blocks = read.blocks;
    const bool is_sync = question.ids.empty();
    if (read.proof && !blocks.empty()) {
        peers_.send(peer, *read.proof, {.correlation = question.correlation});
    }
    const std::size_t body_max = carriage_of(MessageType::blocks).body_bytes_max;
    std::size_t at = 0;
    do {
        std::vector<base::ByteView> part;
        std::size_t bytes = 0;
        while (at < blocks.size() && part.size() < kBlocksMax) {
            const std::size_t size = blocks[at]->size();
            if (!part.empty() && bytes + size > kMessageBytesAim) break;
            // One that fits in no message is as good as absent.
            if (size + 16 > body_max) {
                at = blocks.size();
                break;
            }
            part.emplace_back(*blocks[at++]);
            bytes += size;
        }
        const bool is_last = at >= blocks.size();
        SharedBytes message = pack_blocks(
            part,
            {.correlation = question.correlation, .flags = is_last ? kFlagLast : std::uint8_t{0}});
        std::optional<transport::Priority> priority;
        if (is_sync) priority = kSyncPriority;
        peers_.send(peer, MessageType::blocks, std::move(message), priority);
    } while (at < blocks.size());
}

void BlockServer::forget(PeerSlot slot) {
    lines_.erase(slot);
}

}  // namespace p2p
