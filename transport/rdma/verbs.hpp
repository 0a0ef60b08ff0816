#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

// The objects of libibverbs with one owner each. Destroyed in the reverse order of their making.
namespace transport::rdma {

template <auto kDestroy>
struct Destroy {
    template <class T>
    void operator()(T* object) const {
        (void)kDestroy(object);
    }
};

using ContextPtr = std::unique_ptr<ibv_context, Destroy<&ibv_close_device>>;
using DomainPtr = std::unique_ptr<ibv_pd, Destroy<&ibv_dealloc_pd>>;
using RegionPtr = std::unique_ptr<ibv_mr, Destroy<&ibv_dereg_mr>>;
using EventsPtr = std::unique_ptr<ibv_comp_channel, Destroy<&ibv_destroy_comp_channel>>;
using CompletionsPtr = std::unique_ptr<ibv_cq, Destroy<&ibv_destroy_cq>>;
using ReceivesPtr = std::unique_ptr<ibv_srq, Destroy<&ibv_destroy_srq>>;
using PairPtr = std::unique_ptr<ibv_qp, Destroy<&ibv_destroy_qp>>;

// "name: reason", of errno or of what a call returned.
[[nodiscard]] std::string why_failed(const std::string& call, int error);

}  // namespace transport::rdma
