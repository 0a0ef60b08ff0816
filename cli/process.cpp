#include "cli/process.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <optional>
#include <sstream>
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

// The command line of a process; empty while it becomes another program. Nothing: it has ended.
std::optional<std::vector<std::string>> words_of(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
    if (!in) return std::nullopt;
    std::vector<std::string> words;
    for (std::string word; std::getline(in, word, '\0');)
        words.push_back(word);
    return words;
}

bool is_of(const std::vector<std::string>& words, const std::string& program) {
    return !words.empty() && std::filesystem::path(words.front()).filename() == program;
}

// Whether one of the words is the directory, or an option with it ("--data-dir=DIR").
bool names(const std::vector<std::string>& words, const std::filesystem::path& directory) {
    return std::ranges::any_of(words, [&](const std::string& word) {
        const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string::npos;
        const std::string value = equals == std::string::npos ? word : word.substr(equals + 1);
        return std::filesystem::path(value).lexically_normal() == directory.lexically_normal();
    });
}

// Who has locked the file, by /proc/locks: "1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF". To try
// the lock would keep a node from starting meanwhile.
std::vector<pid_t> holders_of(const std::filesystem::path& file) {
    struct stat status {};
    std::vector<pid_t> pids;
    if (::stat(file.c_str(), &status) != 0) return pids;
    const std::string wanted =
        fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
    std::ifstream in("/proc/locks");
    for (std::string line; std::getline(in, line);) {
        std::istringstream parts(line);
        std::string number, kind, advice, access, place;
        pid_t pid = 0;
        parts >> number >> kind >> advice >> access >> pid >> place;
        // What waits for a lock has "->" there, and does not hold it.
        if (parts && kind == "FLOCK" && place == wanted) pids.push_back(pid);
    }
    return pids;
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
        const auto words = words_of(pid);
        if (!words) return false;
        if (!words->empty()) return is_of(*words, program);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
}

pid_t process_on(const std::filesystem::path& data_dir, const std::string& program, pid_t noted) {
    const auto works_there = [&](pid_t pid) {
        const auto words = words_of(pid);
        return words && is_of(*words, program) && names(*words, data_dir);
    };
    if (is_running(noted, program) && works_there(noted)) return noted;
    // Its command line need not name the directory: a configuration file can.
    for (const pid_t pid : holders_of(data_dir / "lock")) {
        if (is_running(pid, program)) return pid;
    }
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string number = entry.path().filename().string();
        pid_t pid = 0;
        const auto [end, bad] = std::from_chars(number.data(), number.data() + number.size(), pid);
        const bool is_process = bad == std::errc{} && end == number.data() + number.size();
        if (is_process && works_there(pid)) return pid;
    }
    return 0;
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
