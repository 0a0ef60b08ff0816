// Counts calls of libibverbs. Those that matter for speed are no functions of the library but
// pointers in a device's context: they are replaced when the first queue pair is made, which this
// file sees because the program's symbols go before the library's.
#include "bench/transport/verbs_count.hpp"

#include <infiniband/verbs.h>

#include <atomic>
#include <dlfcn.h>

namespace verbs {

namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): one device driver, one count.
std::atomic<std::uint64_t> posts = 0;
std::atomic<std::uint64_t> writes = 0;
std::atomic<std::uint64_t> completions = 0;
std::atomic<std::uint64_t> wakeups = 0;
int (*real_post_send)(ibv_qp*, ibv_send_wr*, ibv_send_wr**) = nullptr;
int (*real_poll_cq)(ibv_cq*, int, ibv_wc*) = nullptr;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

int counting_post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
    ++posts;
    for (const ibv_send_wr* each = requests; each != nullptr; each = each->next)
        ++writes;
    return real_post_send(pair, requests, bad);
}

int counting_poll_cq(ibv_cq* queue, int room, ibv_wc* out) {
    const int count = real_poll_cq(queue, room, out);
    if (count > 0) completions += static_cast<std::uint64_t>(count);
    return count;
}

void count_on(ibv_context& context) {
    if (context.ops.post_send == counting_post_send) return;
    real_post_send = context.ops.post_send;
    real_poll_cq = context.ops.poll_cq;
    context.ops.post_send = counting_post_send;
    context.ops.poll_cq = counting_poll_cq;
}

template <class F>
F* library_function(const char* name) {
    return reinterpret_cast<F*>(dlvsym(RTLD_NEXT, name, "IBVERBS_1.1"));
}

}  // namespace

Count counted() {
    return {posts, writes, completions, wakeups};
}

}  // namespace verbs

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): functions.
extern "C" ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* wanted) {
    static auto* const kReal = verbs::library_function<decltype(ibv_create_qp)>("ibv_create_qp");
    ibv_qp* pair = kReal(domain, wanted);
    if (pair != nullptr) verbs::count_on(*pair->context);
    return pair;
}

extern "C" int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** context) {
    static auto* const kReal =
        verbs::library_function<decltype(ibv_get_cq_event)>("ibv_get_cq_event");
    const int error = kReal(channel, queue, context);
    if (error == 0) ++verbs::wakeups;
    return error;
}
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)
