#include "transport/rdma/kind.hpp"

#include "base/crypto/wipe.hpp"

#include <arpa/inet.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <utility>

namespace transport::rdma {

namespace {

constexpr int kPollMax = 32;
// So many of these a turn: who writes without pause keeps no other waiting.
constexpr int kPollsMax = 16;
constexpr std::uint32_t kReceivesReserve = 64;
constexpr std::uint32_t kEventsUnacknowledgedMax = 128;
constexpr std::chrono::milliseconds kLeaveMax{100};
// The event that a queue pair's last receive is done comes from few devices.
constexpr std::chrono::milliseconds kStopMax{50};
// Whether a device is still there; and whether one has come, which costs more.
constexpr std::chrono::seconds kLookEvery{1};
constexpr std::chrono::seconds kSeekEvery{10};
constexpr std::chrono::seconds kReadEvery{10};

tl::unexpected<base::Error> none(std::string why) {
    return base::fail(base::Errc::unavailable, std::move(why));
}

std::uint32_t random_packet() {
    std::uint32_t out = 0;
    base::crypto::random_bytes(std::as_writable_bytes(std::span(&out, 1)));
    return out >> 8U;
}

bool make_nonblocking(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    return flags >= 0 && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

}  // namespace

// --- Setting up -----------------------------------------------------------------------------

base::Result<std::unique_ptr<RdmaKind>> RdmaKind::create(Options options) {
    auto device = open_device(options.address);
    const bool may_come = options.waits_for_device;
    if (!device && (!may_come || device.error().code != base::Errc::unavailable))
        return base::fail(device.error());
    std::unique_ptr<RdmaKind> out(new RdmaKind(std::move(options)));
    out->epoll_ = Descriptor(::epoll_create1(EPOLL_CLOEXEC));
    if (!out->epoll_) return none(why_failed("no RDMA: epoll", errno));
    if (!device) {
        out->published_ = out->failure_ = device.error().detail;
    } else if (auto used = out->use(std::move(*device)); !used) {
        return base::fail(used.error());
    }
    return out;
}

base::Result<void> RdmaKind::use(Device device) {
    device_ = std::move(device);
    auto done = fit_into_limits();
    if (done) done = make_queues();
    if (done) done = watch_device();
    if (!done) close_device();
    return done;
}

base::Result<void> RdmaKind::watch_device() {
    for (const int fd : {events_->fd, device_.context->async_fd}) {
        if (!make_nonblocking(fd) || !watch(fd)) return none(why_failed("no RDMA: epoll", errno));
    }
    return {};
}

// A device that is to be removed waits for who has it open; and one of the same address that comes
// later is another one.
void RdmaKind::close_device() {
    acknowledge();
    receives_.reset();
    completions_.reset();
    events_.reset();
    domain_.reset();
    device_.context.reset();
    is_armed_ = has_completions_ = false;
    receives_due_ = 0;
}

void RdmaKind::look_for_device() {
    auto device = open_device(options_.address);
    if (!device) {
        failure_ = device.error().detail;
    } else if (auto used = use(std::move(*device)); !used) {
        failure_ = used.error().detail;
    } else {
        failure_.clear();
    }
}

base::Bytes RdmaKind::address() const {
    return device_.name.empty() ? base::Bytes() : encode(device_.address);
}

std::string RdmaKind::why_not() const {
    const std::scoped_lock lock(published_mutex_);
    return published_;
}

void RdmaKind::publish() {
    if (published_ == failure_) return;
    if (options_.log && failure_.empty())
        options_.log->info("transport to be had kind=rdma {}", description());
    if (options_.log && published_.empty())
        options_.log->warn("transport not to be had any more kind=rdma reason={}", failure_);
    const std::scoped_lock lock(published_mutex_);
    published_ = failure_;
}

std::size_t RdmaKind::Options::bytes_for_peer() const {
    const Parameters ours{
        .control_log2 = control_log2, .data_log2 = data_log2, .landings = landings};
    return 2 * ours.region_bytes();
}

std::size_t RdmaKind::bytes_for_peer_max(const Options& options) {
    const Parameters largest{
        .control_log2 = kRingLog2Max, .data_log2 = kRingLog2Max, .landings = kLandingsMax};
    return Memory::locked_bytes_max(options.bytes_for_peer() / 2) +
           Memory::locked_bytes_max(largest.region_bytes());
}

// As many peers as memory may be locked for, and as the device has receives and completions for.
base::Result<void> RdmaKind::fit_into_limits() {
    lockable_ = options_.lockable ? options_.lockable : lockable_bytes();
    const std::size_t each = options_.bytes_for_peer();
    if (lockable_ && *lockable_ < each) {
        return none("no RDMA: this process may lock " + std::to_string(*lockable_ >> 10U) +
                    " KiB of memory, one peer takes " + std::to_string(each >> 10U) +
                    " KiB; set LimitMEMLOCK=infinity for the service, or ulimit -l unlimited");
    }
    if (lockable_) options_.peers_max = std::min(options_.peers_max, *lockable_ / each);
    const std::size_t completions_each = std::size_t{options_.receives} + QueuePair::kSendsMax;
    const auto completions_max = static_cast<std::size_t>(device_.limits.max_cqe);
    options_.peers_max =
        std::min(options_.peers_max, (completions_max - kReceivesReserve) / completions_each);
    if (device_.limits.max_srq <= 0) options_.shares_receives = false;
    if (options_.shares_receives) {
        const auto receives_max = static_cast<std::size_t>(device_.limits.max_srq_wr);
        options_.peers_max =
            std::min(options_.peers_max, (receives_max - kReceivesReserve) / options_.receives);
    }
    if (options_.peers_max > 0) return {};
    return none("no RDMA: device " + device_.name + " has too few receives for one peer");
}

base::Result<void> RdmaKind::make_queues() {
    ibv_context* context = device_.context.get();
    const auto receives =
        static_cast<std::uint32_t>(options_.peers_max * options_.receives) + kReceivesReserve;
    const auto sends = static_cast<std::uint32_t>(options_.peers_max * QueuePair::kSendsMax);
    domain_.reset(::ibv_alloc_pd(context));
    events_.reset(::ibv_create_comp_channel(context));
    if (domain_ == nullptr || events_ == nullptr)
        return none(why_failed("RDMA device " + device_.name + " has no room", errno));
    completions_.reset(
        ::ibv_create_cq(context, static_cast<int>(receives + sends), nullptr, events_.get(), 0));
    if (completions_ == nullptr) {
        return none(
            why_failed("RDMA device " + device_.name + " makes no completion queue", errno));
    }
    if (!options_.shares_receives) return {};
    ibv_srq_init_attr wanted{};
    wanted.attr.max_wr = receives;
    wanted.attr.max_sge = 1;
    receives_.reset(::ibv_create_srq(domain_.get(), &wanted));
    if (receives_ == nullptr)
        return none(why_failed("RDMA device " + device_.name + " makes no receive queue", errno));
    receives_due_ = receives;
    return give_receives();
}

bool RdmaKind::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

RdmaKind::~RdmaKind() {
    acknowledge();
    entries_.clear();
}

std::string RdmaKind::description() const {
    std::string out = "device " + device_.name + " port " + std::to_string(device_.port) +
                      ", peers at most " + std::to_string(options_.peers_max) + ", each " +
                      std::to_string(options_.bytes_for_peer() >> 10U) + " KiB locked";
    out += has_huge_pages() ? ", on pages of 2 MiB"
                            : ", on pages of 4 KiB (sysctl vm.nr_hugepages= reserves large ones)";
    if (!options_.shares_receives) out += ", no shared receive queue";
    if (lockable_)
        out += ", of " + std::to_string(*lockable_ >> 10U) + " KiB (LimitMEMLOCK= sets that)";
    return out;
}

// --- Paths ----------------------------------------------------------------------------------

base::Result<std::unique_ptr<link::FastPath>> RdmaKind::prepare(const Request& request,
                                                                link::FastUser& user) {
    const auto peer = decode_address(request.peer_address);
    if (!peer) return base::fail(peer.error());
    if (!is_open() || !failure_.empty()) return none(failure_);
    if (peer->is_ethernet != device_.address.is_ethernet)
        return none("one end is on InfiniBand, the other on Ethernet");
    if (peer->is_ethernet) {
        if (auto leads = check_route(device_.address.gid, peer->gid); !leads)
            return base::fail(leads.error());
    }
    if (entries_.size() >= options_.peers_max)
        return none("as many peers use RDMA as may: " + std::to_string(options_.peers_max));
    RdmaPath::Setting setting{.device = &device_,
                              .patience = options_.patience,
                              .peer = *peer,
                              .ours = {.first_packet = random_packet(),
                                       .control_log2 = options_.control_log2,
                                       .data_log2 = options_.data_log2,
                                       .receives = options_.receives,
                                       .landings = options_.landings},
                              .leads = request.leads};
    Holdings holdings;
    holdings.domain.reset(::ibv_alloc_pd(device_.context.get()));
    if (holdings.domain == nullptr) {
        const int error = errno;
        const std::string why = why_failed("no protection domain", error);
        // Gone without a word: it is opened again when nobody uses it any more.
        if (error == ENODEV || error == EIO) failure_ = why;
        return none(why);
    }
    auto inbound = lend(holdings, setting.ours.region_bytes(), Memory::Use::peer_writes);
    if (!inbound) return base::fail(inbound.error());
    holdings.inbound = std::move(*inbound);
    auto pair = QueuePair::create(device_,
                                  {.domain = holdings.domain.get(),
                                   .completions = completions_.get(),
                                   .receives = receives_.get(),
                                   .own_receives = options_.receives});
    if (!pair) {
        locked_ -= holdings.inbound->locked_bytes();
        return base::fail(pair.error());
    }
    holdings.pair = std::move(*pair);
    setting.ours.pair = holdings.pair->number();
    setting.ours.memory = holdings.inbound->address();
    setting.ours.key = holdings.inbound->remote_key();
    Entry& entry = entries_[setting.ours.pair];
    entry.holdings = std::move(holdings);
    Lender& lender = *this;
    auto path = std::make_unique<RdmaPath>(
        lender, entry.holdings, setting, request.secrets, schedule_, user);
    entry.path = path.get();
    return std::unique_ptr<link::FastPath>(std::move(path));
}

base::Result<std::unique_ptr<Memory>> RdmaKind::lend(Holdings& holdings,
                                                     std::size_t bytes,
                                                     Memory::Use use) {
    if (lockable_ && locked_ + bytes > *lockable_) {
        return none("locked memory is used up: " + std::to_string(locked_ >> 10U) + " of " +
                    std::to_string(*lockable_ >> 10U) + " KiB (LimitMEMLOCK= sets that)");
    }
    auto out = Memory::create(*holdings.domain, bytes, use);
    if (out) locked_ += (*out)->locked_bytes();
    return out;
}

// The peer hears of it by TCP as well: that it is told here saves it a write into nothing.
void RdmaKind::take_back(std::uint32_t pair, bool says_goodbye) {
    Entry& entry = entries_.at(pair);
    entry.path = nullptr;
    entry.due.reset();
    has_new_dead_ = true;
    QueuePair& own = *entry.holdings.pair;
    if (!says_goodbye || own.room() == 0) return stop(entry);
    entry.stage = Stage::leaving;
    own.add({.immediate = Immediate{.kind = Immediate::Kind::goodbye}, .is_reported = true});
    if (!own.post()) stop(entry);
}

void RdmaKind::stop(Entry& entry) {
    entry.stage = Stage::stopping;
    entry.due.reset();
    entry.holdings.pair->stop();
}

// A queue pair that ends in the middle of its work takes receives of the shared queue with it: so
// it is stopped first, its completions are taken, and then it goes.
void RdmaKind::bury(base::Timestamp now) {
    has_new_dead_ = false;
    for (auto at = entries_.begin(); at != entries_.end();) {
        Entry& entry = at->second;
        const bool is_late = entry.due && now >= *entry.due;
        if (entry.stage == Stage::leaving && (is_late || entry.holdings.pair->is_idle()))
            stop(entry);
        if (entry.stage == Stage::stopping && is_late && entry.due) {
            locked_ -= entry.holdings.inbound->locked_bytes();
            if (entry.holdings.mirror) locked_ -= entry.holdings.mirror->locked_bytes();
            at = entries_.erase(at);
            continue;
        }
        if (entry.stage != Stage::used && !entry.due)
            entry.due = now + (entry.stage == Stage::leaving ? kLeaveMax : kStopMax);
        ++at;
    }
}

// --- Turns ----------------------------------------------------------------------------------

std::size_t RdmaKind::progress(base::Timestamp now, std::size_t budget) {
    if (is_open()) take_completions();
    if (now >= next_look_) look_at_device(now);
    bury(now);
    if (is_open() && !failure_.empty() && entries_.empty()) close_device();
    publish();
    return schedule_.run(now, budget);
}

// What came between the last look and the arming makes no event: so it is looked for again.
Driver::Arm RdmaKind::arm() {
    if (!schedule_.arm() || has_new_dead_ || has_completions_) return Arm::busy;
    if (is_armed_ || !is_open()) return Arm::armed;
    if (::ibv_req_notify_cq(completions_.get(), 0) != 0) {
        fail_device("the RDMA device tells of no completion any more");
        return schedule_.arm() ? Arm::armed : Arm::busy;
    }
    is_armed_ = true;
    return take_completions() ? Arm::busy : Arm::armed;
}

std::optional<base::Timestamp> RdmaKind::wake_at() const {
    std::optional<base::Timestamp> first = next_look_;
    if (const auto due = schedule_.wake_at()) first = std::min(*first, *due);
    for (const auto& [pair, entry] : entries_) {
        if (entry.due) first = std::min(first.value_or(*entry.due), *entry.due);
    }
    return first;
}

void RdmaKind::drain_events() {
    if (!is_open()) return;
    ibv_cq* queue = nullptr;
    void* unused = nullptr;
    while (::ibv_get_cq_event(events_.get(), &queue, &unused) == 0) {
        is_armed_ = false;
        ++counters_.wakeups;
        if (++events_received_ >= kEventsUnacknowledgedMax) acknowledge();
    }
    ibv_async_event event{};
    while (::ibv_get_async_event(device_.context.get(), &event) == 0) {
        on_device_event(event);
        ::ibv_ack_async_event(&event);
    }
    for (auto& [pair, entry] : entries_) {
        if (entry.path != nullptr) entry.path->on_network();
    }
}

// In batches: it takes a lock.
void RdmaKind::acknowledge() {
    if (events_received_ > 0) ::ibv_ack_cq_events(completions_.get(), events_received_);
    events_received_ = 0;
}

// --- Completions ----------------------------------------------------------------------------

bool RdmaKind::take_completions() {
    std::array<ibv_wc, kPollMax> taken{};
    has_completions_ = false;
    bool has_any = false;
    int count = 0;
    for (int polls = 0; polls < kPollsMax; ++polls) {
        count = ::ibv_poll_cq(completions_.get(), kPollMax, taken.data());
        if (count <= 0) break;
        has_any = true;
        counters_.completions += static_cast<std::uint64_t>(count);
        for (int i = 0; i < count; ++i)
            take(taken[static_cast<std::size_t>(i)]);
        if (auto given = give_receives(); !given) fail_device(given.error().detail);
    }
    has_completions_ = count > 0;
    if (count < 0) fail_device("the RDMA device's completion queue has broken");
    return has_any;
}

// Of a failed one only number, status and queue pair hold.
void RdmaKind::take(const ibv_wc& completion) {
    const bool is_receive = completion.wr_id == kReceiveId;
    if (is_receive && receives_ != nullptr) ++receives_due_;
    Entry* entry = find(completion.qp_num);
    if (entry == nullptr) return;
    if (completion.status != IBV_WC_SUCCESS) {
        // What is stopped completes like this.
        if (entry->path == nullptr) return;
        ++counters_.failures;
        entry->path->fail(std::string("the RDMA device reports: ") +
                          ::ibv_wc_status_str(completion.status));
        return;
    }
    if (!is_receive) {
        if (entry->path == nullptr) return entry->holdings.pair->complete(completion.wr_id);
        return entry->path->on_sent(completion.wr_id);
    }
    if (receives_ == nullptr) entry->holdings.pair->post_receives(1);
    if (completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM) ++counters_.received_with_immediate;
    if (entry->path == nullptr) return;
    if (completion.opcode != IBV_WC_RECV_RDMA_WITH_IMM)
        return entry->path->fail("the peer sent what is no write");
    entry->path->on_receive(::ntohl(completion.imm_data), completion.byte_len);
}

// They hold no memory: all that comes is written, and only announced by them.
base::Result<void> RdmaKind::give_receives() {
    std::array<ibv_recv_wr, kPollMax> requests{};
    while (receives_due_ > 0) {
        const std::uint32_t count = std::min(receives_due_, std::uint32_t{kPollMax});
        for (std::uint32_t i = 0; i < count; ++i) {
            requests[i].wr_id = kReceiveId;
            requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
        }
        ibv_recv_wr* bad = nullptr;
        if (::ibv_post_srq_recv(receives_.get(), requests.data(), &bad) != 0)
            return none("the RDMA device takes no receives any more");
        receives_due_ -= count;
    }
    return {};
}

RdmaKind::Entry* RdmaKind::find(std::uint32_t pair) {
    const auto found = entries_.find(pair);
    return found == entries_.end() ? nullptr : &found->second;
}

// --- The device -----------------------------------------------------------------------------

void RdmaKind::fail_all(const std::string& why) {
    for (auto& [pair, entry] : entries_) {
        if (entry.path != nullptr) entry.path->fail(why);
    }
}

void RdmaKind::fail_device(std::string why) {
    failure_ = std::move(why);
    fail_all(failure_);
}

// The drivers that tell that a device is removed are few; the others wait until it is closed.
void RdmaKind::look_at_device(base::Timestamp now) {
    next_look_ = now + kLookEvery;
    if (!is_open()) {
        next_look_ = now + kSeekEvery;
        look_for_device();
    } else if (failure_.empty() && !is_there(device_)) {
        fail_device("RDMA device " + device_.name + " has been removed");
    } else if (!reading_ || now - read_at_ >= kReadEvery) {
        look_at_load(now);
    }
}

// Peers are told when they take and are told something anyway.
void RdmaKind::look_at_load(base::Timestamp now) {
    const Reading reading = options_.readings ? options_.readings() : read_load(device_);
    const Load load = load_between(reading_.value_or(reading), reading, now - read_at_);
    reading_ = reading;
    read_at_ = now;
    const std::size_t before = std::exchange(landings_now_, landings_for(load, options_.landings));
    if (!options_.log || before == landings_now_) return;
    options_.log->debug("RDMA window landings={} of={} memory_used={} link_used={} of=1000",
                        landings_now_,
                        options_.landings,
                        load.memory,
                        load.link);
}

void RdmaKind::on_device_event(const ibv_async_event& event) {
    switch (event.event_type) {
        case IBV_EVENT_PORT_ERR:
            if (event.element.port_num != device_.port) return;
            return fail_device("the link of RDMA device " + device_.name + " is down");
        case IBV_EVENT_GID_CHANGE:
            // The first that is heard of an interface that is deleted.
            if (event.element.port_num != device_.port || has_address(device_)) return;
            return fail_device("RDMA device " + device_.name + " has lost its address");
        case IBV_EVENT_DEVICE_FATAL:
        case IBV_EVENT_CQ_ERR:
        case IBV_EVENT_SRQ_ERR:
            return fail_device("RDMA device " + device_.name +
                               " has failed: " + ::ibv_event_type_str(event.event_type));
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
            return on_pair_event(event);
        default:
            return;  // Of subnets; where they matter, writes fail.
    }
}

void RdmaKind::on_pair_event(const ibv_async_event& event) {
    Entry* entry = find(event.element.qp->qp_num);
    if (entry == nullptr || entry->path == nullptr) return;
    entry->path->fail(std::string("the RDMA device reports: ") +
                      ::ibv_event_type_str(event.event_type));
}

}  // namespace transport::rdma
