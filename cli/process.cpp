#include "cli/process.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

namespace cli {

namespace {

using base::Errc;
using base::fail;

// In the child: never returns. The error number goes to the parent through `report`.
[[noreturn]] void become(const std::vector<char*>& argv, int log, int report) {
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
    ::_exit(127);
}

}  // namespace

std::filesystem::path program_path(const std::string& name) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return self.parent_path() / name;
}

base::Result<pid_t> start_detached(const std::vector<std::string>& words,
                                   const std::filesystem::path& log) {
    std::vector<std::string> copies = words;
    std::vector<char*> argv;
    argv.reserve(copies.size() + 1);
    for (std::string& word : copies)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (out < 0) {
        return fail(Errc::unavailable, fmt::format("{}: {}", log.string(), std::strerror(errno)));
    }
    std::array<int, 2> report{};
    if (::pipe2(report.data(), O_CLOEXEC) != 0) {
        ::close(out);
        return fail(Errc::unavailable, fmt::format("pipe: {}", std::strerror(errno)));
    }
    const pid_t child = ::fork();
    if (child == 0) become(argv, out, report[1]);
    ::close(out);
    ::close(report[1]);
    int error = child < 0 ? errno : 0;
    if (child > 0 && ::read(report[0], &error, sizeof error) == sizeof error) {
        ::waitpid(child, nullptr, 0);
    }
    ::close(report[0]);
    if (error != 0) {
        return fail(Errc::unavailable, fmt::format("{}: {}", words[0], std::strerror(error)));
    }
    return child;
}

bool is_running(pid_t pid, const std::string& program) {
    if (pid <= 0) return false;
    // A child of ours that has ended is still in the table until it is waited for.
    ::waitpid(pid, nullptr, WNOHANG);
    // A program that is just becoming another one has no command line for a moment.
    for (int tries = 0; tries < 20; ++tries) {
        std::ifstream in(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
        if (!in) return false;
        const std::string line(std::istreambuf_iterator<char>(in), {});
        const std::string first = line.substr(0, line.find('\0'));
        if (!first.empty()) return std::filesystem::path(first).filename() == program;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

bool stop_process(pid_t pid, const std::string& program, std::chrono::seconds patience) {
    if (!is_running(pid, program)) return true;
    ::kill(pid, SIGTERM);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (is_running(pid, program)) {
        if (std::chrono::steady_clock::now() >= deadline) {
            ::kill(pid, SIGKILL);
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
}

namespace {

// The port that a socket is bound to, if this one is free; 0: any.
base::Result<std::uint16_t> bound_port(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // As servers do: a port whose last connections are just closed is free.
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    const bool bound =
        socket >= 0 && ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket, generic, size) == 0 && ::getsockname(socket, generic, &size) == 0;
    const int error = errno;
    if (socket >= 0) ::close(socket);
    if (!bound) return fail(Errc::unavailable, fmt::format("no port: {}", std::strerror(error)));
    return ntohs(address.sin_port);
}

}  // namespace

base::Result<std::uint16_t> free_port() {
    return bound_port(0);
}

bool is_free_port(std::uint16_t port) {
    return bound_port(port).has_value();
}

}  // namespace cli
