#include "node/compiler/child.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <spawn.h>
#include <system_error>
#include <thread>

namespace node {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kPollFast{1};
constexpr std::chrono::milliseconds kPollSlow{10};
constexpr mode_t kPrivate = 0600;

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (std::string& word : words)
        out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

std::string first_line(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

// The process group goes together: the compiler has children of its own.
int start(std::vector<std::string> command,
          const std::string& directory,
          const std::string& log,
          pid_t& child) {
    std::vector<std::string> environment{
        "PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TMPDIR=" + directory};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(
        &files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kPrivate);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    // A compiler must not hold the node's sockets and database open.
    posix_spawn_file_actions_addclosefrom_np(&files, 3);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    const int error = posix_spawn(&child,
                                  command[0].c_str(),
                                  &files,
                                  &attributes,
                                  pointers(command).data(),
                                  pointers(environment).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& command,
                   const std::string& directory,
                   const std::string& log,
                   std::chrono::seconds limit,
                   const std::atomic<bool>& cancelled) {
    pid_t child = 0;
    const int error = start(command, directory, log, child);
    if (error != 0) return {false, fmt::format("{}: {}", command[0], std::strerror(error))};
    const Clock::time_point begin = Clock::now();
    ChildEnd end;
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
        const auto waited = Clock::now() - begin;
        if (waited > limit || cancelled) {
            kill(-child, SIGKILL);
            ended = waitpid(child, &status, 0);
            end.text =
                cancelled ? "cancelled; " : fmt::format("took longer than {} s; ", limit.count());
            break;
        }
        std::this_thread::sleep_for(waited < kPollSlow * 5 ? kPollFast : kPollSlow);
    }
    if (ended != child) return {false, fmt::format("waiting for it: {}", std::strerror(errno))};
    end.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    end.text += WIFSIGNALED(status) ? fmt::format("killed by signal {}", WTERMSIG(status))
                                    : first_line(log);
    std::error_code ignored;
    std::filesystem::remove(log, ignored);
    return end;
}

}  // namespace node
