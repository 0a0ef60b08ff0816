#include "transport/rdma/queue_pair.hpp"

#include "base/check.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace transport::rdma {

namespace {

constexpr std::uint32_t kInlineWanted = 256;
constexpr std::uint64_t kReportEvery = 64;
constexpr std::uint8_t kTimeout = 14;       // 67 ms for one try.
constexpr std::uint8_t kReceiveTimer = 12;  // 0.64 ms; 0 would be 655 ms.
constexpr std::uint8_t kHopsMax = 64;

base::Result<void> change(ibv_qp& pair, ibv_qp_attr& to, int mask, const std::string& what) {
    const int error = ::ibv_modify_qp(&pair, &to, mask);
    if (error == 0) return {};
    return base::fail(base::Errc::unavailable,
                      why_failed("the RDMA device does not bring a queue pair to " + what, error));
}

base::Result<void> to_init(ibv_qp& pair, std::uint8_t port) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_INIT;
    to.port_num = port;
    to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    return change(
        pair, to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "init");
}

base::Result<void> to_receive(ibv_qp& pair,
                              const Device& device,
                              const Address& peer,
                              const Parameters& peers) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTR;
    to.path_mtu = static_cast<ibv_mtu>(std::min(peer.mtu, device.address.mtu));
    to.dest_qp_num = peers.pair;
    to.rq_psn = peers.first_packet;
    to.min_rnr_timer = kReceiveTimer;
    to.ah_attr.port_num = device.port;
    to.ah_attr.dlid = peer.lid;
    to.ah_attr.is_global = 1;
    to.ah_attr.grh.hop_limit = kHopsMax;
    to.ah_attr.grh.sgid_index = device.gid_index;
    std::memcpy(to.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    return change(pair,
                  to,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                  "receive");
}

base::Result<void> to_send(ibv_qp& pair,
                           std::uint32_t first_packet,
                           const QueuePair::Patience& patience) {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_RTS;
    to.timeout = kTimeout;
    to.retry_cnt = patience.retries;
    to.rnr_retry = patience.receive_retries;
    to.sq_psn = first_packet;
    return change(pair,
                  to,
                  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
                  "send");
}

}  // namespace

base::Result<std::unique_ptr<QueuePair>> QueuePair::create(const Device& device,
                                                           const Queues& queues) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queues.completions;
    wanted.srq = queues.receives;
    wanted.cap = {.max_send_wr = kSendsMax,
                  .max_recv_wr = queues.receives == nullptr ? queues.own_receives : 0,
                  .max_send_sge = 1,
                  .max_recv_sge = queues.receives == nullptr ? 1U : 0U,
                  .max_inline_data = kInlineWanted};
    wanted.qp_type = IBV_QPT_RC;
    std::unique_ptr<QueuePair> out(new QueuePair);
    out->pair_.reset(::ibv_create_qp(queues.domain, &wanted));
    if (out->pair_ == nullptr) {
        return base::fail(base::Errc::unavailable,
                          why_failed("RDMA device " + device.name + " makes no queue pair", errno));
    }
    out->inline_max_ = wanted.cap.max_inline_data;
    out->requests_.reserve(kSendsMax);
    out->parts_.reserve(kSendsMax);
    if (auto done = to_init(*out->pair_, device.port); !done) return base::fail(done.error());
    if (queues.receives == nullptr) out->post_receives(queues.own_receives);
    return out;
}

base::Result<void> QueuePair::connect(const Device& device,
                                      const Address& peer,
                                      const Parameters& peers,
                                      std::uint32_t first_packet,
                                      const Patience& patience) {
    peer_key_ = peers.key;
    if (auto done = to_receive(*pair_, device, peer, peers); !done) return done;
    return to_send(*pair_, first_packet, patience);
}

void QueuePair::post_receives(std::uint32_t count) {
    ibv_recv_wr request{};
    request.wr_id = kReceiveId;
    for (std::uint32_t i = 0; i < count; ++i) {
        ibv_recv_wr* bad = nullptr;
        // Fails only where the pair is in error, which its completions tell.
        if (::ibv_post_recv(pair_.get(), &request, &bad) != 0) return;
    }
}

void QueuePair::add(const Write& write) {
    CHECK(room() > 0);
    const bool is_inline = write.bytes.size() <= inline_max_;
    ibv_sge part{};
    if (!write.bytes.empty()) {
        part.addr = reinterpret_cast<std::uintptr_t>(write.bytes.data());
        part.length = static_cast<std::uint32_t>(write.bytes.size());
        part.lkey = is_inline ? 0 : write.from->local_key();
    }
    parts_.push_back(part);
    ibv_send_wr request{};
    request.wr_id = ++added_;
    request.num_sge = write.bytes.empty() ? 0 : 1;
    request.opcode = write.immediate ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
    if (write.immediate) request.imm_data = ::htonl(encode(*write.immediate));
    request.wr.rdma.remote_addr = write.to;
    request.wr.rdma.rkey = peer_key_;
    if (is_inline && !write.bytes.empty()) request.send_flags |= IBV_SEND_INLINE;
    if (write.is_reported || added_ - reported_ >= kReportEvery) {
        request.send_flags |= IBV_SEND_SIGNALED;
        reported_ = added_;
    }
    requests_.push_back(request);
}

base::Result<void> QueuePair::post() {
    if (requests_.empty()) return {};
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        requests_[i].sg_list = &parts_[i];
        requests_[i].next = i + 1 < requests_.size() ? &requests_[i + 1] : nullptr;
    }
    ibv_send_wr* bad = nullptr;
    const int error = ::ibv_post_send(pair_.get(), requests_.data(), &bad);
    requests_.clear();
    parts_.clear();
    if (error == 0) return {};
    return base::fail(base::Errc::unavailable, why_failed("the RDMA device takes no write", error));
}

void QueuePair::stop() {
    ibv_qp_attr to{};
    to.qp_state = IBV_QPS_ERR;
    (void)::ibv_modify_qp(pair_.get(), &to, IBV_QP_STATE);
}

}  // namespace transport::rdma
