#include "bench/accounts/node_process.hpp"

#include "bench/ledger/chain.hpp"
#include "bench/ledger/measure.hpp"
#include "node/disk/file.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace bench {

namespace {

constexpr double kPatienceSeconds = 60;

sockaddr_in local_address(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

int free_port() {
    const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = local_address(0);
    socklen_t size = sizeof(address);
    if (::bind(probe, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        give_up("no free port");
    }
    ::close(probe);
    return ntohs(address.sin_port);
}

[[noreturn]] void become(const std::vector<std::string>& words, const std::string& log) {
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): execv changes nothing.
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
}

}  // namespace

NodeProcess::NodeProcess(const std::filesystem::path& program,
                         const std::filesystem::path& directory)
    : port_(free_port()) {
    const std::string key = (directory / "validator.key").string();
    must(node::write_file_atomically(key, base::as_bytes(bench_key().to_string()), 0600));
    const std::vector<std::string> words{
        program.string(),
        "--data-dir",
        (directory / "data").string(),
        "--config-dir",
        (directory / "config").string(),
        "--http-server-address",
        fmt::format("127.0.0.1:{}", port_),
        "--producer-name",
        "bora",
        "--signature-provider",
        fmt::format("{}=KEY:file:{}", bench_public_key().to_string(), key)};
    const std::string log = (directory / "log").string();
    const double start = wall();
    pid_ = ::fork();
    if (pid_ == 0) become(words, log);
    std::string answer;
    while (post("/v1/chain/get_info", "", answer) != 200) {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_ || wall() > start + kPatienceSeconds) {
            give_up("bor-node does not serve; its log is " + log);
        }
        ::usleep(5'000);
    }
    seconds_to_serve_ = wall() - start;
}

NodeProcess::~NodeProcess() {
    kill();
}

void NodeProcess::kill() {
    disconnect();
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
}

bool NodeProcess::connect() {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = local_address(port_);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        const int on = 1;
        ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        return true;
    }
    disconnect();
    return false;
}

void NodeProcess::disconnect() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

int NodeProcess::post(std::string_view path, std::string_view body, std::string& answer) {
    answer.clear();
    if (socket_ < 0 && !connect()) return 0;
    const std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        path,
        port_,
        body.size(),
        body);
    if (::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size())) {
        disconnect();
        return 0;
    }
    constexpr std::string_view kLength = "Content-Length: ";
    std::size_t wanted = std::string::npos;
    std::size_t head = std::string::npos;
    std::vector<char> buffer(64 * 1024);
    while (wanted == std::string::npos || answer.size() < wanted) {
        const ssize_t got = ::recv(socket_, buffer.data(), buffer.size(), 0);
        if (got <= 0) {
            disconnect();
            return 0;
        }
        answer.append(buffer.data(), static_cast<std::size_t>(got));
        head = answer.find("\r\n\r\n");
        if (head == std::string::npos || wanted != std::string::npos) continue;
        const std::size_t length = answer.find(kLength);
        if (length > head) give_up("an answer without Content-Length");
        wanted = head + 4 + std::strtoul(answer.c_str() + length + kLength.size(), nullptr, 10);
    }
    const int status = std::atoi(answer.c_str() + std::string_view("HTTP/1.1 ").size());
    answer.erase(0, answer.find("\r\n\r\n") + 4);
    return status;
}

}  // namespace bench
