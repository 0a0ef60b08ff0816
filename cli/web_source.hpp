#pragma once

#include "node/snapshots/snapshot_fetch.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cli {

// Whether this names a folder of a web server: "http://" or "https://".
[[nodiscard]] bool is_web_address(std::string_view text);

// A folder of a web server. Connections are kept for the next file. One that breaks goes on behind
// the bytes that have come (RFC 9110, "Range Requests"), where the server knows ranges, else from
// the start. For https the server's certificate must be good for its name, by the system's
// authorities or those of the environment variable SSL_CERT_FILE.
//
// Thread: any, several at once.
class WebSource final : public node::SnapshotSource {
  public:
    // `url`: of the folder, with or without a slash at the end. invalid: it is none; says what one
    // is.
    [[nodiscard]] static base::Result<std::unique_ptr<WebSource>> open(const std::string& url);
    ~WebSource() override;

    [[nodiscard]] base::Result<base::Bytes> read(const std::string& file,
                                                 std::size_t bytes_max) override;
    [[nodiscard]] std::string place_of(const std::string& file) const override;

  private:
    class Connection;
    struct Address {
        bool is_https = false;
        std::string host;  // As in a URL: an IPv6 address has its brackets.
        std::string port;
        std::string path;  // Ends with a slash.
    };

    explicit WebSource(Address address);
    [[nodiscard]] std::unique_ptr<Connection> take();
    void put_back(std::unique_ptr<Connection> connection);

    const Address address_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace cli
