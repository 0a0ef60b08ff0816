#include "node/core/proved_certificates.hpp"

#include "consensus/certificate.hpp"

namespace node {

ProvedCertificates::Entry* ProvedCertificates::find(const chain::VoteData& data,
                                                    const chain::ScheduleState& schedules) {
    const auto found = entries_.find({data.block_id, data.kind});
    if (found == entries_.end()) return nullptr;
    Entry& entry = found->second;
    return entry.certificate.data == data && entry.schedules == schedules ? &entry : nullptr;
}

void ProvedCertificates::add(const chain::Certificate& certificate,
                             const chain::ScheduleState& schedules) {
    if (find(certificate.data, schedules) != nullptr) return;
    const Key key{certificate.data.block_id, certificate.data.kind};
    Entry entry{certificate, schedules, consensus::signers(certificate, schedules)};
    if (!entries_.insert_or_assign(key, std::move(entry)).second) return;
    order_.push_back(key);
    if (order_.size() <= kMax) return;
    entries_.erase(order_.front());
    order_.pop_front();
}

}  // namespace node
