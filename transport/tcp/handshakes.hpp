#pragma once

#include "transport/types.hpp"

#include <boost/asio/ip/address.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace transport::tcp {

// Where a peer is, for the bounds: its IPv4 address, or the first 64 bits of its IPv6 address,
// because who has one such address has all of that network.
[[nodiscard]] std::string origin_of(const boost::asio::ip::address& address);

// The handshakes that peers have begun and not finished. Over a bound an old one gives way, not the
// new one: else a few silent peers would keep all others out. It is one of the origin that has
// most, so who floods pushes out its own; an honest node has one or two of them.
class Handshakes {
  public:
    Handshakes(std::size_t most, std::size_t most_of_origin)
        : most_(most), most_of_origin_(most_of_origin) {}

    struct Victim {
        ChannelId channel;
        std::string text;  // Why.
    };
    // Who has to end before add(); empty: nobody.
    [[nodiscard]] std::optional<Victim> make_room(const std::string& origin) const;
    // Channels come in the order of their ids.
    void add(ChannelId channel, const std::string& origin);
    // Finished or ended; one that is not here does nothing.
    void remove(ChannelId channel);

  private:
    [[nodiscard]] std::size_t count_of(const std::string& origin) const;

    std::size_t most_;
    std::size_t most_of_origin_;
    std::map<ChannelId, std::string> origins_;  // The oldest first.
    std::map<std::string, std::size_t> counts_;
};

}  // namespace transport::tcp
