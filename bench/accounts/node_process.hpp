#pragma once

#include "base/pinned.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace bench {

// A running bor-node on a data directory of bench::Ledger, and one kept-open connection to it.
class NodeProcess : base::Pinned {
  public:
    // Starts it and returns once it answers get_info; `seconds_to_serve` is how long that took.
    // `directory` has the data directory "data"; the log goes beside it.
    NodeProcess(const std::filesystem::path& program, const std::filesystem::path& directory);
    ~NodeProcess();

    [[nodiscard]] double seconds_to_serve() const { return seconds_to_serve_; }
    [[nodiscard]] int pid() const { return pid_; }

    // POSTs a body of JSON and returns the answer's status; `answer` gets its body.
    int post(std::string_view path, std::string_view body, std::string& answer);
    // kill -9, and waits for the end.
    void kill();

  private:
    [[nodiscard]] bool connect();
    void disconnect();

    int port_ = 0;
    int pid_ = 0;
    int socket_ = -1;
    double seconds_to_serve_ = 0;
};

}  // namespace bench
