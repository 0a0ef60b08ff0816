#include "p2p/snapshot_server.hpp"

#include <algorithm>
#include <utility>

namespace p2p {

namespace {
constexpr int kTooManyQuestions = 10;  // Points.
}  // namespace

void SnapshotServer::on_request(Peer& peer,
                                const SnapshotRequest& request,
                                std::uint64_t correlation) {
    Line& line = lines_[peer.slot];
    if (line.questions.size() >= kSnapshotRequestsMax) {
        ++peer.messages_dropped;
        return peers_.charge(peer,
                             kTooManyQuestions,
                             Reason::flooding,
                             "asks for more pieces of snapshots at once than 4");
    }
    line.questions.push_back({request.piece, correlation});
    serve(peer);
}

void SnapshotServer::serve(Peer& peer) {
    const auto at = lines_.find(peer.slot);
    if (at == lines_.end()) return;
    Line& line = at->second;
    if (line.ticket != 0 || line.questions.empty() || peer.is_congested()) return;
    line.ticket = tickets_.new_ticket();
    const Question& question = line.questions.front();
    peers_.emit(effect::ReadSnapshot{
        .ticket = line.ticket, .piece = question.piece, .correlation = question.correlation});
}

void SnapshotServer::on_read(const input::SnapshotRead& read) {
    const auto at = std::ranges::find_if(lines_, [&read](const auto& item) {
        return item.second.ticket != 0 && item.second.ticket == read.ticket;
    });
    if (at == lines_.end()) return;
    at->second.ticket = 0;
    at->second.questions.pop_front();
    Peer* peer = peers_.at(at->first);
    if (peer == nullptr) return;
    peers_.send(*peer, MessageType::snapshot_chunk, read.message);
    serve(*peer);
}

}  // namespace p2p
