#include "transport/tcp/handshakes.hpp"

#include "base/check.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>

#include <algorithm>

namespace transport::tcp {

namespace ip = boost::asio::ip;

std::string origin_of(const ip::address& address) {
    if (address.is_v4()) return address.to_string();
    const ip::address_v6 v6 = address.to_v6();
    if (v6.is_v4_mapped()) return ip::make_address_v4(ip::v4_mapped, v6).to_string();
    ip::address_v6::bytes_type bytes = v6.to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return ip::address_v6(bytes).to_string() + "/64";
}

std::size_t Handshakes::count_of(const std::string& origin) const {
    const auto found = counts_.find(origin);
    return found == counts_.end() ? 0 : found->second;
}

std::optional<Handshakes::Victim> Handshakes::make_room(const std::string& origin) const {
    const std::size_t own = count_of(origin) + 1;
    const bool is_over_own = own > most_of_origin_;
    if (!is_over_own && origins_.size() < most_) return {};
    std::size_t most = 0;
    for (const auto& [each, count] : counts_)
        most = std::max(most, count);
    // Where none has two it is the oldest of all.
    const bool is_own = is_over_own || (own > 1 && own >= most);
    const auto oldest = std::ranges::find_if(origins_, [&](const auto& item) {
        return is_own ? item.second == origin : count_of(item.second) == most;
    });
    CHECK(oldest != origins_.end());
    const std::string bound =
        is_over_own ? std::to_string(most_of_origin_) + " of " + origin : std::to_string(most_);
    return Victim{oldest->first,
                  "the connection gives way to a newer one: over " + bound + " are unfinished"};
}

void Handshakes::add(ChannelId channel, const std::string& origin) {
    origins_.emplace(channel, origin);
    ++counts_[origin];
}

void Handshakes::remove(ChannelId channel) {
    const auto found = origins_.find(channel);
    if (found == origins_.end()) return;
    const auto count = counts_.find(found->second);
    if (--count->second == 0) counts_.erase(count);
    origins_.erase(found);
}

}  // namespace transport::tcp
