#include "bench/transport/verbs.hpp"

#include "base/check.hpp"
#include "bench/transport/used.hpp"
#include "transport/rdma/device.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace verbs {

namespace {

namespace rdma = transport::rdma;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kQueue = 256;
constexpr std::size_t kWindow = 64;  // Messages that are not acknowledged.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Pages {
  public:
    Pages(std::size_t bytes, bool is_huge)
        : bytes_((bytes + kHugePage - 1) / kHugePage * kHugePage) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (is_huge ? MAP_HUGETLB : 0);
        begin_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
        CHECK(begin_ != MAP_FAILED);
        std::memset(begin_, 1, bytes_);
    }
    ~Pages() { munmap(begin_, bytes_); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;

    [[nodiscard]] std::byte* begin() const { return static_cast<std::byte*>(begin_); }
    [[nodiscard]] std::size_t size() const { return bytes_; }

  private:
    std::size_t bytes_;
    void* begin_;
};

class End {
  public:
    End(const std::string& address, std::size_t bytes, bool is_huge) : pages_(bytes, is_huge) {
        auto device = rdma::open_device(address);
        CHECK(device);
        device_ = std::move(*device);
        domain_.reset(ibv_alloc_pd(device_.context.get()));
        events_.reset(ibv_create_comp_channel(device_.context.get()));
        completions_.reset(
            ibv_create_cq(device_.context.get(), 2 * kQueue, nullptr, events_.get(), 0));
        CHECK(domain_ != nullptr && completions_ != nullptr);
        region_ = register_memory(pages_.begin(), pages_.size());
        ibv_qp_init_attr wanted{};
        wanted.send_cq = wanted.recv_cq = completions_.get();
        wanted.cap = {.max_send_wr = kQueue,
                      .max_recv_wr = kQueue,
                      .max_send_sge = 1,
                      .max_recv_sge = 1,
                      .max_inline_data = 256};
        wanted.qp_type = IBV_QPT_RC;
        pair_.reset(ibv_create_qp(domain_.get(), &wanted));
        CHECK(pair_ != nullptr);
        inline_max_ = wanted.cap.max_inline_data;
    }

    void connect(const End& peer) {
        peer_ = &peer;
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_INIT;
        to.port_num = device_.port;
        to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
        change(to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        for (std::uint32_t i = 0; i < kQueue; ++i)
            give_receive();
        to = {};
        to.qp_state = IBV_QPS_RTR;
        to.path_mtu = static_cast<ibv_mtu>(device_.address.mtu);
        to.dest_qp_num = peer.pair_->qp_num;
        to.min_rnr_timer = 12;
        to.ah_attr.port_num = device_.port;
        to.ah_attr.dlid = peer.device_.address.lid;
        to.ah_attr.is_global = 1;
        to.ah_attr.grh.hop_limit = 64;
        to.ah_attr.grh.sgid_index = device_.gid_index;
        const auto& gid = peer.device_.address.gid;
        std::memcpy(to.ah_attr.grh.dgid.raw, gid.data(), gid.size());
        change(to,
               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        to = {};
        to.qp_state = IBV_QPS_RTS;
        to.timeout = 14;
        to.retry_cnt = 7;  // For ever, where the device is played by a busy machine.
        to.rnr_retry = 7;
        change(to,
               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                   IBV_QP_MAX_QP_RD_ATOMIC);
    }

    // A write of `means.bytes` to the peer's `slot`, with those before it when a batch is full.
    void write(const Means& means, std::size_t slot, bool is_last) {
        const std::size_t at = slot * means.bytes;
        if (means.registers_each) {
            regions_[slot] = nullptr;
            regions_[slot] = register_memory(pages_.begin() + at, means.bytes);
        }
        const bool is_inline = means.is_inline && means.bytes <= inline_max_;
        ibv_sge& part = parts_[batched_];
        part.addr = reinterpret_cast<std::uintptr_t>(pages_.begin() + at);
        part.length = static_cast<std::uint32_t>(means.bytes);
        part.lkey = means.registers_each ? regions_[slot]->lkey : region_->lkey;
        const bool is_full = is_last || batched_ + 1 == means.batch;
        unsigned flags = is_inline ? unsigned{IBV_SEND_INLINE} : 0U;
        if (++written_ % means.report_every == 0) flags |= IBV_SEND_SIGNALED;
        if (is_full) flags |= IBV_SEND_SOLICITED;
        add(&part, peer_->pages_.begin() + at, flags);
        if (is_full) post();
    }
    // Tells the peer that so many have come.
    void acknowledge() {
        const bool reports = ++written_ % kWindow == 0;
        add(nullptr,
            peer_->pages_.begin(),
            IBV_SEND_SOLICITED | (reports ? unsigned{IBV_SEND_SIGNALED} : 0U));
        post();
    }
    // Sleeps until writes have come; how many.
    std::size_t wait(bool only_solicited) {
        std::size_t count = take();
        for (; count == 0; count = take())
            arm_or_sleep(only_solicited);
        return count;
    }

  private:
    void arm_or_sleep(bool only_solicited) {
        if (!std::exchange(is_armed_, true)) {
            CHECK(ibv_req_notify_cq(completions_.get(), only_solicited ? 1 : 0) == 0);
            return;
        }
        ibv_cq* queue = nullptr;
        void* context = nullptr;
        CHECK(ibv_get_cq_event(events_.get(), &queue, &context) == 0);
        ibv_ack_cq_events(queue, 1);
        is_armed_ = false;
    }
    [[nodiscard]] rdma::RegionPtr register_memory(std::byte* begin, std::size_t bytes) {
        rdma::RegionPtr region(ibv_reg_mr(
            domain_.get(), begin, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
        CHECK(region != nullptr);
        return region;
    }
    void change(ibv_qp_attr& to, int mask) { CHECK(ibv_modify_qp(pair_.get(), &to, mask) == 0); }
    void give_receive() {
        ibv_recv_wr request{};
        ibv_recv_wr* bad = nullptr;
        CHECK(ibv_post_recv(pair_.get(), &request, &bad) == 0);
    }
    void add(ibv_sge* part, const std::byte* to, unsigned flags) {
        ibv_send_wr& request = requests_[batched_];
        request = {};
        request.sg_list = part;
        request.num_sge = part == nullptr ? 0 : 1;
        request.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
        request.send_flags = flags;
        request.wr.rdma.remote_addr = reinterpret_cast<std::uintptr_t>(to);
        request.wr.rdma.rkey = peer_->region_->rkey;
        if (batched_ > 0) requests_[batched_ - 1].next = &request;
        ++batched_;
    }
    void post() {
        ibv_send_wr* bad = nullptr;
        CHECK(ibv_post_send(pair_.get(), requests_.data(), &bad) == 0);
        batched_ = 0;
    }
    // Completions that are here; how many of them were receives.
    std::size_t take() {
        std::array<ibv_wc, 64> found{};
        std::size_t received = 0;
        const int count = ibv_poll_cq(completions_.get(), found.size(), found.data());
        for (int i = 0; i < count; ++i) {
            const ibv_wc& each = found[static_cast<std::size_t>(i)];
            CHECK(each.status == IBV_WC_SUCCESS);
            if (each.opcode != IBV_WC_RECV_RDMA_WITH_IMM) continue;
            ++received;
            give_receive();
        }
        return received;
    }

    Pages pages_;
    rdma::Device device_;
    rdma::DomainPtr domain_;
    rdma::EventsPtr events_;
    rdma::CompletionsPtr completions_;
    rdma::RegionPtr region_;
    std::array<rdma::RegionPtr, kWindow> regions_;
    rdma::PairPtr pair_;
    std::uint32_t inline_max_ = 0;
    const End* peer_ = nullptr;
    bool is_armed_ = false;
    std::size_t written_ = 0;
    std::size_t batched_ = 0;
    std::array<ibv_send_wr, kWindow> requests_{};
    std::array<ibv_sge, kWindow> parts_{};
};

void read_all(End& end, const Means& means, std::size_t messages) {
    std::size_t received = 0;
    std::size_t acknowledged = 0;
    while (received < messages) {
        received += end.wait(means.is_solicited);
        for (; received - acknowledged >= means.answer_every; acknowledged += means.answer_every)
            end.acknowledge();
    }
}

void write_all(End& end, const Means& means, std::size_t messages) {
    std::size_t acknowledged = 0;
    for (std::size_t sent = 0; sent < messages; ++sent) {
        while (sent - acknowledged >= kWindow)
            acknowledged += means.answer_every * end.wait(false);
        // What is gathered must go before we wait for its answer.
        const bool is_last = sent + 1 == messages || sent + 1 - acknowledged == kWindow;
        end.write(means, sent % kWindow, is_last);
    }
    while (acknowledged < messages)
        acknowledged += means.answer_every * end.wait(false);
}

}  // namespace

Cost stream(const std::vector<std::string>& devices, const Means& means, std::size_t messages) {
    const std::size_t whole =
        (messages + means.answer_every - 1) / means.answer_every * means.answer_every;
    const std::size_t bytes = kWindow * means.bytes;
    const auto device = [&](std::size_t i) {
        return devices.empty() ? std::string() : devices[i % devices.size()];
    };
    const auto from = std::make_unique<End>(device(1), bytes, means.has_huge_pages);
    const auto to = std::make_unique<End>(device(0), bytes, means.has_huge_pages);
    from->connect(*to);
    to->connect(*from);
    const Count before = counted();
    const Used used_before = used();
    const auto begin = Clock::now();
    std::thread reader([&] { read_all(*to, means, whole); });
    write_all(*from, means, whole);
    const std::chrono::duration<double> took = Clock::now() - begin;
    reader.join();
    return {whole, took.count(), (used() - used_before).cpu_seconds, counted() - before};
}

}  // namespace verbs
