#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace bps {

// Where clients connect, and the bounds of what they may cost (spec 08, "Log" and "Who is who").
struct ListenerOptions {
    struct Listen {
        std::string address{};  // "host:port"; port 0: any free one.
        bool is_tls = false;    // Without it `address` is a loopback one.
    };
    using Duration = std::chrono::milliseconds;

    std::vector<Listen> listen{};
    std::string certificate_file{};  // bps-tls-cert: a chain in PEM, the server's own first.
    std::string key_file{};          // bps-tls-key: its private key in PEM, without a password.

    std::size_t connections_max = 20'000;
    std::size_t connections_per_address_max = 10'000;
    // Not logged in. Beyond these the oldest of them is closed: an honest client is in within
    // milliseconds.
    std::size_t logins_max = 512;
    std::size_t message_bytes_max = std::size_t{1} << 20;  // The largest max.message.bytes.
    std::size_t login_frame_bytes_max = std::size_t{64} << 10;
    std::size_t memory_bytes_max = std::size_t{128} << 20;  // Of requests and answers.
    std::size_t requests_in_flight_max = 100;               // Of a connection.
    std::size_t unsent_bytes_max = std::size_t{256} << 10;  // Of answers; then it is not read.

    Duration login_time{10'000};     // From the connection to the login.
    Duration frame_time{30'000};     // From the first byte of a request to its last.
    Duration progress_time{30'000};  // While an answer waits, some byte of it is taken.
    Duration idle_time{600'000};     // Nothing asked, nothing to be answered.
    Duration linger_time{2'000};     // After the last answer, until the client closes too.

    // What stands around the records of one message is less than 1 MiB.
    [[nodiscard]] std::size_t frame_bytes_max() const {
        return message_bytes_max + (std::size_t{1} << 20);
    }
};

}  // namespace bps
